"""Measurements: `./dev bench` compares brokers side by side, single scripts look into one part of ours."""

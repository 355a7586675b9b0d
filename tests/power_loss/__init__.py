"""A whole broker on a simulated machine that loses power; see test_power_loss.py."""

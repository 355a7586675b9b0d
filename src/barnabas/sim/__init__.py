"""Simulated clock and disk, for tests that script time and crashes."""

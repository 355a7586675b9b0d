"""What a log knows of its producers, and how that comes back after a restart (KIP-98)."""

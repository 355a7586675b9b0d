"""How much of a log is on the disk, and what brings the rest there."""

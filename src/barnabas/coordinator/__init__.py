"""What one broker decides for all its clients: groups, their offsets, producer ids (transactions come later)."""

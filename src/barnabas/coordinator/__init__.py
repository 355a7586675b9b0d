"""What one broker hands out for the whole cluster: producer ids (groups and transactions come later)."""

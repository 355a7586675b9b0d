"""What one broker hands out or decides for the whole cluster: producer ids (groups and transactions later)."""

"""What one broker decides for all its clients: groups and their offsets, producer ids, transactions."""

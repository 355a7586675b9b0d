"""What the round trip between two brokers writes, reads back and compares."""

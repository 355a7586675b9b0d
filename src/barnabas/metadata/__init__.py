"""KRaft records, the image replayed from them, and the single-node controller."""

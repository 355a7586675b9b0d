"""Real clients against a broker, every field compared."""

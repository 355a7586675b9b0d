"""What groups of all kinds share."""

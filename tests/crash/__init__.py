"""Brokers that die at any moment, and what must be there afterwards."""

"""Offsets that groups have committed."""

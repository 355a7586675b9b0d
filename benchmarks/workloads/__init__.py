"""What is measured; `known.py` lists it."""

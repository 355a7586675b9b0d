"""The servers that are compared; `known.py` lists them."""

"""Composition root: configuration to objects; no logic."""

"""Scenarios of groups as text: what members do, and what each of them and the log then hear."""

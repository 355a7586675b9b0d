"""Simulations: many members of a group and a coordinator in bad weather, all of it repeated by a seed."""

"""Partition lookup, the leader's view of a partition, delayed operations."""

"""Transactions and their coordinator."""

"""Fetch, asked in every way of Barnabas and of Apache Kafka over the same logs."""

"""Barnabas: a message broker that speaks Apache Kafka's wire protocol and keeps its on-disk format."""

__version__ = "0.1.0.dev0"

"""Compaction: the latest record of each key, as Apache Kafka's log cleaner keeps it (docs/compaction.md)."""

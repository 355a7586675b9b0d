"""Compaction: of each key the latest record, as Apache Kafka's log cleaner keeps it. See docs/compaction.md."""

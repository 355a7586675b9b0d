"""Apache Kafka's own assignors and its hash of topics, asked the same questions as ours."""

"""Named conversations about groups, played against Barnabas and against Apache Kafka 4.4."""

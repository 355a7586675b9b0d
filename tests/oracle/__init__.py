"""A real Apache Kafka as the judge: its jars, its broker, its tools and its Java client."""

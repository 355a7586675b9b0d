"""The same requests asked of Barnabas and of Apache Kafka, and their answers side by side."""

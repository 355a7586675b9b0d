"""What the situations that Barnabas and Apache Kafka are asked in share: exchanges, records, comparing."""

"""Bytes captured from Apache Kafka, and what our codecs make of them."""

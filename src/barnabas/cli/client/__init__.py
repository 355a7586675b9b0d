"""A small blocking Kafka client for the command line.

It stands on the same codecs as the broker but is not the broker's test: real clients are (tests/interop).
Sockets block; several requests may be in flight on one connection, and answers come in order.

    connection.py  one socket to one broker, version negotiation
    cluster.py     brokers, leaders, retries
    producer.py    batches per partition, idempotence
    consumer.py    assigned partitions, long polls
    admin.py       topics
"""

"""Copies a topic within transactions by confluent-kafka.

    python -m tests.interop.transactions.copier_confluent BOOTSTRAP GROUP SOURCE TARGET ABORT-EVERY

Each batch of SOURCE is written to the same partitions of TARGET, and with the group's offsets becomes one
transaction. Every so many transactions one is aborted when all of it is written, and done again. It says
"copied N" and "aborted N", ends with its standard input, and with an error when it cannot go on.
"""

import sys
import threading

from confluent_kafka import Consumer, KafkaException, Message, Producer, TopicPartition

TIMEOUT_S = 30
BATCH_MAX = 50


class Copier:
    """One consumer, one producer."""

    def __init__(self, bootstrap: str, group: str, source: str, target: str, abort_every: int) -> None:
        self._source, self._target = source, target
        self._abort_every = abort_every
        self._count = 0
        self._producer = Producer(
            {
                "bootstrap.servers": bootstrap,
                "transactional.id": f"copier of {group}",
                "transaction.timeout.ms": 20_000,
                # A rebootstrap drops brokers that its cache of coordinators still waits for.
                "metadata.recovery.strategy": "none",
                "reconnect.backoff.max.ms": 500,
                "log_level": 2,
            }
        )
        self._consumer = Consumer(
            {
                "bootstrap.servers": bootstrap,
                "group.id": group,
                "group.instance.id": "copier",
                "enable.auto.commit": False,
                "auto.offset.reset": "earliest",
                "isolation.level": "read_committed",
                "reconnect.backoff.max.ms": 500,
                "log_level": 2,
            }
        )

    def run(self, stopped: threading.Event) -> None:
        """Copy until told to stop."""
        self._producer.init_transactions(TIMEOUT_S)
        self._consumer.subscribe([self._source])
        while not stopped.is_set():
            batch = [one for one in self._consumer.consume(BATCH_MAX, timeout=0.2) if one.error() is None]
            if not batch:
                continue
            try:
                self._copy(batch)
            except KafkaException as failed:
                error = failed.args[0]
                if not (error.txn_requires_abort() or error.retriable()):
                    raise
                self._abort(batch)
        self._consumer.close()

    def _copy(self, batch: list[Message]) -> None:
        self._count += 1
        self._producer.begin_transaction()
        for message in batch:
            partition, value = message.partition(), message.value()
            assert partition is not None
            self._producer.produce(self._target, value=value, partition=partition)
        self._producer.flush(TIMEOUT_S)
        if self._count % self._abort_every == 0:
            self._abort(batch)
            print("aborted", len(batch), flush=True)
            return
        positions = self._consumer.position(self._consumer.assignment())
        known = [one for one in positions if one.offset >= 0]
        self._producer.send_offsets_to_transaction(known, self._consumer.consumer_group_metadata(), TIMEOUT_S)
        self._producer.commit_transaction(TIMEOUT_S)
        print("copied", len(batch), flush=True)

    def _abort(self, batch: list[Message]) -> None:
        """Abort and go back to where the batch began."""
        self._producer.abort_transaction(TIMEOUT_S)
        first: dict[int, int] = {}
        for message in batch:
            partition, offset = message.partition(), message.offset()
            assert partition is not None
            assert offset is not None
            first.setdefault(partition, offset)
        for partition, offset in first.items():
            self._consumer.seek(TopicPartition(self._source, partition, offset))


def main(bootstrap: str, group: str, source: str, target: str, abort_every: str) -> None:
    """Copy until standard input ends."""
    stopped = threading.Event()
    threading.Thread(target=lambda: (sys.stdin.read(), stopped.set()), daemon=True).start()
    Copier(bootstrap, group, source, target, int(abort_every)).run(stopped)


if __name__ == "__main__":
    main(*sys.argv[1:])

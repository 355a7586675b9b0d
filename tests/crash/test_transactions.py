"""kill -9 in the middle of transactions: each is whole or not there, and none keeps readers back for ever."""

import random
import threading
import time
from collections import Counter
from pathlib import Path

import pytest
from confluent_kafka import Consumer, IsolationLevel, KafkaException, Producer, TopicPartition
from confluent_kafka.admin import AdminClient, NewTopic, OffsetSpec

from tests import under_test

pytestmark = [pytest.mark.interop, pytest.mark.timeout(600)]

KILLS = 3
KILLS_SLOW = 30
PARTITIONS = 3
ABORT_EVERY = 5
BETWEEN_KILLS = 15
TOPIC = "whole"
DEADLINE_S = 120


class Writer:
    """Writes one record to every partition in each transaction, from a thread of its own until it is stopped.

    Every attempt has a number of its own, so that what is read tells what became of each.

    Attributes:
        committed: numbers whose commit was acknowledged.
        aborted: numbers that were given up before any commit was asked for.
    """

    def __init__(self, bootstrap: str) -> None:
        self.committed: set[int] = set()
        self.aborted: set[int] = set()
        self._bootstrap = bootstrap
        self._number = 0
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def _run(self) -> None:
        producer = None
        while not self._stopping.is_set():
            try:
                if producer is None:
                    producer = self._producer()
                self._write(producer)
            except KafkaException:
                # Another producer of the same id aborts what this one has left open.
                producer = None
                time.sleep(0.02)

    def _producer(self) -> Producer:
        producer = Producer(
            {
                "bootstrap.servers": self._bootstrap,
                "transactional.id": "writer",
                "log_level": 0,
                "reconnect.backoff.ms": 20,
                "reconnect.backoff.max.ms": 200,
            }
        )
        producer.init_transactions(DEADLINE_S)
        return producer

    def _write(self, producer: Producer) -> None:
        self._number += 1
        number = self._number
        producer.begin_transaction()
        for partition in range(PARTITIONS):
            producer.produce(TOPIC, str(number).encode(), partition=partition)
        if number % ABORT_EVERY == 0:
            producer.flush(DEADLINE_S)
            self.aborted.add(number)
            producer.abort_transaction(DEADLINE_S)
        else:
            producer.commit_transaction(DEADLINE_S)
            self.committed.add(number)

    def wait_for_committed(self, more: int) -> None:
        wanted = len(self.committed) + more
        deadline = time.monotonic() + DEADLINE_S
        while len(self.committed) < wanted:
            assert time.monotonic() < deadline, f"stuck at {len(self.committed)} commits"
            time.sleep(0.01)

    def stop(self) -> None:
        self._stopping.set()
        self._thread.join(DEADLINE_S)
        assert not self._thread.is_alive()


def ends(bootstrap: str, isolation: IsolationLevel) -> dict[int, int]:
    """Partition -> the offset where readers stand at the end."""
    admin = AdminClient({"bootstrap.servers": bootstrap, "log_level": 0})
    asked = {TopicPartition(TOPIC, number): OffsetSpec.latest() for number in range(PARTITIONS)}
    found = admin.list_offsets(asked, isolation_level=isolation)
    return {partition.partition: future.result(30).offset for partition, future in found.items()}


def read(bootstrap: str, end_offsets: dict[int, int]) -> dict[int, Counter[int]]:
    """Partition -> how often each number is read by who reads committed records."""
    reader = Consumer(
        {
            "bootstrap.servers": bootstrap,
            "group.id": "reader",
            "isolation.level": "read_committed",
            "auto.offset.reset": "earliest",
            "enable.auto.commit": False,
            "log_level": 0,
        }
    )
    found: dict[int, Counter[int]] = {number: Counter() for number in end_offsets}
    asked = [TopicPartition(TOPIC, number, 0) for number in end_offsets]
    reader.assign(asked)
    deadline = time.monotonic() + DEADLINE_S
    try:
        while any(one.offset < end_offsets[one.partition] for one in reader.position(asked)):
            assert time.monotonic() < deadline, f"stuck at {reader.position(asked)} of {end_offsets}"
            message = reader.poll(0.2)
            if message is not None and message.error() is None:
                found[message.partition()][int(message.value())] += 1
    finally:
        reader.close()
    return found


def check(bootstrap: str, writer: Writer) -> None:
    """Every commit is there once in every partition, no abort anywhere, and all else is whole as well."""
    end_offsets = ends(bootstrap, IsolationLevel.READ_UNCOMMITTED)
    deadline = time.monotonic() + DEADLINE_S
    while ends(bootstrap, IsolationLevel.READ_COMMITTED) != end_offsets:
        assert time.monotonic() < deadline, "some transaction keeps readers back"
        time.sleep(0.1)
    first, *others = read(bootstrap, end_offsets).values()
    assert all(other == first for other in others), "a part of a transaction"
    assert set(first.values()) <= {1}, "a record twice"
    assert writer.committed <= set(first), "a commit was forgotten"
    assert not writer.aborted & set(first), "an abort was forgotten"


def test_transactions_are_whole_or_not_there_after_kills(
    tmp_path: Path, slow: bool, rng: random.Random
) -> None:
    broker = under_test.make_broker(tmp_path / "broker")
    try:
        broker.start()
        admin = AdminClient({"bootstrap.servers": broker.bootstrap, "log_level": 0})
        admin.create_topics([NewTopic(TOPIC, PARTITIONS, 1)])[TOPIC].result(30)
        writer = Writer(broker.bootstrap)
        for _ in range(KILLS_SLOW if slow else KILLS):
            writer.wait_for_committed(BETWEEN_KILLS)
            time.sleep(rng.uniform(0, 0.1))
            broker.kill()
            broker.start()
        writer.wait_for_committed(BETWEEN_KILLS)
        writer.stop()
        check(broker.bootstrap, writer)
        broker.stop()
        broker.start()
        check(broker.bootstrap, writer)
        broker.stop()
    except BaseException as error:
        error.add_note(f"the broker's log ends:\n{broker.log_tail()}")
        raise
    finally:
        broker.kill()

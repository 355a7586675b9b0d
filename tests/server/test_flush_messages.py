"""flush.messages=1 end to end: a slow disk holds up those who wait for it and nobody else; they share syncs.

The disk is the real one, save that a test decides when syncs of one topic's files end, and how.
"""

import errno
import os
import threading
from collections.abc import Iterator
from itertools import chain
from pathlib import Path

import pytest

from barnabas.base.disk import OsDisk, OsFile
from barnabas.protocol import messages
from barnabas.protocol.record_batch_builder import BatchBuilder
from barnabas.server.broker import Broker
from barnabas.server.settings import load_settings
from tests.server.asking import Asking

DEADLINE_S = 30
SYNCED, PLAIN = "synced", "plain"
STORAGE_ERROR = 56
PRODUCE_VERSION, FETCH_VERSION = 9, 12
CONNECTIONS = 20


class GatedFile(OsFile):
    """A file of a GatedDisk."""

    __slots__ = ("_disk",)

    def __init__(self, of: OsFile, disk: "GatedDisk") -> None:
        super().__init__(of.path, of.fileno(), of._page_cache)
        self._disk = disk

    def sync(self) -> None:
        if f"/{SYNCED}-0/" in self.path and self.path.endswith(".log"):
            self._disk.pass_gate()
        super().sync()


class GatedDisk(OsDisk):
    """The real disk; syncs of SYNCED's segments wait for `gate`.

    Attributes:
        syncs: that have come to the gate.
        fails: whether they end with EIO.
    """

    __slots__ = ("fails", "gate", "reached", "syncs")

    def __init__(self) -> None:
        super().__init__()
        self.gate = threading.Event()
        self.reached = threading.Semaphore(0)
        self.syncs = 0
        self.fails = False

    def pass_gate(self) -> None:
        self.syncs += 1
        self.reached.release()
        assert self.gate.wait(DEADLINE_S), "the test never opened the gate"
        if self.fails:
            raise OSError(errno.EIO, os.strerror(errno.EIO))

    def open(self, path: str, *, create: bool = False, exclusive: bool = False) -> OsFile:
        return GatedFile(super().open(path, create=create, exclusive=exclusive), self)

    def open_readonly(self, path: str) -> OsFile:
        return GatedFile(super().open_readonly(path), self)


class Scene:
    """A broker on a thread, with a topic of `flush.messages=1` and one without."""

    def __init__(self, folder: Path) -> None:
        self.disk = GatedDisk()
        self.broker = Broker(
            load_settings(overrides=[f"log.dirs={folder}", "listeners=PLAINTEXT://127.0.0.1:0"]),
            disk=self.disk,
        )
        self.broker.start()
        self.thread = threading.Thread(target=self.broker.run)
        self.thread.start()
        self.clients: list[Asking] = []
        client = self.client()
        for name, configs in ((SYNCED, {"flush.messages": "1"}), (PLAIN, {})):
            topic = messages.CreateTopicsRequestCreatableTopic(
                name=name,
                num_partitions=1,
                replication_factor=1,
                configs=[
                    messages.CreateTopicsRequestCreatableTopicConfig(name=key, value=value)
                    for key, value in configs.items()
                ],
            )
            created = client.ask(messages.CreateTopicsRequest(topics=[topic]), 4)
            assert created.topics[0].error_code == 0

    def client(self) -> Asking:
        self.clients.append(Asking(self.broker.addresses[0].port))
        return self.clients[-1]

    def wait_for_sync(self) -> None:
        assert self.disk.reached.acquire(timeout=DEADLINE_S), "no sync was begun"

    def stop(self) -> None:
        self.broker.stop()
        self.thread.join(DEADLINE_S)
        assert not self.thread.is_alive()

    def close(self) -> None:
        self.disk.gate.set()
        for client in self.clients:
            client.close()
        if self.thread.is_alive():
            self.stop()


@pytest.fixture
def scene(tmp_path: Path) -> Iterator[Scene]:
    made = Scene(tmp_path)
    yield made
    made.close()


def send_produce(client: Asking, *, acks: int = 1) -> None:
    builder = BatchBuilder()
    builder.append(timestamp=1_700_000_000_000, key=None, value=b"v")
    data = messages.ProduceRequestPartitionProduceData(index=0, records=bytes(builder.build()))
    topic = messages.ProduceRequestTopicProduceData(name=SYNCED, partition_data=[data])
    client.send(messages.ProduceRequest(acks=acks, timeout_ms=1, topic_data=[topic]), PRODUCE_VERSION)


def produced(client: Asking) -> tuple[int, int]:
    """Error code and base offset of the next answer."""
    answer = client.receive(messages.ProduceRequest, PRODUCE_VERSION)
    partition = answer.responses[0].partition_responses[0]
    return partition.error_code, partition.base_offset


def fetched(client: Asking, topic: str) -> tuple[int, int]:
    """High watermark and bytes of records."""
    part = messages.FetchRequestFetchPartition(partition=0, fetch_offset=0, partition_max_bytes=1 << 20)
    asked = messages.FetchRequestFetchTopic(topic=topic, partitions=[part])
    request = messages.FetchRequest(max_wait_ms=0, max_bytes=1 << 20, session_epoch=-1, topics=[asked])
    (found,) = client.ask(request, FETCH_VERSION).responses[0].partitions
    return found.high_watermark, len(found.records)


def test_a_slow_sync_holds_up_only_those_who_wait_for_it(scene: Scene) -> None:
    waiting, other = scene.client(), scene.client()
    send_produce(waiting)
    scene.wait_for_sync()
    assert other.produce(PLAIN, [b"v"]) == 0
    assert fetched(other, PLAIN)[0] == 1
    assert fetched(other, SYNCED) == (0, 0), "nobody sees what a power loss may take back"
    scene.disk.gate.set()
    assert produced(waiting) == (0, 0)
    assert fetched(other, SYNCED)[0] == 1


@pytest.mark.parametrize("acks", [1, -1])
def test_connections_share_syncs_and_each_is_answered_in_order(scene: Scene, acks: int) -> None:
    first = scene.client()
    send_produce(first, acks=acks)
    scene.wait_for_sync()
    clients = [scene.client() for _ in range(CONNECTIONS)]
    for client in clients:
        for _ in range(3):  # timeout_ms is 1 and does not count while the disk is waited for
            send_produce(client, acks=acks)
    log = scene.broker._logs.get(SYNCED, 0)
    assert log is not None
    wait_until = threading.Event()
    for _ in range(DEADLINE_S * 100):
        if log.log_end_offset == 1 + CONNECTIONS:  # of each connection one request is in hand
            break
        wait_until.wait(0.01)
    scene.disk.gate.set()
    assert produced(first) == (0, 0)
    answers = [[produced(client) for _ in range(3)] for client in clients]
    offsets = [[offset for error, offset in own if error == 0] for own in answers]
    assert all(own == sorted(own) for own in offsets)
    assert sorted(chain.from_iterable(offsets)) == list(range(1, 1 + 3 * CONNECTIONS))
    assert scene.disk.syncs < 3 * CONNECTIONS, "a sync for each append"
    assert scene.broker._logs.group_commit.statistics().appends == 1 + 3 * CONNECTIONS


def test_a_sync_that_fails_is_told_with_56_and_acknowledges_nothing(scene: Scene) -> None:
    waiting = [scene.client() for _ in range(3)]
    for client in waiting:
        send_produce(client)
    scene.wait_for_sync()
    scene.disk.fails = True
    scene.disk.gate.set()
    assert [produced(client) for client in waiting] == [(STORAGE_ERROR, -1)] * 3


def test_a_stop_answers_after_the_sync_and_a_start_finds_the_record(scene: Scene, tmp_path: Path) -> None:
    waiting = scene.client()
    send_produce(waiting)
    scene.wait_for_sync()
    scene.broker.stop()
    scene.wait_for_sync()  # the stop syncs by itself
    scene.disk.gate.set()
    assert produced(waiting) == (0, 0)
    scene.thread.join(DEADLINE_S)
    again = Broker(load_settings(overrides=[f"log.dirs={tmp_path}", "listeners=PLAINTEXT://127.0.0.1:0"]))
    again.start()
    log = again._logs.get(SYNCED, 0)
    assert log is not None
    assert log.log_end_offset == 1
    again.stop(now=True)
    again.run()

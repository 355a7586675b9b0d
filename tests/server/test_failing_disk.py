"""F43 end to end: one directory's disk fails under a running broker; its partitions say so, the others go on.

The disk is the real one, save that reads or writes under one directory are refused once a test says so.
"""

import errno
import os
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from barnabas.base.disk import OsDisk, OsFile
from barnabas.protocol import messages
from barnabas.server.broker import Broker
from barnabas.server.settings import load_settings
from tests.server.asking import Asking

STORAGE_ERROR = 56
FETCH_VERSION = 12
TOPIC = "t"
LONG_MS = 60_000
"""How long fetches are ready to wait: a test that passes waits for none of it."""
DEADLINE_S = 30

BIG_BYTES = 300_000
"""A record that goes out by sendfile, others are copied."""


class FailingFile(OsFile):
    """A file of a FailingDisk."""

    __slots__ = ("_disk",)

    def __init__(self, of: OsFile, disk: "FailingDisk") -> None:
        super().__init__(of.path, of.fileno(), of._page_cache)
        self._disk = disk

    def read_into(self, position: int, buffer: memoryview) -> int:
        self._disk.check("read", self.path)
        return super().read_into(position, buffer)

    def try_read_into(self, position: int, buffer: memoryview) -> int | None:
        self._disk.check("read", self.path)
        return super().try_read_into(position, buffer)

    def is_cached(self, position: int, length: int) -> bool:
        self._disk.check("read", self.path)
        return super().is_cached(position, length)

    def read_at(self, position: int, length: int) -> bytes:
        self._disk.check("read", self.path)
        return super().read_at(position, length)

    def write_at(self, position: int, parts: Any) -> int:
        self._disk.check("write", self.path)
        return super().write_at(position, parts)

    def sync(self) -> None:
        self._disk.check("sync", self.path)
        super().sync()


class FailingDisk(OsDisk):
    """The real disk; what a test puts into `refused` answers EIO."""

    __slots__ = ("refused",)

    def __init__(self) -> None:
        super().__init__()
        self.refused: tuple[str, str] | None = None  # what, below which directory

    def check(self, what: str, path: str) -> None:
        if self.refused is not None and what == self.refused[0] and path.startswith(self.refused[1]):
            raise OSError(errno.EIO, os.strerror(errno.EIO), path)

    def open(self, path: str, *, create: bool = False, exclusive: bool = False) -> OsFile:
        return FailingFile(super().open(path, create=create, exclusive=exclusive), self)

    def open_readonly(self, path: str) -> OsFile:
        return FailingFile(super().open_readonly(path), self)


class Scene:
    """A broker over two directories, with a partition in each that holds two records."""

    def __init__(self, broker: Broker, disk: FailingDisk, folder: Path) -> None:
        self.disk = disk
        self.port = broker.addresses[0].port
        self.failing_dir = str(folder / "b")
        with_client = Asking(self.port)
        topic = messages.CreateTopicsRequestCreatableTopic(name=TOPIC, num_partitions=2, replication_factor=1)
        created = with_client.ask(messages.CreateTopicsRequest(topics=[topic]), 4)
        assert created.topics[0].error_code == 0
        (self.failing,) = (n for n in range(2) if (folder / "b" / f"{TOPIC}-{n}").is_dir())
        self.fine = 1 - self.failing
        for number in range(2):
            for value in (b"v", bytes(BIG_BYTES)):
                assert with_client.produce(TOPIC, [value], partition=number) == 0
        with_client.close()

    def refuse(self, what: str) -> None:
        self.disk.refused = (what, f"{self.failing_dir}/{TOPIC}-{self.failing}/")


@pytest.fixture
def scene(tmp_path: Path, running: Callable[[Broker], None]) -> Scene:
    disk = FailingDisk()
    broker = Broker(
        load_settings(
            overrides=[f"log.dirs={tmp_path / 'a'},{tmp_path / 'b'}", "listeners=PLAINTEXT://127.0.0.1:0"]
        ),
        disk=disk,
    )
    broker.start()
    running(broker)
    return Scene(broker, disk, tmp_path)


@pytest.fixture
def running() -> Iterator[Callable[[Broker], None]]:
    begun: list[tuple[Broker, threading.Thread]] = []

    def run(broker: Broker) -> None:
        thread = threading.Thread(target=broker.run)
        begun.append((broker, thread))
        thread.start()

    yield run
    for broker, thread in begun:
        broker.stop()
        thread.join(DEADLINE_S)
        assert not thread.is_alive(), "the broker did not stop"


def fetch_of(number: int, offset: int, max_bytes: int = 1 << 20) -> messages.FetchRequest:
    partition = messages.FetchRequestFetchPartition(
        partition=number, fetch_offset=offset, partition_max_bytes=max_bytes
    )
    return messages.FetchRequest(
        max_wait_ms=LONG_MS,
        min_bytes=1,
        max_bytes=1 << 20,
        topics=[messages.FetchRequestFetchTopic(topic=TOPIC, partitions=[partition])],
    )


def answer_of(peer: Asking) -> Any:
    (topic,) = peer.receive(messages.FetchRequest, FETCH_VERSION).responses
    (partition,) = topic.partitions
    return partition


def parked_at_end(port: int, number: int) -> Asking:
    """Return a consumer that waits at the end of a partition."""
    peer = Asking(port)
    peer.send(fetch_of(number, 2), FETCH_VERSION)
    return peer


def the_other_goes_on(scene: Scene, waiting: Asking) -> None:
    """See that the other directory's parked consumer gets its record, and anybody all of them."""
    producer = Asking(scene.port)
    assert producer.produce(TOPIC, [b"after"], partition=scene.fine) == 0
    found = answer_of(waiting)
    assert (found.error_code, found.high_watermark) == (0, 3)
    producer.send(fetch_of(scene.fine, 0), FETCH_VERSION)
    assert len(answer_of(producer).records) > BIG_BYTES
    producer.close()


@pytest.mark.parametrize("max_bytes", [100, 1 << 20], ids=["copied", "sendfile"])
def test_f43_a_disk_that_cannot_read_answers_what_is_parked_there_with_56(
    scene: Scene, max_bytes: int
) -> None:
    parked, other = parked_at_end(scene.port, scene.failing), parked_at_end(scene.port, scene.fine)
    scene.refuse("read")
    began = time.monotonic()
    reader = Asking(scene.port)
    reader.send(fetch_of(scene.failing, 0, max_bytes), FETCH_VERSION)
    assert answer_of(parked).error_code == STORAGE_ERROR
    assert time.monotonic() - began < LONG_MS / 1000 / 2
    assert len(reader.read_to_end()) < max_bytes, "what cannot be read cannot be sent"
    the_other_goes_on(scene, other)
    late = Asking(scene.port)
    late.send(fetch_of(scene.failing, 0), FETCH_VERSION)
    assert answer_of(late).error_code == STORAGE_ERROR
    for peer in (parked, other, reader, late):
        peer.close()


def test_f43_a_disk_that_cannot_write_answers_producer_and_consumers_with_56(scene: Scene) -> None:
    parked, other = parked_at_end(scene.port, scene.failing), parked_at_end(scene.port, scene.fine)
    scene.refuse("write")
    producer = Asking(scene.port)
    assert producer.produce(TOPIC, [b"lost"], partition=scene.failing) == STORAGE_ERROR
    assert answer_of(parked).error_code == STORAGE_ERROR
    the_other_goes_on(scene, other)
    for peer in (parked, other, producer):
        peer.close()

"""Play the situations against one broker."""

import contextlib
from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from barnabas.protocol import messages as m
from tests.broker import BarnabasBroker
from tests.interop.fetch_situations import (
    changing,
    reading,
    session_logs,
    session_partitions,
    sessions,
    waiting,
)
from tests.interop.fetch_situations.logs import NODE_ID, unpack_logs
from tests.interop.fetch_situations.reading import Situation
from tests.interop.fetch_situations.talk import Talk
from tests.interop.first_slice.asker import Asker
from tests.interop.situations.exchange import Told
from tests.oracle import kafka

SITUATIONS: dict[str, Situation] = (
    reading.SITUATIONS
    | changing.SITUATIONS
    | sessions.SITUATIONS
    | session_partitions.SITUATIONS
    | session_logs.SITUATIONS
    | waiting.SITUATIONS
)

WAITING_AT_ONCE_MAX = 4
"""Few enough for those that are answered at once to be so on a busy machine."""


def play(port: int, name: str) -> Told:
    """Return what was asked and answered in one situation."""
    talk = Talk(port)
    try:
        SITUATIONS[name](talk)
    finally:
        talk.close()
    return Told(talk.exchanges, talk.known)


def play_all(port: int, names: Iterable[str] = SITUATIONS) -> dict[str, Told]:
    """Return what was asked and answered in many situations; those that wait do so at the same time."""
    wanted = list(names)
    with ThreadPoolExecutor(WAITING_AT_ONCE_MAX) as threads:
        waits = {name: threads.submit(play, port, name) for name in wanted if name in waiting.SITUATIONS}
        told = {name: play(port, name) for name in wanted if name not in waits}
        return told | {name: future.result() for name, future in waits.items()}


def wait_until_served(port: int) -> None:
    """Return when every partition of the logs can be read."""
    asker = Asker(port)
    listed = asker.exchange(12, m.MetadataRequest(topics=None))
    assert isinstance(listed, m.MetadataResponse)
    for topic in listed.topics:
        assert topic.name is not None
        asker.wait_for_leaders(topic.name, len(topic.partitions))
    asker.close()


@contextlib.contextmanager
def running_kafka(directory: Path) -> Iterator[kafka.KafkaBroker]:
    """An Apache Kafka on a copy of the logs."""
    data_dir = unpack_logs(directory)
    with kafka.running(directory, data_dir=data_dir, node_id=NODE_ID) as broker:
        wait_until_served(broker.port)
        yield broker


@contextlib.contextmanager
def running_barnabas(directory: Path) -> Iterator[BarnabasBroker]:
    """A Barnabas on a copy of the logs; that nothing went wrong in it is asserted at the end."""
    data_dir = unpack_logs(directory)
    overrides = {"node.id": str(NODE_ID)}
    with BarnabasBroker(directory, data_dir=data_dir, overrides=overrides) as broker:
        wait_until_served(broker.port)
        yield broker
        assert "fault while" not in broker.log_path.read_text()

"""Play the situations against one broker, and keep what Apache Kafka 4.4 answered."""

import contextlib
import gzip
import json
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from barnabas.protocol import messages as m
from tests.broker import BarnabasBroker
from tests.interop.first_slice.asker import Asker
from tests.interop.transaction_situations import fencing, offsets, writing
from tests.interop.transaction_situations.talk import Talk
from tests.oracle import kafka

SITUATIONS = writing.SITUATIONS | fencing.SITUATIONS | offsets.SITUATIONS

RECORD = Path(__file__).parents[2] / "golden" / "transactions.json.gz"

AT_ONCE_MAX = 6

OVERRIDES = {
    "offsets.topic.num.partitions": "3",
    "offsets.topic.replication.factor": "1",
    "transaction.state.log.num.partitions": "3",
    "transaction.state.log.replication.factor": "1",
    "transaction.state.log.min.isr": "1",
    "auto.create.topics.enable": "false",
}

Told = list[tuple[str, Any]]


def names() -> list[str]:
    """Return `situation in age N` for all there are."""
    return [f"{name} in age {age}" for name, (_, ages) in SITUATIONS.items() for age in ages]


def play(port: int, name: str) -> Told:
    """Return what was asked and answered in one situation and age."""
    situation, age = name.rsplit(" in age ", 1)
    talk = Talk(port, f"{situation}-{age}", int(age))
    try:
        SITUATIONS[situation][0](talk)
    finally:
        talk.close()
    # As it comes out of JSON: a tuple is a list there.
    plain: Told = json.loads(json.dumps(talk.told))
    return plain


def play_all(port: int) -> dict[str, Told | Exception]:
    """Return what was asked and answered in all; the exception of one that broke off."""
    with ThreadPoolExecutor(AT_ONCE_MAX) as threads:
        played = {name: threads.submit(play, port, name) for name in names()}
    return {name: one.exception() or one.result() for name, one in played.items()}  # type: ignore[misc]


def prepare(port: int) -> None:
    """Have both coordinators' topics made and loaded."""
    asker = Asker(port)
    for key_type in (0, 1):
        asked = m.FindCoordinatorRequest(key_type=key_type, coordinator_keys=["anybody"])

        def is_there(asked: m.FindCoordinatorRequest = asked) -> bool:
            found = asker.exchange(4, asked)
            assert isinstance(found, m.FindCoordinatorResponse)
            return found.coordinators[0].error_code == 0

        asker.until(is_there)
    asker.close()


@contextlib.contextmanager
def running_kafka(directory: Path) -> Iterator[kafka.KafkaBroker]:
    """A fresh Apache Kafka."""
    with kafka.running(directory, overrides=OVERRIDES) as broker:
        prepare(broker.port)
        yield broker


@contextlib.contextmanager
def running_barnabas(directory: Path) -> Iterator[BarnabasBroker]:
    """A fresh Barnabas; that nothing went wrong in it is asserted at the end."""
    with BarnabasBroker(directory, overrides=OVERRIDES) as broker:
        prepare(broker.port)
        yield broker
        assert "fault while" not in broker.log_path.read_text()


def load() -> dict[str, Told]:
    """Return what Apache Kafka answered when it was last asked."""
    with gzip.open(RECORD) as file:
        recorded: dict[str, Told] = json.loads(file.read())
    return recorded


def save(told: Mapping[str, Told]) -> None:
    """Write the record anew."""
    with gzip.GzipFile(RECORD, "wb", mtime=0) as file:
        file.write(json.dumps(told, sort_keys=True).encode())


def unequal(theirs: Told, ours: Told) -> list[str]:
    """Return where two brokers' answers differ."""
    again = "the record is of something else, make it anew: python -m tools.record_transaction_answers"
    assert [asked for asked, _ in theirs] == [asked for asked, _ in ours], again
    return [
        f"{asked}: theirs {left}, ours {right}"
        for (asked, left), (_, right) in zip(theirs, ours, strict=True)
        if left != right
    ]

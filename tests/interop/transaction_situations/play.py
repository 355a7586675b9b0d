"""Play the situations against one broker, and compare with what Apache Kafka 4.4 answered."""

import json
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

from tests.broker import BarnabasBroker
from tests.interop.first_slice.asker import Asker
from tests.interop.situations.playing import (
    fresh_barnabas,
    fresh_kafka,
    play_side_by_side,
    wait_for_coordinator,
)
from tests.interop.situations.record import GOLDEN
from tests.interop.transaction_situations import fencing, offsets, writing
from tests.interop.transaction_situations.talk import Talk
from tests.oracle.kafka import KafkaBroker

SITUATIONS = writing.SITUATIONS | fencing.SITUATIONS | offsets.SITUATIONS

RECORD = GOLDEN / "transactions.json.gz"

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
    return play_side_by_side(play, port, names(), AT_ONCE_MAX)


def prepare(port: int) -> None:
    """Have both coordinators' topics made and loaded."""
    asker = Asker(port)
    for key_type in (0, 1):
        wait_for_coordinator(asker, key_type)
    asker.close()


def running_kafka(directory: Path) -> AbstractContextManager[KafkaBroker]:
    return fresh_kafka(directory, OVERRIDES, prepare)


def running_barnabas(directory: Path) -> AbstractContextManager[BarnabasBroker]:
    return fresh_barnabas(directory, OVERRIDES, prepare)


def unequal(theirs: Told, ours: Told) -> list[str]:
    """Return where two brokers' answers differ."""
    again = "the record is of something else, make it anew: python -m tools.record_transaction_answers"
    assert [asked for asked, _ in theirs] == [asked for asked, _ in ours], again
    return [
        f"{asked}: theirs {left}, ours {right}"
        for (asked, left), (_, right) in zip(theirs, ours, strict=True)
        if left != right
    ]

"""Play the situations against one broker."""

import re
from collections.abc import Iterable
from contextlib import AbstractContextManager
from pathlib import Path

from barnabas.protocol import messages as m
from tests.broker import BarnabasBroker
from tests.interop.first_slice.asker import Asker
from tests.interop.group_situations import (
    classic_admin,
    classic_joining,
    classic_members,
    classic_offsets,
    classic_static,
    consumer_members,
    consumer_offsets,
    two_protocols,
)
from tests.interop.group_situations.situations import Situation
from tests.interop.group_situations.talk import Talk
from tests.interop.situations.exchange import Told
from tests.interop.situations.playing import (
    fresh_barnabas,
    fresh_kafka,
    play_side_by_side,
    wait_for_coordinator,
)
from tests.oracle.kafka import KafkaBroker

SITUATIONS: dict[str, Situation] = (
    classic_joining.situations.by_name
    | classic_members.situations.by_name
    | classic_static.situations.by_name
    | classic_offsets.situations.by_name
    | classic_admin.situations.by_name
    | consumer_members.situations.by_name
    | consumer_offsets.situations.by_name
    | two_protocols.situations.by_name
)

TOPICS = {"one": 1, "three": 3, "six": 6}
"""Topics with their partitions that no situation changes."""

GROUPS_AT_ONCE_MAX = 8
"""Situations share nothing, and much of them is waiting."""

OVERRIDES = {
    "offsets.topic.num.partitions": "5",
    "group.initial.rebalance.delay.ms": "0",
    "group.min.session.timeout.ms": "1000",
    "group.max.size": "4",
    "group.consumer.max.size": "4",
    "group.consumer.min.session.timeout.ms": "1000",
    "group.consumer.min.heartbeat.interval.ms": "500",
    "group.consumer.assignment.interval.ms": "0",
    "group.consumer.assignor.offload.enable": "false",
    "offset.metadata.max.bytes": "100",
}
"""So small that limits are reached and sessions end within a test; assignments are there at once."""

BARNABAS_OVERRIDES = {name: value for name, value in OVERRIDES.items() if "offload" not in name}


def step_names(names: Iterable[str] = SITUATIONS) -> list[str]:
    """Return `situation, step N` for every step of the situations."""
    return [f"{name}, step {step}" for name in names for step in SITUATIONS[name].steps]


def play(port: int, step_name: str) -> Told:
    """Return what was asked and answered in one situation and step."""
    name, step = step_name.rsplit(", step ", 1)
    talk = Talk(port, re.sub(r"[^a-z0-9]+", "-", step_name), int(step))
    try:
        SITUATIONS[name].play(talk)
    finally:
        talk.close()
    return Told(talk.exchanges, talk.known, talk.group)


def play_all(port: int, names: Iterable[str] = SITUATIONS) -> dict[str, Told | Exception]:
    """Return what was asked and answered in many situations; the exception of one that broke off."""
    return play_side_by_side(play, port, step_names(names), GROUPS_AT_ONCE_MAX)


def prepare(port: int) -> None:
    """Make the topics, and the topic of the offsets by asking for a coordinator."""
    asker = Asker(port)
    for name, partitions in TOPICS.items():
        asker.make_topic(name, partitions)
    wait_for_coordinator(asker, 0)
    for number in range(20):
        request = m.OffsetFetchRequest(group_id=f"anybody-{number}", topics=[])

        def is_loaded(request: m.OffsetFetchRequest = request) -> bool:
            answer = asker.exchange(7, request)
            assert isinstance(answer, m.OffsetFetchResponse)
            return answer.error_code == 0

        asker.until(is_loaded)
    asker.close()


def running_kafka(directory: Path) -> AbstractContextManager[KafkaBroker]:
    return fresh_kafka(directory, OVERRIDES, prepare)


def running_barnabas(directory: Path) -> AbstractContextManager[BarnabasBroker]:
    return fresh_barnabas(directory, BARNABAS_OVERRIDES, prepare)

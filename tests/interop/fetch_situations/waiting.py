"""How long a broker waits for more to send, told coarsely: at once, or about as long as it may.

Only a handful really waits, which takes WAIT_MS each. All others are to be answered at once, or woken; they
may wait for so long that no busy machine makes the one look like the other.
"""

from collections.abc import Callable
from typing import Any

from tests.interop.fetch_situations.reading import COMMITTED, INT32_MAX, Situation
from tests.interop.fetch_situations.talk import Part, Talk, p

WAIT_MS = 2000
LONG_WAIT_MS = 10_000
VERSIONS = (12, 18)
ENOUGH_BYTES = 150
SECOND_BYTES = 121
"""Of the one batch of second-0."""


def _once(*parts: Part, **fields: Any) -> Situation:
    def ask(talk: Talk) -> None:
        for version in VERSIONS:
            talk.fetch(version, *parts, max_wait_ms=LONG_WAIT_MS, timed=True, **fields)

    return ask


def _waits(*parts: Part, **fields: Any) -> Situation:
    def ask(talk: Talk) -> None:
        talk.fetch(18, *parts, max_wait_ms=WAIT_MS, timed=True, **fields)

    return ask


SIMPLE: dict[str, Situation] = {
    "nothing new": _waits(p("plain", 0, 21)),
    "too few bytes": _waits(p("plain", 0, 10), min_bytes=10_000),
    "committed, behind an open transaction": _waits(p("open", 0, 5), isolation_level=COMMITTED),
    "enough bytes": _once(p("plain", 0, 10), min_bytes=ENOUGH_BYTES),
    "enough bytes of two partitions": _once(p("plain", 0, 15), p("plain", 1, 0), min_bytes=400),
    "min bytes as many as there are": _once(p("second", 0, 0), min_bytes=SECOND_BYTES),
    "min bytes one more than there are": _waits(p("second", 0, 0), min_bytes=SECOND_BYTES + 1),
    "min bytes 0": _once(p("plain", 0, 21), min_bytes=0),
    "min bytes -1": _once(p("plain", 0, 21), min_bytes=-1),
    "min bytes bounded by max bytes": _once(p("plain", 2, 0), min_bytes=INT32_MAX, max_bytes=1000),
    "max bytes 0": _once(p("plain", 0, 21), max_bytes=0),
    "out of range": _once(p("plain", 0, 22)),
    "out of range among others": _once(p("plain", 0, 21), p("plain", 1, 99)),
    "unknown topic": _once(p("nowhere", 0)),
    "unknown topic among others": _waits(p("plain", 0, 21), p("nowhere", 0)),
    "unknown partition": _once(p("plain", 9)),
    "wrong leader epoch": _once(p("plain", 0, 21, epoch=1)),
    "diverging": _once(p("epochs", 0, 16, last=3)),
    "follower unknown": _once(p("plain", 0, 21), replica=5),
    "uncommitted, behind an open transaction": _once(p("open", 0, 5)),
    "no partitions": _once(),
}


_SITUATIONS: list[Situation] = []


def _situation(play: Situation) -> Situation:
    _SITUATIONS.append(play)
    return play


def _woken(
    name: str, act: Callable[[Talk, str], None], wait_ms: int = LONG_WAIT_MS, **fields: Any
) -> Callable[[Talk], None]:
    def ask(talk: Talk) -> None:
        topic = talk.own_topic(f"woken-{name}", 2, batches=1)
        part = p(topic, 0, 1)
        talk.fetch(
            18, part, max_wait_ms=wait_ms, timed=True, meanwhile=lambda other: act(other, topic), **fields
        )

    return ask


@_situation
def woken_by_an_append(talk: Talk) -> None:
    _woken("append", lambda other, topic: other.append(topic, 0))(talk)


@_situation
def woken_by_an_append_committed(talk: Talk) -> None:
    _woken("append-committed", lambda other, topic: other.append(topic, 0), isolation_level=COMMITTED)(talk)


@_situation
def not_woken_by_too_small_an_append(talk: Talk) -> None:
    _woken("small", lambda other, topic: other.append(topic, 0), WAIT_MS, min_bytes=1000)(talk)


@_situation
def woken_by_appends_that_add_up(talk: Talk) -> None:
    def act(other: Talk, topic: str) -> None:
        for _ in range(2):
            other.append(topic, 0)

    _woken("sum", act, min_bytes=150)(talk)


@_situation
def woken_by_the_deletion_of_the_topic(talk: Talk) -> None:
    _woken("deletion", lambda other, topic: other.delete_topic(topic))(talk)


@_situation
def in_a_session_with_nothing_new(talk: Talk) -> None:
    talk.open(18, p("plain", 0, 21))
    talk.more(18, max_wait_ms=WAIT_MS, timed=True)


@_situation
def in_a_session_with_records(talk: Talk) -> None:
    talk.open(18, p("plain", 0, 15))
    talk.more(18, max_wait_ms=LONG_WAIT_MS, timed=True)


@_situation
def in_a_session_with_a_known_error(talk: Talk) -> None:
    talk.open(18, p("plain", 0, 21), p("plain", 9))
    talk.more(18, max_wait_ms=WAIT_MS, timed=True)


@_situation
def in_a_session_woken_by_an_append(talk: Talk) -> None:
    topic = talk.own_topic("woken-session", 2)
    talk.open(18, p(topic, 0), p(topic, 1))
    talk.more(18, max_wait_ms=LONG_WAIT_MS, timed=True, meanwhile=lambda other: other.append(topic, 1))
    talk.more(18)


@_situation
def in_a_session_opened_while_waiting(talk: Talk) -> None:
    topic = talk.own_topic("woken-opening", 2)
    talk.fetch(
        18, p(topic, 0), p(topic, 1), session_id=0, session_epoch=0, max_wait_ms=LONG_WAIT_MS, timed=True,
        meanwhile=lambda other: other.append(topic, 1),
    )  # fmt: skip


SITUATIONS: dict[str, Situation] = {"waiting: " + name: play for name, play in SIMPLE.items()} | {
    "waiting: " + play.__name__.replace("_", " "): play for play in _SITUATIONS
}

"""One request each, in the versions that can say it: offsets, limits, isolation, order, odd values.

A line is a situation. Sizes: the first batch of plain-0 has 82 bytes, each record there 16 or 17 more.
"""

from collections.abc import Callable
from typing import Any

from tests.interop.fetch_situations.logs import NOW_EPOCH
from tests.interop.fetch_situations.talk import VERSIONS, Part, Talk, all_of, p

Situation = Callable[[Talk], None]

INT32_MAX, INT64_MAX, INT64_MIN = 2**31 - 1, 2**63 - 1, -(2**63)
COMMITTED = 1
NAMES_ONLY, IDS_FROM = 12, 13
TELLING_VERSIONS = (4, 7, 11, 12, 13, 18)
"""First and last with names, sessions, flexible encoding, ids; the others differ in fields only."""


def once(*parts: Part, since: int = 4, until: int = 18, **fields: Any) -> Situation:
    """The same request in the telling versions from `since` to `until`, and in these two."""
    versions = sorted({since, until, *(v for v in TELLING_VERSIONS if since <= v <= until)})

    def ask(talk: Talk) -> None:
        for version in versions:
            talk.fetch(version, *parts, **fields)

    return ask


def always(*parts: Part, **fields: Any) -> Situation:
    """The same request in every version."""

    def ask(talk: Talk) -> None:
        for version in VERSIONS:
            talk.fetch(version, *parts, **fields)

    return ask


def each(*requests: tuple[Part, ...], versions: tuple[int, ...] = (18,), **fields: Any) -> Situation:
    """Many requests, each in a few versions."""

    def ask(talk: Talk) -> None:
        for version in versions:
            for parts in requests:
                talk.fetch(version, *parts, **fields)

    return ask


OFFSETS: dict[str, Situation] = {
    "first offset": always(p("plain", 0, 0)),
    "inside a batch": always(p("plain", 0, 4)),
    "last record of a batch": once(p("plain", 0, 5)),
    "last record": once(p("plain", 0, 20)),
    "the end": always(p("plain", 0, 21)),
    "beyond the end": always(p("plain", 0, 22)),
    "far beyond the end": once(p("plain", 0, INT64_MAX)),
    "offset -1": once(p("plain", 0, -1)),
    "offset -2": once(p("plain", 0, -2)),
    "least offset": once(p("plain", 0, INT64_MIN)),
    "every offset": each(*((p("plain", 0, offset),) for offset in range(23))),
    "every offset, one batch each": each(*((p("plain", 0, offset, 1),) for offset in range(23))),
    "empty partition": always(p("plain", 3, 0)),
    "empty partition, offset 1": once(p("plain", 3, 1)),
    "below a log start inside a batch": once(p("trimmed", 0, 3)),
    "at a log start inside a batch": once(p("trimmed", 0, 4)),
    "above a log start inside a batch": once(p("trimmed", 0, 5)),
    "below a log start": always(p("trimmed", 1, 5)),
    "at a log start": once(p("trimmed", 1, 6)),
    "below the log start of an emptied log": once(p("trimmed", 2, 8)),
    "at the log start of an emptied log": once(p("trimmed", 2, 9)),
    "beyond an emptied log": once(p("trimmed", 2, 10)),
    "first of several segments": once(p("segments", 0, 0)),
    "last batch of a segment": once(p("segments", 0, 8)),
    "first batch of the second segment": once(p("segments", 0, 10)),
    "every offset of several segments": each(*((p("segments", 0, o),) for o in range(42))),
    "every offset of several segments, little at a time": each(
        *((p("segments", 0, o, 250),) for o in range(42))
    ),
    "compacted log": always(p("compacted", 0, 0)),
    "every offset of a compacted log": each(*((p("compacted", 0, o),) for o in range(34))),
    "every offset of a compacted log, one batch each": each(*((p("compacted", 0, o, 1),) for o in range(34))),
    "every offset of a compacted log, committed": each(
        *((p("compacted", 0, o),) for o in range(34)), isolation_level=COMMITTED
    ),
    "times of the broker's own": once(p("stamped", 0, 0)),
    "every codec, from version 10": once(p("squeezed", 0, 0), since=10),
    "every offset of every codec": each(*((p("squeezed", 0, o, 1),) for o in range(0, 101, 5))),
    "topic stored as zstd, from version 10": once(p("zstd", 0, 0), since=10),
    "topic stored as zstd, inside the batch": once(p("zstd", 0, 7), since=10),
    "topic stored as zstd, below version 10": once(p("zstd", 0, 0), until=9),
    "topic stored as zstd, below version 10, at the end": once(p("zstd", 0, 20), until=9),
}

LIMITS: dict[str, Situation] = {
    "partition limit 0": once(p("plain", 0, 0, 0)),
    "partition limit 1": once(p("plain", 0, 0, 1)),
    "partition limit splits the last batch": always(p("plain", 0, 0, 300)),
    "partition limit inside a batch header": once(p("plain", 0, 0, 120)),
    "greatest partition limit": once(p("plain", 0, 0, INT32_MAX)),
    "negative partition limit": once(p("plain", 0, 0, -1)),
    "every partition limit": each(*((p("plain", 0, 1, limit),) for limit in range(0, 700, 13))),
    "every partition limit behind another partition": each(
        *((p("second", 0, 0), p("plain", 0, 1, limit)) for limit in range(0, 700, 13)), versions=(18,)
    ),
    "request limit 0": once(p("plain", 0, 0), max_bytes=0),
    "request limit 1": once(p("plain", 0, 0), p("plain", 1, 0), max_bytes=1),
    "request limit splits the last batch": always(p("plain", 0, 0), max_bytes=300),
    "request limit splits the second partition": once(p("plain", 1, 0), p("plain", 0, 0), max_bytes=600),
    "request limit spent by the first partition": once(p("plain", 2, 0), p("plain", 0, 0), max_bytes=4000),
    "request limit 0, many partitions": once(*all_of("wide", range(8)), max_bytes=0),
    "request limit of two partitions and a half": once(*all_of("wide", range(8)), max_bytes=700),
    "greatest request limit": once(p("plain", 0, 0), max_bytes=INT32_MAX),
    "negative request limit": once(p("plain", 0, 0), max_bytes=-1),
    "negative request limit, many partitions": once(*all_of("plain", range(4)), max_bytes=-5),
    "first batch above the partition limit": once(p("big", 0, 0, 100)),
    "first batch above the request limit": once(p("big", 0, 0), max_bytes=100),
    "first batch above both limits": always(p("big", 0, 0, 100), max_bytes=50),
    "big batch behind an empty partition": once(p("plain", 3, 0), p("big", 0, 0, 100)),
    "big batch behind another partition": once(p("plain", 0, 0), p("big", 0, 0, 100)),
    "big batch behind another partition, request limit": once(
        p("plain", 0, 0), p("big", 0, 0), max_bytes=2000
    ),
    "big batch before another partition": once(p("big", 0, 0, 100), p("plain", 0, 0), max_bytes=100),
    "big batch behind an error": once(p("plain", 9, 0), p("big", 0, 0, 100)),
    "big batch, last record, small limit": once(p("big", 0, 2, 100)),
    "batch behind the big one, small limit": once(p("big", 0, 3, 100)),
    "min bytes 0": once(p("plain", 0, 0), min_bytes=0),
    "min bytes -1": once(p("plain", 0, 0), min_bytes=-1),
    "min bytes above what is there": always(p("plain", 0, 0), min_bytes=100_000),
    "greatest min bytes": once(p("plain", 0, 0), min_bytes=INT32_MAX, max_bytes=INT32_MAX),
    "min bytes above max bytes": once(p("plain", 0, 0), min_bytes=5000, max_bytes=100),
    "wait -1": once(p("plain", 0, 21), max_wait_ms=-1),
    "a short wait": once(p("plain", 0, 21), max_wait_ms=5),
    "a short wait for more bytes": once(p("plain", 0, 3), max_wait_ms=5, min_bytes=10_000),
}

ISOLATION: dict[str, Situation] = {
    "committed, no transactions": once(p("plain", 0, 0), isolation_level=COMMITTED),
    "committed, aborted ones among them": always(p("txn", 0, 0), isolation_level=COMMITTED),
    "uncommitted, aborted ones among them": once(p("txn", 0, 0), isolation_level=0),
    "committed, from every offset": each(*((p("txn", 0, o),) for o in range(20)), isolation_level=COMMITTED),
    "committed, from every offset, one batch each": each(
        *((p("txn", 0, o, 1),) for o in range(20)), isolation_level=COMMITTED
    ),
    "uncommitted, from every offset": each(*((p("txn", 0, o),) for o in range(20))),
    "committed, many aborted": once(p("txn", 1, 0), isolation_level=COMMITTED),
    "committed, many aborted, from every offset": each(
        *((p("txn", 1, o),) for o in range(49)), isolation_level=COMMITTED
    ),
    "committed, many aborted, one batch each": each(
        *((p("txn", 1, o, 1),) for o in range(49)), isolation_level=COMMITTED
    ),
    "committed, many aborted, by every limit": each(
        *((p("txn", 1, 5, limit),) for limit in range(0, 4300, 150)), isolation_level=COMMITTED
    ),
    "committed, before an open transaction": always(p("open", 0, 0), isolation_level=COMMITTED),
    "committed, at an open transaction": once(p("open", 0, 5), isolation_level=COMMITTED),
    "committed, every offset around an open transaction": each(
        *((p("open", 0, o),) for o in range(16)), isolation_level=COMMITTED
    ),
    "uncommitted, every offset around an open transaction": each(*((p("open", 0, o),) for o in range(16))),
    "committed, nothing but an open transaction": once(p("open", 1, 0), isolation_level=COMMITTED),
    "uncommitted, nothing but an open transaction": once(p("open", 1, 0)),
    "committed, behind an open transaction": once(p("open", 1, 3), isolation_level=COMMITTED),
    "committed, beyond an open transaction": once(p("open", 1, 4), isolation_level=COMMITTED),
    "committed, several partitions": once(
        p("open", 0, 0), p("txn", 0, 3), p("plain", 0, 9), p("open", 1, 1), isolation_level=COMMITTED
    ),
    "committed, an error": once(p("open", 0, 99), p("txn", 9, 0), isolation_level=COMMITTED),
    "isolation 2": always(p("plain", 0, 0), isolation_level=2),
    "isolation -1": once(p("plain", 0, 0), isolation_level=-1),
    "isolation 127, several partitions": once(*all_of("plain", range(3)), isolation_level=127),
    "isolation 2 of an unknown topic": once(p("nowhere", 0), isolation_level=2),
    "isolation 2 of nothing": once(isolation_level=2),
}

ORDER: dict[str, Situation] = {
    "nothing": always(),
    "no topics, waiting": once(max_wait_ms=2000),
    "topics in a row": once(p("third", 0), p("plain", 1), p("second", 1), p("second", 0)),
    "topics alternate": always(p("plain", 0), p("second", 0), p("plain", 1), p("second", 1)),
    "partitions backwards": once(p("plain", 3), p("plain", 2), p("plain", 1), p("plain", 0)),
    "an error in between": once(p("plain", 0), p("plain", 1, 99), p("plain", 2)),
    "an unknown partition in between": once(p("plain", 0), p("plain", 9), p("plain", 2)),
    "an unknown topic in between": once(p("plain", 0), p("nowhere", 0), p("plain", 2)),
    "errors only": once(p("nowhere", 0), p("plain", 9), p("plain", 0, 99)),
    "errors first": once(p("plain", 9), p("nowhere", 1), p("second", 0)),
    "errors of all kinds alternate": always(
        p("plain", 9), p("third", 0), p("nowhere", 0), p("plain", 0, 50), p("second", 7), p("plain", 1)
    ),
    "partition twice": always(p("plain", 0, 0), p("plain", 0, 6)),
    "partition thrice, the last beyond the end": once(*(p("plain", 0, o) for o in (0, 6, 99))),
    "partition twice, another in between": once(p("plain", 0), p("plain", 1), p("plain", 0, 10)),
    "partition twice, another topic in between": once(p("plain", 0), p("second", 0), p("plain", 0, 10)),
    "unknown partition twice": once(p("plain", 9), p("plain", 9)),
    "unknown topic twice": once(p("nowhere", 0), p("plain", 0), p("nowhere", 0)),
    "eight partitions": once(*all_of("wide", range(8))),
    "eight partitions, half of them at the end": once(*(p("wide", n, 2 * (n % 2)) for n in range(8))),
}

UNKNOWN: dict[str, Situation] = {
    "unknown topic": always(p("nowhere", 0)),
    "unknown topic, odd offset": once(p("nowhere", 0, -7)),
    "unknown topic with an epoch": once(p("nowhere", 0, epoch=5), since=9),
    "unknown partition": always(p("plain", 4)),
    "partition -1": once(p("plain", -1)),
    "greatest partition": once(p("plain", INT32_MAX)),
    "unknown partition with an epoch": once(p("plain", 4, epoch=NOW_EPOCH + 1), since=9),
    "unknown partition beyond the end, with a last epoch": once(p("plain", 4, 99, last=3), since=12),
}

EPOCHS: dict[str, Situation] = {
    "the leader epoch of now": once(p("plain", 0, epoch=NOW_EPOCH), since=9),
    "a leader epoch too old": once(p("plain", 0, epoch=NOW_EPOCH - 1), since=9),
    "leader epoch 0": once(p("plain", 0, epoch=0), since=9),
    "a leader epoch too new": once(p("plain", 0, epoch=NOW_EPOCH + 1), since=9),
    "leader epoch -2": once(p("plain", 0, epoch=-2), since=9),
    "greatest leader epoch": once(p("plain", 0, epoch=INT32_MAX), since=9),
    "a leader epoch too old, beyond the end": once(p("plain", 0, 99, epoch=1), since=9),
    "a leader epoch too new, beyond the end": once(p("plain", 0, 99, epoch=99), since=9),
    "leader epochs of several partitions": once(
        *(p("plain", n, epoch=NOW_EPOCH - 1 + n) for n in range(4)), since=9
    ),
    "leader epochs wrong, topics alternate": once(
        p("plain", 0, epoch=1), p("second", 0), p("plain", 1, epoch=9), p("second", 1, epoch=0), since=9
    ),
    "last epoch of now at the end": once(p("epochs", 0, 16, last=4), since=12),
    "last epoch older than the log's": once(p("epochs", 0, 7, last=0), since=12),
    "last epoch between the log's": once(p("epochs", 0, 8, last=1), since=12),
    "last epoch newer than the log's": once(p("epochs", 0, 16, last=5), since=12),
    "last epoch newer than the leader's": once(p("epochs", 0, 16, last=NOW_EPOCH + 1), since=12),
    "last epoch below the first": once(p("epochs", 1, 2, last=3), since=12),
    "last epoch of an empty partition": once(p("epochs", 2, 0, last=0), since=12),
    "last epoch -2": once(p("epochs", 0, 3, last=-2), since=12),
    "greatest last epoch": once(p("epochs", 0, 3, last=INT32_MAX), since=12),
    "every offset and last epoch": each(
        *((p("epochs", 0, o, last=e),) for e in range(8) for o in (0, 3, 5, 6, 7, 11, 12, 13, 16, 17))
    ),
    "every offset and last epoch of one epoch's log": each(
        *((p("epochs", 1, o, last=e),) for e in range(8) for o in (0, 1, 4, 5))
    ),
    "every last epoch of an empty partition": each(
        *((p("epochs", 2, o, last=e),) for e in range(8) for o in (0, 1))
    ),
    "every last epoch around a log start": each(
        *((p("trimmed", n, o, last=e),) for e in range(8) for n, o in ((0, 3), (0, 4), (1, 6), (2, 9)))
    ),
    "last epoch, committed": each(
        *((p("txn", 0, 8, last=e),) for e in range(8)), isolation_level=COMMITTED
    ),
    "last epoch with a leader epoch too old": once(p("epochs", 0, 8, last=1, epoch=2), since=12),
    "last epoch with the leader epoch": once(p("epochs", 0, 8, last=1, epoch=NOW_EPOCH), since=12),
    "diverging among others": once(
        p("plain", 0), p("epochs", 0, 8, last=1), p("second", 0), p("plain", 1, 99), since=12
    ),
    "diverging, waiting": once(p("epochs", 0, 16, last=3), since=12, max_wait_ms=2000),
    "following every epoch": each(
        *(
            (p("epochs", 0, o, 1, last=e),)
            for o, e in ((0, 0), (2, 0), (6, 0), (6, 2), (9, 2), (12, 2), (12, 4))
        )
    ),
}  # fmt: skip

REPLICAS: dict[str, Situation] = {
    "debugging client": always(p("plain", 0), replica=-2),
    "debugging client at an open transaction": once(p("open", 0, 2), replica=-2, isolation_level=COMMITTED),
    "replica -3, committed": once(p("open", 0, 2), replica=-3, isolation_level=COMMITTED),
    "replica -4, committed": once(p("open", 0, 2), replica=-4, isolation_level=COMMITTED),
    "debugging client beyond the end": once(p("plain", 0, 99), replica=-2),
    "replica -3": once(p("plain", 0), replica=-3),
    "replica -4": once(p("plain", 0), replica=-4),
    "least replica": once(p("plain", 0), replica=-(2**31)),
    "the leader as a follower": always(p("plain", 0), replica=1),
    "an unknown follower": always(p("plain", 0), replica=5),
    "an unknown follower, many partitions": once(p("plain", 0), p("second", 0), p("plain", 9), replica=5),
    "an unknown follower, errors of all kinds": once(
        *(p("plain", 9), p("third", 0), p("nowhere", 0), p("plain", 0, 50), p("second", 7), p("plain", 1)),
        replica=5,
    ),
    "an unknown follower, unknown topic": once(p("nowhere", 0), replica=5),
    "an unknown follower, beyond the end": once(p("plain", 0, 99), replica=5),
    "an unknown follower with a leader epoch": once(p("plain", 0, epoch=NOW_EPOCH), replica=5, since=9),
    "an unknown follower with an old leader epoch": once(p("plain", 0, epoch=1), replica=5, since=9),
    "an unknown follower with a last epoch": once(p("epochs", 0, 8, last=1), replica=5, since=12),
    "an unknown follower, committed": once(p("open", 0), replica=5, isolation_level=COMMITTED),
    "an unknown follower with a broker epoch": once(p("plain", 0), replica=5, replica_epoch=7, since=15),
    "a consumer with a broker epoch": once(p("plain", 0), replica_epoch=7, since=15),
    "an unknown follower's log start": once(p("plain", 0, log_start_offset=3), replica=5, since=5),
    "an unknown follower waits": once(p("plain", 0, 21), replica=5, max_wait_ms=2000),
    "a consumer's log start": once(p("plain", 0, log_start_offset=3), since=5),
    "a consumer's log start beyond the end": once(p("plain", 0, log_start_offset=300), since=5),
    "a rack": once(p("plain", 0), rack_id="here", since=11),
    "a rack of many letters": once(p("plain", 0), rack_id="\u00e9" * 300, since=11),
    "a wrong cluster id": once(p("plain", 0), cluster_id="elsewhere", since=12),
    "an empty cluster id": once(p("plain", 0), cluster_id="", since=12),
    "a directory id": once(p("plain", 0, replica_directory_id=bytes(range(16))), since=17),
    "a high watermark of the client": once(p("plain", 0, 21, high_watermark=5), since=18),
    "a high watermark beyond": once(p("plain", 0, 21, high_watermark=5000), since=18),
}  # fmt: skip

SITUATIONS = OFFSETS | LIMITS | ISOLATION | ORDER | UNKNOWN | EPOCHS | REPLICAS

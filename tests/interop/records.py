"""The records that clients carry, and their comparison.

Made from a seed, so that producer and consumer may live in different processes; every shape a record
can have is there many times: null and empty keys and values, no headers, repeated header keys, null
and empty header values, text beyond ASCII, timestamps out of order.
"""

import functools
import random
from collections.abc import Sequence
from typing import NamedTuple

PARTITIONS = 2
FIRST_TIMESTAMP_MS = 1_700_000_000_000


class Record(NamedTuple):
    """One record without its offset."""

    partition: int
    timestamp_ms: int
    key: bytes | None
    value: bytes | None
    headers: tuple[tuple[str, bytes | None], ...]


class Consumed(NamedTuple):
    """One record as a consumer saw it."""

    offset: int
    record: Record


_WORDS = b"broker log offset epoch leader batch record segment index fetch produce replica topic".split()
_HEADER_KEYS = ("trace", "content-type", "Grüße", "x", "")


@functools.cache
def make_records(count: int, seed: int) -> tuple[Record, ...]:
    """Return `count` records for PARTITIONS partitions, always the same ones for a seed."""
    rng = random.Random(seed)
    return tuple(_make_record(rng, i) for i in range(count))


def _make_record(rng: random.Random, i: int) -> Record:
    return Record(
        partition=i % PARTITIONS,
        timestamp_ms=FIRST_TIMESTAMP_MS + i * 10 + rng.randrange(-500, 500),
        key=rng.choice((None, b"", b"key-%d" % (i % 97), rng.randbytes(8), b"k")),
        value=_make_value(rng, i),
        headers=_make_headers(rng),
    )


def _make_value(rng: random.Random, i: int) -> bytes | None:
    shape = rng.randrange(20)
    if shape == 0:
        return None
    if shape == 1:
        return b""
    if shape == 2:
        return rng.randbytes(rng.randrange(1, 2000))
    return b"%d %s" % (i, b" ".join(rng.choices(_WORDS, k=rng.randrange(1, 30))))


def _make_headers(rng: random.Random) -> tuple[tuple[str, bytes | None], ...]:
    if rng.randrange(2):
        return ()
    headers: list[tuple[str, bytes | None]] = []
    for _ in range(rng.randrange(1, 4)):
        headers.append((rng.choice(_HEADER_KEYS), rng.choice((None, b"", b"value", rng.randbytes(16)))))
    if rng.randrange(3) == 0:
        headers.append((headers[0][0], b"again"))
    return tuple(headers)


def compare(sent: Sequence[Record], consumed: Sequence[Consumed], *, ordered: bool = True) -> None:
    """Check that each partition holds exactly what was sent to it, from offset 0, without gaps.

    Raises:
        AssertionError: naming the first record that differs.
    """
    for partition in range(PARTITIONS):
        wanted = [record for record in sent if record.partition == partition]
        got = [seen for seen in consumed if seen.record.partition == partition]
        offsets = [seen.offset for seen in got]
        assert offsets == list(range(len(wanted))), (
            f"partition {partition}: {len(got)} records instead of {len(wanted)}, "
            f"offsets {offsets[:3]}..{offsets[-3:]}"
        )
        records = [seen.record for seen in got]
        if not ordered:
            wanted.sort(key=repr)
            records.sort(key=repr)
        for i, (want, have) in enumerate(zip(wanted, records, strict=True)):
            assert want == have, f"partition {partition}, record {i}:\n  sent     {want}\n  received {have}"

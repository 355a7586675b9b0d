"""What Apache Kafka's log cleaner made of random logs, kept in a file, and how ours is held against it.

A case is a log made by a seed and a few cleanings of it at different times, with maps that may be too small.
Everything must be the same bytes: segments, indexes, transaction indexes; only compressed batches may differ
in how they are compressed, and then in length, checksum and places.
"""

import base64
import json
import lzma
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import Any

from barnabas.protocol.compression import Codec
from barnabas.protocol.record_batch import iter_batches, records_section
from barnabas.storage.compaction.task import CleaningStatistics
from barnabas.storage.indexes.transaction_index import ENTRY
from tests.compaction_setup import DELETE_RETENTION_MS, NOW_MS, CompactedLog, LogMaker

GOLDEN = Path(__file__).parent / "compaction.json.xz"
GOLDEN_SEEDS = range(24)
ALL_CODECS = (Codec.NONE, Codec.GZIP, Codec.SNAPPY, Codec.LZ4, Codec.ZSTD)

Files = dict[str, bytes]
"""Content by file name."""


@dataclass
class Cleaning:
    """One cleaning of a case, and how it ended.

    Attributes:
        counts: bytesRead, bytesWritten, mapMessagesRead, messagesRead, invalidMessagesRead, messagesWritten.
        files: all segments but the active one, with their indexes.
    """

    now_ms: int
    map_entries: int
    cleaned_to: int = 0
    counts: tuple[int, ...] = ()
    files: Files | None = None


@dataclass
class Case:
    """One log and its cleanings; the last segment is the active one."""

    seed: int
    segments: list[tuple[int, bytes]]
    cleanings: list[Cleaning]
    high_watermark: int
    segment_bytes: int
    index_interval_bytes: int
    io_buffer_bytes: int
    is_compressed: bool
    producers: list[tuple[int, int, int]]

    @property
    def first_uncleanable_offset(self) -> int:
        return self.segments[-1][0]


def make_case(seed: int) -> Case:
    """Return a case without its outcome."""
    random = Random(f"case {seed}")
    is_compressed = random.random() < 0.3
    maker = LogMaker(
        seed, segments=random.randrange(2, 6), keys=random.choice((3, 12, 60)), keyless=random.random() < 0.2,
        codecs=ALL_CODECS if is_compressed else (Codec.NONE,),
    )  # fmt: skip
    segments = maker.make()
    high_watermark = maker.next_offset
    if random.random() < 0.3:
        segments[-1] = (segments[-1][0], b"")
        high_watermark = segments[-1][0]
    now_ms = NOW_MS
    cleanings = []
    for _ in range(4):
        cleanings.append(Cleaning(now_ms, random.choice((3, 8, 1000, 1000))))
        now_ms += random.choice((0, DELETE_RETENTION_MS - 1, DELETE_RETENTION_MS, 10 * DELETE_RETENTION_MS))
    return Case(
        seed, segments, cleanings, high_watermark,
        segment_bytes=random.choice((3000, 10_000, 1 << 20)),
        index_interval_bytes=random.choice((0, 300, 4096)),
        io_buffer_bytes=random.choice((4096, 1 << 16)),
        is_compressed=is_compressed,
        producers=[],
    )  # fmt: skip


def clean_here(case: Case) -> Case:
    """Return the case as our cleaner ends it."""
    log = CompactedLog(case.segments, index_interval_bytes=case.index_interval_bytes)
    producers = log.active_producers()
    done = Case(**{**vars(case), "cleanings": [], "producers": sorted(map(tuple, producers))})
    first_dirty = case.segments[0][0]
    for cleaning in case.cleanings:
        result = log.clean(
            now_ms=cleaning.now_ms, dedupe_buffer_bytes=24 * cleaning.map_entries, dedupe_load_factor=1.0,
            first_dirty_offset=first_dirty, high_watermark=case.high_watermark, active_producers=producers,
            segment_bytes=case.segment_bytes, index_interval_bytes=case.index_interval_bytes,
            io_buffer_bytes=case.io_buffer_bytes, first_uncleanable_offset=case.first_uncleanable_offset,
        )  # fmt: skip
        first_dirty = next_dirty(case, result.cleaned_to_offset)
        files = {
            f"{base:020d}{suffix}": log.content(base, suffix)
            for base in log.bases[:-1]
            for suffix in (".log", ".index", ".timeindex", ".txnindex")
        }
        done.cleanings.append(
            Cleaning(
                cleaning.now_ms,
                cleaning.map_entries,
                result.cleaned_to_offset,
                _counts(result.statistics),
                files,
            )
        )
    return done


def next_dirty(case: Case, cleaned_to: int) -> int:
    """Return where the next cleaning begins: when all is clean, over again."""
    return cleaned_to if cleaned_to < case.first_uncleanable_offset else case.segments[0][0]


def _counts(statistics: CleaningStatistics) -> tuple[int, ...]:
    return (
        statistics.bytes_read,
        statistics.bytes_written,
        statistics.map_records_read,
        statistics.records_read,
        statistics.invalid_records,
        statistics.records_written,
    )


def _canonical(content: bytes) -> list[tuple[Any, ...]]:
    """Batches with their records unpacked, without what depends on how they are compressed."""
    batches = []
    for position, header in iter_batches(content):
        section = bytes(records_section(content, position, header)) if header.records_count else b""
        batches.append((header._replace(crc=0, batch_length=0), section))
    return batches


def assert_same(ours: Case, theirs: Case) -> None:
    """Fail where our cleaner ended a case differently from Apache Kafka's."""
    assert ours.producers == theirs.producers
    starts = case_start = ours.segments[0][0]
    for number, (our, their) in enumerate(zip(ours.cleanings, theirs.cleanings, strict=True)):
        where = f"seed {ours.seed}, cleaning {number}"
        if number and _may_take_for_aborted(theirs.cleanings[number - 1], starts):
            return
        assert our.files is not None
        assert their.files is not None
        assert our.cleaned_to == their.cleaned_to, where
        for name, content in their.files.items():
            found = our.files.get(name, b"")
            if name.endswith(".log"):
                assert _canonical(found) == _canonical(content), f"{where}, {name}"
            if not ours.is_compressed or name.endswith(".txnindex"):
                assert found == content, f"{where}, {name}"
        names = {name for name, content in our.files.items() if content or name.endswith(".log")}
        assert names <= set(their.files), where
        if not ours.is_compressed:
            assert our.counts[0:2] == their.counts[0:2], where
        if starts == case_start:
            assert our.counts[2] == their.counts[2], where
        assert our.counts[3:] == their.counts[3:], where
        starts = next_dirty(ours, our.cleaned_to)


def _may_take_for_aborted(before: Cleaning, starts: int) -> bool:
    """Whether Apache Kafka may take transactions for aborted when the next cleaning begins at `starts`.

    It asks for the aborted transactions of the segment that holds the first dirty offset from the log's start
    on, but reads the segment only from an index entry before that offset: a marker further ahead is not met,
    and the producer's next transaction seems to be aborted, too. Its records then supersede nothing; they
    and what is older stay until a later cleaning. Ours supersede.
    """
    files = before.files or {}
    bases = [int(name[:20]) for name in files if name.endswith(".log") and int(name[:20]) <= starts]
    entries = ENTRY.iter_unpack(files.get(f"{max(bases, default=0):020d}.txnindex", b""))
    return any(last_offset < starts for _, _, _, last_offset, _ in entries)


# The file ------------------------------------------------------------------------------------------


def save(cases: list[Case]) -> None:
    """Write cases with their outcome."""
    with lzma.open(GOLDEN, "wt", preset=9) as file:
        json.dump([vars(case) for case in cases], file, default=_plain)


def _plain(value: Any) -> Any:
    if isinstance(value, bytes):
        return base64.b64encode(value).decode()
    return vars(value)


def _bytes(text: str) -> bytes:
    return base64.b64decode(text)


def load() -> list[Case]:
    """Read what `save` wrote."""
    with lzma.open(GOLDEN, "rt") as file:
        values = json.load(file)
    cases = []
    for value in values:
        value["segments"] = [(base, _bytes(content)) for base, content in value["segments"]]
        value["producers"] = [tuple(producer) for producer in value["producers"]]
        value["cleanings"] = [
            Cleaning(
                **{
                    **cleaning,
                    "counts": tuple(cleaning["counts"]),
                    "files": {name: _bytes(content) for name, content in cleaning["files"].items()},
                }
            )
            for cleaning in value["cleanings"]
        ]
        cases.append(Case(**value))
    return cases

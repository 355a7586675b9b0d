"""Cleaned segments replace those of a live log: reads go on, a crash at any step leaves a log that opens."""

import random
from collections.abc import Callable, Iterator, Sequence

import pytest

from barnabas.base.dataclass import replace
from barnabas.base.errors import ApiError
from barnabas.protocol.record_batch import iter_batches
from barnabas.protocol.record_batch_builder import BatchBuilder
from barnabas.storage.compaction.cleaning import InProcessCleaning
from barnabas.storage.compaction.task import CleanedGroup
from barnabas.storage.log import Log
from barnabas.storage.log_cleaner.config import CleanerConfig
from barnabas.storage.log_cleaner.selection import measure
from barnabas.storage.log_cleaner.task import make_task
from barnabas.storage.log_config import LogConfig
from barnabas.storage.retention import RetentionRules, delete_expired
from tests.storage_setup import FIRST_TIMESTAMP, LogHarness

CONFIG = LogConfig(cleanup_policy=frozenset({"compact"}), segment_bytes=500, index_interval_bytes=100)
MERGING = LogConfig(cleanup_policy=frozenset({"compact"}), segment_bytes=1300, index_interval_bytes=100)
"""With it two or three segments of the other become one."""


def keyed(key: int, value: int) -> bytes:
    builder = BatchBuilder()
    builder.append(timestamp=FIRST_TIMESTAMP + value, key=b"key-%d" % key, value=b"value-%d" % value)
    return bytes(builder.build())


def append(log: Log, records: Sequence[tuple[int, int]]) -> None:
    for key, value in records:
        log.append([keyed(key, value)], leader_epoch=0)


def offsets(log: Log, start: int | None = None) -> list[int]:
    """Read as a consumer does, to the end; return the offsets of all records."""
    found, offset = [], log.log_start_offset if start is None else start
    while True:
        data = log.read(offset, log.log_end_offset_metadata, 10_000)
        if data.records is None:
            return found
        content = data.records.read()
        data.records.release()
        for _, header in iter_batches(content):
            found.append(header.base_offset)
            offset = header.next_offset


def clean(harness: LogHarness, log: Log) -> tuple[CleanedGroup, ...]:
    """Make the `.cleaned` files of all that is sealed."""
    log.flush()
    found = measure(log, None, log.log_end_offset, harness.clock.wall_ms())
    task = make_task(log, found, CleanerConfig(), now_ms=harness.clock.wall_ms(), hash_seed=1)
    result = InProcessCleaning(task, harness.disk, harness.clock, lambda _: None).run()
    assert result.failure is None
    assert result.groups
    return result.groups


def swap(log: Log, groups: Sequence[CleanedGroup]) -> None:
    """Go through all steps of a replacement."""
    for _ in steps(log, groups):
        pass


def steps(log: Log, groups: Sequence[CleanedGroup]) -> Iterator[None]:
    """Yield before each sync."""
    replacement = log.replace_segments(groups)
    while log.step_replacement():
        yield
        replacement.run()
        replacement.synced()


class Claim:
    ended = 0

    def end(self) -> None:
        self.ended += 1


@pytest.fixture
def harness() -> LogHarness:
    return LogHarness(config=CONFIG)


@pytest.fixture
def log(harness: LogHarness) -> Log:
    return filled(harness)


def filled(harness: LogHarness) -> Log:
    made = harness.open()
    append(made, [(number % 3, number) for number in range(40)])
    assert len(made.segments) > 5
    made.config = MERGING
    return made


LAST_OF_EACH = 3
"""Records that stay: one of each key."""


def test_what_was_superseded_is_gone_and_the_rest_is_read_across_the_gaps(
    harness: LogHarness, log: Log
) -> None:
    active = log.segments.active.base_offset
    groups = clean(harness, log)
    swap(log, groups)
    left = offsets(log)
    assert left == [*range(active - LAST_OF_EACH, 40)]
    for start in range(40):
        assert offsets(log, start) == [offset for offset in left if offset >= start], "F18"
    assert log.log_start_offset == 0
    assert log.segments.base_offsets[0] == 0
    append(log, [(9, 40)])
    assert offsets(log)[-1] == 40


def test_only_the_files_of_what_is_there_are_left(harness: LogHarness, log: Log) -> None:
    swap(log, clean(harness, log))
    names = [name for name in harness.names() if not name.endswith(".deleted")]
    logs = [int(name[:20]) for name in names if name.endswith(".log")]
    assert logs == log.segments.base_offsets
    assert not [name for name in names if name.endswith((".cleaned", ".swap"))]
    for segment in log.segments:
        assert harness.disk.size(segment.path(".log")) == segment.size


def test_snapshots_of_segments_that_are_gone_go_with_them(harness: LogHarness, log: Log) -> None:
    before = log.producers.snapshot_offsets
    bases = list(log.segments.base_offsets)
    assert before == set(bases[1:])
    swap(log, clean(harness, log))
    assert log.producers.snapshot_offsets == set(log.segments.base_offsets[1:])
    assert len(log.segments) < len(bases)


def test_f22_a_slice_in_flight_survives_the_swap(harness: LogHarness, log: Log) -> None:
    taken = log.read(0, log.log_end_offset_metadata, 10_000).records
    assert taken is not None
    before = taken.read()
    swap(log, clean(harness, log))
    harness.deletions.run(harness.clock.monotonic_ms() + 10**9)
    assert taken.read() == before
    taken.release()


def test_places_of_replaced_segments_are_not_trusted_any_more(harness: LogHarness, log: Log) -> None:
    assert log.places_from == 0
    active = log.segments.active.base_offset
    groups = clean(harness, log)
    swap(log, groups)
    assert log.places_from == active


def test_readers_are_told_of_the_swap(harness: LogHarness, log: Log) -> None:
    told = []

    class Watcher:
        def changed(self) -> None:
            told.append(True)

    groups = clean(harness, log)
    log.watch.add(Watcher())
    swap(log, groups)
    assert told


def test_a_replaced_log_opens_after_a_crash_and_after_a_clean_stop(harness: LogHarness, log: Log) -> None:
    swap(log, clean(harness, log))
    left, bases = offsets(log), list(log.segments.base_offsets)
    again = harness.open(recovery_point=log.recovery_point)
    assert (offsets(again), again.segments.base_offsets) == (left, bases)
    again.close()
    cleanly = harness.open(clean=True)
    assert (offsets(cleanly), cleanly.log_end_offset) == (left, 40)


def test_a_change_of_policy_after_compaction_makes_no_hole_of_a_gap(harness: LogHarness, log: Log) -> None:
    """What is cleaned is synced, so a start does not look for losses there."""
    swap(log, clean(harness, log))
    left = offsets(log)
    harness.config = LogConfig(segment_bytes=500)
    again = harness.open(recovery_point=log.recovery_point)
    assert offsets(again) == left


def test_an_empty_new_segment_keeps_its_place(harness: LogHarness) -> None:
    log = harness.open()
    append(log, [(0, number) for number in range(40)])
    swap(log, clean(harness, log))
    first = log.segments.first
    assert (log.log_start_offset, first.base_offset) == (0, 0)
    assert offsets(log, 0)[0] == offsets(log)[0] > 0
    again = harness.open(recovery_point=log.recovery_point)
    assert again.log_start_offset == 0
    assert offsets(again) == offsets(log)


def test_retention_goes_on_behind_an_empty_new_segment(harness: LogHarness) -> None:
    log = harness.open()
    append(log, [(0, number) for number in range(40)])
    swap(log, clean(harness, log))
    assert log.segments.first.size == 0
    log.config = replace(log.config, cleanup_policy=frozenset({"compact", "delete"}), retention_ms=1_000)
    active = log.segments.active.base_offset
    rules = RetentionRules(now_ms=FIRST_TIMESTAMP + 10_000)
    assert delete_expired(log, active, rules) > 1
    assert log.log_start_offset == active


# Others change the log meanwhile ---------------------------------------------------------------


CUTS: list[Callable[[Log], object]] = [
    lambda log: log.truncate_to(10),
    lambda log: log.truncate_fully(50),
    lambda log: log.move_directory("/data/t-0.x-delete"),
]


@pytest.mark.parametrize("cut", CUTS)
@pytest.mark.parametrize("taken", [0, 1, 2])
def test_whoever_cuts_or_moves_the_log_ends_the_cleaning(
    harness: LogHarness, log: Log, cut: Callable[[Log], object], taken: int
) -> None:
    groups = clean(harness, log)
    claim = Claim()
    log.cleaning = claim
    way = steps(log, groups)
    for _ in range(taken):
        next(way)
    cut(log)
    assert claim.ended == 1
    assert log.cleaning is None
    names = [name for name in harness.disk.list_dir(log.path) if ".deleted" not in name]
    assert not taken or not [name for name in names if name.endswith((".swap", ".cleaned"))]
    assert [int(name[:20]) for name in names if name.endswith(".log")] == log.segments.base_offsets


def test_a_truncation_is_not_undone_by_a_swap_that_a_start_completes(harness: LogHarness, log: Log) -> None:
    for seed in range(30):
        harness = LogHarness(config=CONFIG)
        log = filled(harness)
        groups = clean(harness, log)
        way = steps(log, groups)
        next(way)
        harness.disk.sync_dir(log.path)
        harness.disk.sync_dir("/")
        log.truncate_to(10)
        append(log, [(7, 100), (8, 101)])
        log.flush()
        harness.disk.crash(random.Random(seed))
        harness.restart()
        again = harness.open(recovery_point=10)
        assert offsets(again) == [*range(12)], seed


def test_segments_below_the_start_stay_until_the_cleaning_is_over(harness: LogHarness, log: Log) -> None:
    groups = clean(harness, log)
    log.cleaning = Claim()
    bases = list(log.segments.base_offsets)
    log.advance_log_start(20)
    assert (log.log_start_offset, log.segments.base_offsets) == (20, bases)
    swap(log, groups)
    assert log.delete_segments_before_start() == 0
    log.cleaning = None
    assert log.delete_segments_before_start() > 0
    assert log.segments.first.base_offset <= 20 == log.log_start_offset


def test_what_is_not_there_side_by_side_is_not_replaced(harness: LogHarness, log: Log) -> None:
    bases = log.segments.base_offsets
    for replaced in ([1], [bases[0], bases[2]], [bases[-1]], []):
        with pytest.raises(ValueError, match="no sealed segments"):
            log.replace_segments([CleanedGroup(replaced[0] if replaced else 0, 0, tuple(replaced), -1, 0, 0)])


def test_a_disk_that_refuses_takes_the_directory_offline(harness: LogHarness, log: Log) -> None:
    groups = clean(harness, log)
    log.replace_segments(groups)

    def refuse(what: str, path: str) -> None:
        if what == "rename":
            raise OSError(5, "input/output error", path)

    harness.disk.on_operation = refuse
    with pytest.raises(ApiError, match="replacing segments"):
        log.step_replacement()
    assert not harness.directory.online
    log.end_cleaning()


# Crashes ---------------------------------------------------------------------------------------


class _PowerLossError(Exception):
    """The power went."""


def ways_in_between(
    groups: Sequence[CleanedGroup], whole: list[int], compacted: list[int]
) -> list[list[int]]:
    """Return what may be read: new segments up to some old one's base, and the old ones from there on."""
    ends = [base_offset for group in groups for base_offset in group.replaced]
    return [compacted, *([o for o in whole if o in compacted or o >= end] for end in ends)]


def crash_at(operation: int, seed: int, *, keep_all: bool) -> tuple[list[int], list[int], bool]:
    """Let the power go before the n-th operation of a replacement; return what may and what must be read."""
    harness = LogHarness(config=CONFIG)
    log = filled(harness)
    active = log.segments.active.base_offset
    groups = clean(harness, log)
    count = 0

    def note(what: str, path: str) -> None:
        nonlocal count
        if what in {"rename", "unlink", "sync_dir", "sync", "write", "truncate"}:
            count += 1
            if count > operation:
                raise _PowerLossError

    harness.disk.sync_dir("/")
    harness.disk.on_operation = note
    ended = False
    try:
        swap(log, groups)
        ended = True
    except _PowerLossError:
        pass
    harness.disk.on_operation = None
    harness.disk.crash(random.Random(seed), keep_all=keep_all)
    harness.restart()
    again = harness.open(recovery_point=log.recovery_point)
    found = offsets(again)
    whole, compacted = [*range(40)], [*range(active - LAST_OF_EACH, 40)]
    assert found in ways_in_between(groups, whole, compacted), (operation, seed)
    assert again.log_end_offset == 40
    assert again.log_start_offset == 0
    harness.deletions.run(harness.clock.monotonic_ms() + 10**9)  # what a start unlinks behind itself
    leftover = [n for n in harness.names() if n.endswith((".cleaned", ".swap", ".deleted"))]
    assert not leftover, (operation, seed)
    append(again, [(5, 200)])
    assert offsets(again) == [*found, 40]
    # A second start finds what the first one left.
    again.flush()
    twice = harness.open(recovery_point=0)
    assert offsets(twice) == [*found, 40], (operation, seed)
    return found, compacted, ended


@pytest.mark.parametrize("keep_all", [True, False], ids=["kill", "power"])
def test_a_crash_before_any_operation_leaves_the_old_or_the_new_segments(keep_all: bool) -> None:
    outcomes = set()
    for operation in range(200):
        ended = False
        for seed in range(1 if keep_all else 6):
            found, compacted, ended = crash_at(operation, seed, keep_all=keep_all)
            outcomes.add(found == compacted)
        if ended:
            break
    else:
        pytest.fail("a replacement has more operations than that?")
    assert outcomes == {True, False}

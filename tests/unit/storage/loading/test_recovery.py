"""Opening a log: what a clean stop spares, what a crash makes anew, what is cut, what is left alone."""

import random
import zlib

import pytest

from barnabas.storage.loading.recovery import OpenResult
from barnabas.storage.loading.segment_check import UnsupportedLogError
from barnabas.storage.log import Log
from barnabas.storage.log_config import LogConfig
from tests.storage_setup import FIRST_TIMESTAMP, TOPIC_ID, LogHarness, batch

SIZE = len(batch())
CONFIG = LogConfig(segment_bytes=4 * SIZE, index_interval_bytes=0, retention_ms=-1)


def filled(batches: int = 10, config: LogConfig = CONFIG) -> tuple[LogHarness, Log]:
    harness = LogHarness(config=config)
    log = harness.open()
    for number in range(batches):
        log.append([batch(timestamp=FIRST_TIMESTAMP + number)], leader_epoch=number // 4)
    return harness, log


def killed(harness: LogHarness, log: Log, **options: int) -> OpenResult:
    log.abandon()
    return harness.open_result(**options)


def name(offset: int, suffix: str = "log") -> str:
    return f"{offset:020d}.{suffix}"


def damage(harness: LogHarness, file_name: str, position: int, content: bytes) -> None:
    harness.disk.open(f"{harness.path}/{file_name}").write_at(position, [content])


def test_a_clean_start_reads_no_batch_but_the_tail() -> None:
    harness, log = filled()
    log.close()
    read: list[str] = []
    harness.disk.on_operation = lambda what, path: read.append(path[-30:]) if what == "read" else None
    log = harness.open(clean=True)
    assert (log.log_end_offset, log.recovery_point) == (10, 10)
    assert {path for path in read if path.endswith(".log")} == {f"data/t-0/{name(8)}"[-30:]}


def test_only_what_lies_behind_the_recovery_point_is_checked() -> None:
    harness, log = filled()
    result = killed(harness, log, recovery_point=6)
    assert result.checked_bytes == 6 * SIZE
    assert killed(harness, result.log).checked_bytes == 10 * SIZE


@pytest.mark.parametrize("position", [0, 8, 16, 17, 23, 60, SIZE - 1])
def test_a_bad_batch_ends_the_log_and_later_segments_go(position: int) -> None:
    harness, log = filled()
    damage(harness, name(4), SIZE + position, b"\x7f")
    result = killed(harness, log)
    assert result.log.log_end_offset == 5
    assert result.log.segments.base_offsets == [0, 4]
    assert result.truncated_bytes == 3 * SIZE + 2 * SIZE
    assert result.log.leader_epochs.entries == [(0, 0), (1, 4)]
    assert not [n for n in harness.names() if n.startswith(f"{8:020d}") and not n.endswith("snapshot")]
    assert result.log.append([batch()], leader_epoch=7).first_offset == 5


@pytest.mark.parametrize("garbage", [b"\0", bytes(100), b"\xff" * 100, batch()[:40]])
def test_bytes_behind_the_last_batch_are_cut(garbage: bytes) -> None:
    harness, log = filled()
    damage(harness, name(8), 2 * SIZE, garbage)
    result = killed(harness, log)
    assert result.log.log_end_offset == 10
    assert result.truncated_bytes == len(garbage)
    assert len(harness.content(name(8))) == 2 * SIZE


def test_offsets_must_ascend_and_stay_below_the_next_segment() -> None:
    harness, log = filled()
    for base_offset in (3, 12):
        damage(harness, name(4), SIZE, base_offset.to_bytes(8, "big"))
        result = killed(harness, log)
        log = result.log
        assert log.log_end_offset == 5
        for _ in range(5):
            log.append([batch()], leader_epoch=1)


def told_of_cut(caplog: pytest.LogCaptureFixture) -> str:
    """Return the warning about what was cut off."""
    (told,) = [r.getMessage() for r in caplog.records if "cut off" in r.getMessage()]
    return told


@pytest.mark.parametrize(
    ("position", "content", "words"),
    [
        (2 * SIZE, bytes(5000), "zeros at byte"),
        (2 * SIZE, batch()[:-1], "a batch that claims"),
        (2 * SIZE, batch()[:15], "less than a batch header"),
        (2 * SIZE, b"\x01" * 100, "no batch header"),
        (SIZE, bytes(4096), "zeros at byte"),
        (SIZE + 30, b"\x7f", "a wrong checksum"),
        (SIZE, (7).to_bytes(8, "big"), "offset 7 where 9 is the lowest that fits"),
        (SIZE + 8, (2**31 - 1).to_bytes(4, "big"), "claims 2147483659 bytes"),
        (SIZE + 8, (-1).to_bytes(4, "big", signed=True), "no batch header"),
        (SIZE + 23, (-1).to_bytes(4, "big", signed=True), "a last offset delta of -1"),
    ],
)
def test_damage_is_told_with_its_file_its_place_and_what_is_lost(
    caplog: pytest.LogCaptureFixture, position: int, content: bytes, words: str
) -> None:
    harness, log = filled()  # 8 and 9 lie in the last segment
    damage(harness, name(8), position, content)
    size = len(harness.content(name(8)))
    result = killed(harness, log)
    good = position // SIZE * SIZE
    assert result.log.log_end_offset == 8 + good // SIZE
    assert len(harness.content(name(8))) == good
    told = told_of_cut(caplog)
    assert words in told
    assert f"at byte {good} of /data/t-0/{name(8)}: the log ends at offset {8 + good // SIZE};" in told
    assert f"{size - good} bytes of that segment are cut off" in told
    assert result.truncated_bytes == size - good


def test_a_batch_that_reaches_into_the_next_segment_is_none(caplog: pytest.LogCaptureFixture) -> None:
    harness, log = filled()
    damage(harness, name(4), 3 * SIZE, (8).to_bytes(8, "big"))
    assert killed(harness, log).log.log_end_offset == 7
    told = told_of_cut(caplog)
    assert "a batch up to offset 8, where 7 is the last that fits" in told
    assert f"and all of segment 8 ({2 * SIZE} bytes)" in told


def test_a_preallocated_file_is_cut_to_its_batches() -> None:
    harness, log = filled()
    harness.disk.open(f"{harness.path}/{name(8)}").truncate(4 * SIZE)  # as Kafka's preallocate=true leaves it
    log = killed(harness, log).log
    assert (log.log_end_offset, len(harness.content(name(8)))) == (10, 2 * SIZE)
    assert log.append([batch()], leader_epoch=9).first_offset == 10


@pytest.mark.parametrize("batches", [0, 3, 4, 6])
def test_what_a_kill_leaves_of_preallocated_segments_is_cut(batches: int) -> None:
    config = LogConfig(segment_bytes=4 * SIZE, index_interval_bytes=0, retention_ms=-1, preallocate=True)
    harness, log = filled(batches, config)
    harness.disk.crash(random.Random(0), keep_all=True)
    harness.restart()
    log = harness.open()
    active = max(batches - 1, 0) // 4 * 4
    assert (log.log_end_offset, log.segments.base_offsets[-1]) == (batches, active)
    assert len(harness.content(name(active))) == (batches - active) * SIZE
    assert log.append([batch()], leader_epoch=9).first_offset == batches


def test_a_hole_between_segments_ends_the_log(caplog: pytest.LogCaptureFixture) -> None:
    harness, log = filled()
    for suffix in ("log", "index", "timeindex"):
        harness.disk.unlink(f"{harness.path}/{name(4, suffix)}")
    assert killed(harness, log).log.log_end_offset == 4
    assert "the segment ends before the next one's offset 8" in told_of_cut(caplog)


def test_an_old_segment_that_was_synced_is_not_looked_at() -> None:
    harness, log = filled()
    damage(harness, name(0), SIZE + 30, b"\x7f")
    result = killed(harness, log, recovery_point=8)
    assert (result.log.log_end_offset, result.checked_bytes) == (10, 2 * SIZE)


@pytest.mark.parametrize("suffix", ["index", "timeindex"])
@pytest.mark.parametrize("manner", ["longer", "shorter", "garbage", "zeros", "empty"])
@pytest.mark.parametrize("synced", [True, False])
def test_an_index_that_lies_misleads_nobody(suffix: str, manner: str, synced: bool) -> None:
    harness, log = filled()
    log.close()
    path = f"{harness.path}/{name(4, suffix)}"
    whole = harness.content(name(4, suffix))
    file = harness.disk.open(path)
    match manner:
        case "longer":
            file.truncate(1000)
        case "shorter":
            file.truncate(len(whole) - 5)
        case "garbage":
            file.write_at(0, [b"\x55" * len(whole)])
        case "zeros":
            file.write_at(0, [bytes(len(whole))])
        case "empty":
            file.truncate(0)
    log = harness.open(clean=synced, recovery_point=10 if synced else 0)
    for offset in range(10):
        found = log.read(offset, log.log_end_offset_metadata, SIZE)
        assert found.records is not None
        assert found.offset_metadata.message_offset == offset
        assert found.records.length == SIZE
    if not synced:
        assert harness.content(name(4, suffix)) == whole


def test_a_lost_end_of_a_segment_ends_the_log_unless_it_is_compacted() -> None:
    for policy, end in (("delete", 7), ("compact", 10)):
        harness, log = filled(config=LogConfig(
            segment_bytes=4 * SIZE, retention_ms=-1, cleanup_policy=frozenset({policy})))  # fmt: skip
        harness.disk.open(f"{harness.path}/{name(4)}").truncate(3 * SIZE)
        assert killed(harness, log).log.log_end_offset == end


@pytest.mark.parametrize("clean", [True, False])
@pytest.mark.parametrize("suffix", ["index", "timeindex"])
def test_a_missing_index_is_made_anew(clean: bool, suffix: str) -> None:
    harness, log = filled()
    log.close()
    whole = harness.content(name(4, suffix))
    harness.disk.unlink(f"{harness.path}/{name(4, suffix)}")
    log = harness.open(clean=clean, recovery_point=10)
    assert harness.content(name(4, suffix)) == whole


def test_leftovers_of_deletions_and_compactions() -> None:
    harness, log = filled()
    log.close()

    def put(file_name: str, content: bytes = b"") -> None:
        harness.disk.open(f"{harness.path}/{file_name}", create=True).write_at(0, [content])

    cleaned = harness.content(name(0)) + harness.content(name(4))
    put(name(0) + ".deleted")
    put(name(0) + ".swap", cleaned)  # replaces the segments 0 and 4
    put(name(0, "index") + ".swap")
    put(name(0, "timeindex") + ".swap")
    put(name(8) + ".cleaned")
    put(name(8) + ".swap", b"not complete: a .cleaned at or below it exists")
    put(name(99, "index"))
    log = harness.open(clean=True)
    assert name(0) + ".deleted" in harness.names(), "unlinking a gigabyte must not hold up a start"
    harness.deletions.run(harness.clock.monotonic_ms())
    assert log.segments.base_offsets == [0, 8]
    assert log.log_end_offset == 10
    left = [n for n in harness.names() if n.endswith((".deleted", ".cleaned", ".swap"))]
    assert not left
    assert name(99, "index") not in harness.names()
    assert log.read(7, log.log_end_offset_metadata, 10).offset_metadata == (7, 0, 7 * SIZE)


def test_a_log_that_ends_before_its_start_begins_there() -> None:
    harness, log = filled()
    log.abandon()
    log = harness.open(log_start_offset=50)
    assert (log.log_start_offset, log.log_end_offset) == (50, 50)
    assert log.append([batch()], leader_epoch=0).first_offset == 50


@pytest.mark.parametrize("content", [b"", b"0\n9\n", b"nonsense"])
def test_damaged_leader_epochs_are_made_anew_from_the_batches(content: bytes) -> None:
    harness, log = filled()
    log.close()
    file = harness.disk.open(f"{harness.path}/leader-epoch-checkpoint")
    file.truncate(0)
    file.write_at(0, [content])
    assert harness.open(clean=True).leader_epochs.entries == [(0, 0), (1, 4), (2, 8)]


def test_a_large_batch_is_checked_in_one_piece_and_a_lying_length_allocates_nothing() -> None:
    harness = LogHarness()
    log = harness.open()
    log.append([batch(value_bytes=3 * 1024 * 1024)], leader_epoch=0)
    log.append([batch()], leader_epoch=0)
    assert killed(harness, log).log.log_end_offset == 2
    damage(harness, name(0), 8, (2**31 - 1).to_bytes(4, "big"))
    assert harness.open().log_end_offset == 0


def test_old_message_formats_stop_the_opening_and_nothing_is_touched() -> None:
    harness, log = filled(2)
    log.close()
    before = {n: harness.content(n) for n in harness.names()}
    damage(harness, name(0), 2 * SIZE, _old_message())
    with pytest.raises(UnsupportedLogError, match="message format 1"):
        harness.open()
    after = {n: harness.content(n) for n in harness.names()}
    assert {n for n in after if after[n] != before.get(n)} == {name(0)}


def _old_message() -> bytes:
    body = bytes((1, 0)) + bytes(8) + b"\xff\xff\xff\xff" + b"\0\0\0\x01x"
    head = (2).to_bytes(8, "big") + (4 + len(body)).to_bytes(4, "big") + zlib.crc32(body).to_bytes(4, "big")
    return head + body


@pytest.mark.parametrize("content", [b"\0" * 40, b"version: 0\ntopic_id: AAEC", b"version: ", b"v"])
def test_a_torn_topic_id_is_no_loss_for_an_empty_log_and_damage_of_any_other(content: bytes) -> None:
    """A clean stop writes it unsynced for logs without records, and then the power goes."""
    harness = LogHarness(config=CONFIG)
    harness.open(topic_id=TOPIC_ID).abandon()
    harness.disk.open(f"{harness.path}/partition.metadata", create=True).write_at(0, [content])
    log = harness.open(topic_id=TOPIC_ID, clean=True)
    assert log.topic_id == TOPIC_ID
    log.append([batch()], leader_epoch=0)
    log.abandon()
    assert harness.open().topic_id == TOPIC_ID
    damage(harness, "partition.metadata", 0, content.ljust(60, b"\0"))
    with pytest.raises(UnsupportedLogError, match="names no topic id"):
        harness.open()


@pytest.mark.parametrize("deleted_to", [4, 5, 8])
def test_a_producer_whose_records_were_deleted_is_known_after_a_crash(deleted_to: int) -> None:
    """Or what it sends again would be there a second time, for whoever had read the first."""
    harness = LogHarness(config=CONFIG)
    log = harness.open()
    for number in range(10):
        producer_id = 7 if number < 4 else 8
        log.append(
            [batch(producer_id=producer_id, producer_epoch=0, base_sequence=number % 4 + number // 8 * 4)],
            leader_epoch=0,
        )
    log.delete_records(deleted_to, 10)
    for _ in range(3):
        log = killed(harness, log, log_start_offset=deleted_to).log
        assert log.producers.producers[7].last_sequence == 3
        assert log.producers.producers[8].last_sequence == 5
    log.close()
    log = harness.open(clean=True, log_start_offset=deleted_to)
    assert set(killed(harness, log, log_start_offset=deleted_to).log.producers.producers) == {7, 8}


@pytest.mark.parametrize("seed", range(8))
def test_what_tells_of_producers_without_records_is_synced(seed: int) -> None:
    """The segment that told of them was deleted before its flush, which would have synced the snapshot."""
    harness = LogHarness(config=CONFIG)
    harness.disk.sync_dir("/")
    log = harness.open()
    for number in range(6):
        producer_id = 7 if number < 4 else 8
        log.append(
            [batch(producer_id=producer_id, producer_epoch=0, base_sequence=number % 4)], leader_epoch=0
        )
    log.delete_records(4, 6)
    log.flush()
    log.abandon()
    harness.disk.crash(random.Random(seed))
    assert set(harness.open(recovery_point=6, log_start_offset=4).producers.producers) == {7, 8}


def test_a_second_crash_right_after_a_recovery_finds_the_same_producers() -> None:
    """Of a producer whose records are deleted only a snapshot tells, and that may be an old one."""
    harness = LogHarness(config=LogConfig(segment_bytes=1000, retention_ms=-1))
    log = harness.open()
    for producer_id in (1, 2):
        log.append([batch(producer_id=producer_id, producer_epoch=0, base_sequence=0)], leader_epoch=0)
    log.producers.take_snapshot()
    log.append([batch(producer_id=2, producer_epoch=0, base_sequence=1)], leader_epoch=0)
    log.roll()
    log.append([batch(producer_id=2, producer_epoch=0, base_sequence=2)], leader_epoch=0)
    log.abandon()
    for name in harness.names():
        if name.startswith("00000000000000000000."):
            harness.disk.unlink(f"{harness.path}/{name}")
    torn = harness.disk.open(f"{harness.path}/00000000000000000003.snapshot")
    torn.truncate(0)
    torn.close()
    for _ in range(2):
        again = harness.open()
        assert sorted(again.producers.producers) == [1, 2]
        again.abandon()

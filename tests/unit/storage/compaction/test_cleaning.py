"""The cleaning as a whole: its files, what damage, a failing disk, an abort and a crash do to it."""

from collections.abc import Callable
from random import Random

import pytest

from barnabas.protocol.checksum import crc32c
from barnabas.protocol.compression import Codec
from barnabas.protocol.record_batch import HEADER_BYTES
from barnabas.storage.compaction.cleaning import CleaningAbortedError, InProcessCleaning
from barnabas.storage.compaction.task import CleaningResult, FailureKind
from barnabas.storage.segment import file_stem
from tests.compaction_setup import FIRST_TIMESTAMP, PATH, CompactedLog, LogMaker, key_batch


def snapshot(log: CompactedLog) -> dict[str, bytes]:
    """Every file of the partition."""
    files = {}
    for name in log.disk.list_dir(PATH):
        file = log.disk.open_readonly(f"{PATH}/{name}")
        files[name] = bytes(file.read_at(0, file.size()))
    return files


def assert_failed(
    log: CompactedLog, before: dict[str, bytes], result: CleaningResult, kind: FailureKind
) -> None:
    assert result.failure is not None
    assert result.failure.kind is kind
    assert result.groups == ()
    assert snapshot(log) == before, "nothing else may have changed, and nothing may be left"


# Files ---------------------------------------------------------------------------------------------


def test_a_cleaning_writes_cleaned_files_and_changes_nothing_else() -> None:
    log = CompactedLog(LogMaker(1).make())
    before = snapshot(log)
    result = log.cleaning().run()
    after = snapshot(log)
    assert {name: after[name] for name in before} == before
    (group,) = result.groups
    assert set(after) - set(before) == {
        f"{group.base_offset:020d}{suffix}.cleaned"
        for suffix in (".log", ".index", ".timeindex", ".txnindex")
    }
    assert group.replaced == tuple(log.bases[:-1])
    assert len(after[f"{group.base_offset:020d}.log.cleaned"]) == group.size_bytes


def test_the_new_segment_is_as_old_as_the_last_it_replaces() -> None:
    log = CompactedLog(LogMaker(1, segments=4).make())
    (group,) = log.cleaning().run().groups
    assert group.last_modified_ms == FIRST_TIMESTAMP + 2
    assert log.disk.mtime_ms(file_stem(PATH, group.base_offset) + ".log.cleaned") == FIRST_TIMESTAMP + 2


def test_the_result_tells_the_largest_timestamp() -> None:
    log = CompactedLog(
        [(0, key_batch(0, ("a", "1"), ("b", "1")) + key_batch(2, ("b", "2"), timestamp=5)), (3, b"")]
    )
    (group,) = log.cleaning().run().groups
    assert (group.max_timestamp, group.max_timestamp_offset) == (FIRST_TIMESTAMP, 1)


def test_everything_is_durable_before_the_result() -> None:
    log = CompactedLog(LogMaker(1).make())
    (group,) = log.cleaning().run().groups
    names = sorted(name for name in log.disk.list_dir(PATH) if name.endswith(".cleaned"))
    before = {name: content for name, content in snapshot(log).items() if name in names}
    log.disk.crash(Random(1))
    assert {name: content for name, content in snapshot(log).items() if name in names} == before
    assert len(before) == 4
    assert group.size_bytes == len(before[f"{group.base_offset:020d}.log.cleaned"])


def test_a_segment_of_which_nothing_goes_is_not_written_anew() -> None:
    log = CompactedLog([(0, key_batch(0, ("a", "1"))), (1, key_batch(1, ("b", "1"))), (2, b"")])
    before = snapshot(log)
    result = log.cleaning(segment_bytes=10).run()
    assert result.failure is None
    assert result.groups == ()
    assert result.cleaned_to_offset == 2
    assert result.statistics.segments_unchanged == 2
    assert snapshot(log) == before


def test_what_an_earlier_cleaning_left_goes_first() -> None:
    log = CompactedLog(LogMaker(1).make())
    for name in ("00000000000000000000.log.cleaned", "00000000000000000777.index.cleaned"):
        log.disk.open(f"{PATH}/{name}", create=True).write_at(0, [b"rubbish"])
    result = log.clean()
    assert result.failure is None
    assert not [name for name in log.disk.list_dir(PATH) if name.endswith(".cleaned")]


def test_a_segment_that_loses_everything_stays_as_an_empty_one() -> None:
    log = CompactedLog([(0, key_batch(0, ("a", "1"))), (1, key_batch(1, ("a", "2"))), (2, b"")])
    result = log.clean(segment_bytes=10)
    assert [(group.base_offset, group.size_bytes) for group in result.groups] == [(0, 0)]
    assert (result.groups[0].max_timestamp, result.groups[0].max_timestamp_offset) == (-1, 0)
    # The next cleaning puts it together with its neighbour.
    log.clean(segment_bytes=1000)
    assert log.bases == [0, 2]


# Large batches -------------------------------------------------------------------------------------


@pytest.mark.parametrize("io_buffer_bytes", [1, 61, 100, 5000])
def test_a_batch_larger_than_the_buffer_is_read_whole(io_buffer_bytes: int) -> None:
    log = CompactedLog([(0, key_batch(0, ("a", "x" * 3000), ("a", "y" * 3000))), (2, b"")])
    log.clean(io_buffer_bytes=io_buffer_bytes, max_message_bytes=100)
    assert [record.offset for record in log.records()] == [1]


# Damage --------------------------------------------------------------------------------------------


def damage(log: CompactedLog, position: int, content: bytes) -> None:
    log.disk.open(file_stem(PATH, log.bases[0]) + ".log").write_at(position, [content])


@pytest.mark.parametrize(
    ("position", "content"),
    [(70, b"\xff"), (8, b"\x7f"), (8, b"\x00\x00\x00\x05"), (16, b"\x01"), (0, b"\xff"), (23, b"\xff")],
    ids=["record", "long length", "short length", "magic", "offset", "last offset delta"],
)
def test_damage_ends_the_cleaning_and_leaves_everything_as_it_was(position: int, content: bytes) -> None:
    log = CompactedLog(LogMaker(1).make())
    cleaning = log.cleaning()
    damage(log, position, content)
    before = snapshot(log)
    assert_failed(log, before, cleaning.run(), FailureKind.CORRUPT)


@pytest.mark.parametrize("cut_bytes", [1, 9, HEADER_BYTES])
def test_a_segment_that_ends_within_a_batch_is_damaged(cut_bytes: int) -> None:
    content = key_batch(0, ("a", "1")) + key_batch(1, ("a", "2"))
    log = CompactedLog([(0, content), (2, b"")])
    cleaning = log.cleaning()
    log.disk.open(file_stem(PATH, 0) + ".log").truncate(len(content) - cut_bytes)
    before = snapshot(log)
    assert_failed(log, before, cleaning.run(), FailureKind.CORRUPT)


def test_batches_out_of_order_are_damage() -> None:
    log = CompactedLog([(0, key_batch(5, ("a", "1")) + key_batch(3, ("b", "2"))), (7, b"")])
    before = snapshot(log)
    assert_failed(log, before, log.cleaning().run(), FailureKind.CORRUPT)


def test_offsets_of_the_next_segment_are_damage() -> None:
    log = CompactedLog([(0, key_batch(0, ("a", "1"), ("b", "1"))), (1, key_batch(1, ("a", "2"))), (2, b"")])
    before = snapshot(log)
    assert_failed(log, before, log.cleaning().run(), FailureKind.CORRUPT)


@pytest.mark.parametrize("seed", range(60))
def test_flipped_bits_never_pass_as_good_records(seed: int) -> None:
    """It fails, or every record is as good as before: no checksum covers offset and leader epoch."""
    random = Random(seed)
    log = CompactedLog(LogMaker(seed, segments=3, codecs=list(Codec)).make())
    undamaged = CompactedLog(LogMaker(seed, segments=3, codecs=list(Codec)).make())
    undamaged.clean()
    good = {(record.offset, record.key, record.value) for record in undamaged.records()}
    cleaning = log.cleaning()
    content = bytearray(log.content(0))
    for _ in range(random.randrange(1, 4)):
        content[random.randrange(len(content))] ^= 1 << random.randrange(8)
    damage(log, 0, bytes(content))
    before = snapshot(log)
    result = cleaning.run()
    if result.failure is not None:
        assert_failed(log, before, result, FailureKind.CORRUPT)
        return
    log.swap(result)
    assert {(record.key, record.value) for record in log.records()} == {pair[1:] for pair in good}


def with_right_crc(batch: bytearray) -> bytes:
    batch[17:21] = crc32c(memoryview(batch)[21:], 0).to_bytes(4, "big")
    return bytes(batch)


@pytest.mark.parametrize("codec", list(Codec))
def test_nonsense_with_a_good_checksum_is_damage_or_is_cleaned(codec: Codec) -> None:
    random = Random(codec)
    pairs = [(f"k{number % 5}", None if number % 3 else "v" * number) for number in range(30)]
    original = key_batch(0, *pairs, codec=codec)
    ends = set()
    for _ in range(300):
        batch = bytearray(original)
        for _ in range(random.randrange(1, 4)):
            batch[random.randrange(21, len(batch))] = random.randrange(256)
        log = CompactedLog([(0, original), (40, b"")])
        cleaning = log.cleaning()
        damage(log, 0, with_right_crc(batch))
        result = cleaning.run()
        assert 0 <= result.cleaned_to_offset <= 40
        ends.add(None if result.failure is None else result.failure.kind)
    assert ends == {None, FailureKind.CORRUPT}


def test_a_damaged_transaction_index_is_damage() -> None:
    log = CompactedLog(LogMaker(1).make())
    log.disk.open(file_stem(PATH, log.bases[0]) + ".txnindex", create=True).write_at(0, [b"\x07" * 34])
    before = snapshot(log)
    assert_failed(log, before, log.cleaning().run(), FailureKind.CORRUPT)


def test_offsets_beyond_31_bits_from_the_base_are_refused() -> None:
    log = CompactedLog([(0, key_batch(0, ("a", "1")) + key_batch(2**31, ("a", "2"))), (2**32, b"")])
    before = snapshot(log)
    assert_failed(log, before, log.cleaning().run(), FailureKind.CORRUPT)


# A failing disk ------------------------------------------------------------------------------------


def fail_at(number: int, errno: int) -> Callable[[str, str], None]:
    """Fail the operation of that number, and none of those that clean up."""
    left = number

    def on_operation(what: str, path: str) -> None:
        nonlocal left
        left -= 1
        if left == 0:
            raise OSError(errno, "no more", path)

    return on_operation


def test_a_refusal_at_any_operation_leaves_everything_as_it_was() -> None:
    segments = LogMaker(1, batches_per_segment=3).make()
    number = 0
    while True:
        number += 1
        log = CompactedLog(segments)
        before = snapshot(log)
        cleaning = log.cleaning(io_buffer_bytes=1024)
        log.disk.on_operation = fail_at(number, 28)
        result = cleaning.run()
        log.disk.on_operation = None
        if result.failure is None:
            break
        assert result.failure.errno == 28
        assert_failed(log, before, result, FailureKind.IO)
    assert number > 20


# Aborting ------------------------------------------------------------------------------------------


def test_an_abort_ends_it_wherever_it_is() -> None:
    segments = LogMaker(1).make()
    asked = 0
    while True:
        asked += 1
        log = CompactedLog(segments)
        before = snapshot(log)
        cleaning: InProcessCleaning
        calls = 0

        def on_progress(progress: object, asked: int = asked) -> None:
            nonlocal calls
            calls += 1
            if calls == asked:
                raise CleaningAbortedError

        cleaning = InProcessCleaning(
            log.task(io_buffer_bytes=4096), log.disk, log.clock, log.clock.advance_ms, on_progress
        )
        result = cleaning.run()
        if result.failure is None:
            break
        assert_failed(log, before, result, FailureKind.ABORTED)
    assert asked > 5


def test_an_abort_before_the_start_holds() -> None:
    log = CompactedLog(LogMaker(1).make())
    before = snapshot(log)
    cleaning = log.cleaning()
    cleaning.abort()
    assert_failed(log, before, cleaning.run(), FailureKind.ABORTED)


def test_progress_reaches_what_was_expected() -> None:
    log = CompactedLog(LogMaker(1).make())
    cleaning = log.cleaning()
    begun = cleaning.progress
    assert begun.bytes_done == 0
    assert begun.bytes_expected == 2 * log.task().size_bytes
    cleaning.run()
    assert cleaning.progress.bytes_done == begun.bytes_expected

"""Idempotence, fencing and transactions of producers (P4), and their snapshots."""

import pytest

from barnabas.base.errors import ApiError, ErrorCode
from barnabas.sim.disk import MemoryDisk
from barnabas.storage.log import Log
from barnabas.storage.producer_state import snapshots
from barnabas.storage.producer_state.states import AppendOrigin, ProducerStates
from tests.storage_setup import FIRST_TIMESTAMP, LogHarness, batch, marker

DAY_MS = 86_400_000


@pytest.fixture
def log() -> Log:
    return LogHarness().open()


def produce(
    log: Log, sequence: int, *, count: int = 1, epoch: int = 0, transactional: bool = False, **options: object
) -> tuple[int, int, bool]:
    made = batch(
        count, producer_id=7, producer_epoch=epoch, base_sequence=sequence, is_transactional=transactional
    )
    info = log.append([made], leader_epoch=0, **options)  # type: ignore[arg-type]
    return info.first_offset, info.last_offset, info.duplicate


def refused(log: Log, code: ErrorCode, sequence: int, **options: object) -> None:
    end = log.log_end_offset
    with pytest.raises(ApiError) as raised:
        produce(log, sequence, **options)  # type: ignore[arg-type]
    assert raised.value.code is code
    assert log.log_end_offset == end


def test_p4_each_of_the_last_five_batches_is_recognised_and_no_older_one(log: Log) -> None:
    for number in range(7):
        assert produce(log, 2 * number, count=2) == (2 * number, 2 * number + 1, False)
    for number in range(2, 7):
        assert produce(log, 2 * number, count=2) == (2 * number, 2 * number + 1, True)
    refused(log, ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER, 2, count=2)
    assert log.log_end_offset == 14


def test_p4_a_duplicate_has_the_same_first_and_last_sequence(log: Log) -> None:
    produce(log, 0, count=3)
    refused(log, ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER, 0, count=2)
    refused(log, ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER, 1, count=2)


def test_p4_a_duplicate_tells_its_timestamp(log: Log) -> None:
    made = batch(2, producer_id=7, producer_epoch=0, base_sequence=0)
    log.append([made], leader_epoch=0)
    assert log.append([made], leader_epoch=0).log_append_time_ms == FIRST_TIMESTAMP + 1


@pytest.mark.parametrize("sequence", [0, 1, 1000, 2**31 - 1])
def test_p4_an_unknown_producer_may_begin_anywhere(log: Log, sequence: int) -> None:
    assert produce(log, sequence) == (0, 0, False)


def test_p4_a_gap_is_refused(log: Log) -> None:
    produce(log, 0)
    refused(log, ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER, 2)


def test_p4_an_older_epoch_is_fenced(log: Log) -> None:
    produce(log, 0, epoch=3)
    refused(log, ErrorCode.INVALID_PRODUCER_EPOCH, 1, epoch=2)


def test_p4_a_newer_epoch_begins_at_zero(log: Log) -> None:
    produce(log, 0, epoch=3)
    refused(log, ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER, 1, epoch=4)
    assert produce(log, 0, epoch=4) == (1, 1, False)
    refused(log, ErrorCode.INVALID_PRODUCER_EPOCH, 1, epoch=3)


def test_p4_sequences_wrap_behind_the_largest(log: Log) -> None:
    produce(log, 2**31 - 1)
    assert produce(log, 0) == (1, 1, False)
    assert produce(log, 1, count=2) == (2, 3, False)


def test_p4_a_batch_may_wrap_inside(log: Log) -> None:
    produce(log, 2**31 - 2, count=4)
    refused(log, ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER, 0)
    assert produce(log, 2, count=1) == (4, 4, False)
    assert produce(log, 2**31 - 2, count=4) == (0, 3, True)


def test_p4_a_verified_transaction_may_not_begin_above_the_lowest_sequence_seen(log: Log) -> None:
    guard = log.producers.start_verification(7, 5, 0)
    assert log.producers.start_verification(7, 3, 0) is guard
    refused(log, ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER, 5, transactional=True, verification=guard)
    refused(log, ErrorCode.INVALID_TXN_STATE, 3, transactional=True)
    assert produce(log, 3, transactional=True, verification=guard)[2] is False
    assert produce(log, 4, transactional=True)[2] is False


def test_a_verification_is_worthless_once_a_marker_has_come(log: Log) -> None:
    guard = log.producers.start_verification(7, 0, 0)
    log.append([marker(7, commit=False)], leader_epoch=0, origin=AppendOrigin.COORDINATOR)
    refused(log, ErrorCode.INVALID_TXN_STATE, 0, transactional=True, verification=guard)
    again = log.producers.start_verification(7, 0, 0)
    assert again is not guard
    assert produce(log, 0, transactional=True, verification=again)[2] is False
    assert produce(log, 1, transactional=True, verification=again)[2] is False


def test_who_gets_an_epoch_for_each_transaction_begins_it_with_sequence_0(log: Log) -> None:
    guard = log.producers.start_verification(7, 5, 0, starts_at_zero=True)
    refused(log, ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER, 5, transactional=True, verification=guard)
    assert produce(log, 0, transactional=True, verification=guard)[2] is False


def test_a_coordinator_is_not_held_to_sequences(log: Log) -> None:
    produce(log, 0)
    assert produce(log, 9, origin=AppendOrigin.COORDINATOR) == (1, 1, False)


def test_inside_a_transaction_only_transactional_batches(log: Log) -> None:
    produce(log, 0, transactional=True)
    refused(log, ErrorCode.INVALID_TXN_STATE, 1)


def test_markers_of_fenced_producers_and_coordinators_are_refused(log: Log) -> None:
    produce(log, 0, epoch=2, transactional=True)

    def end(**options: int) -> None:
        made = marker(7, commit=True, **options)  # type: ignore[arg-type]
        log.append([made], leader_epoch=0, origin=AppendOrigin.COORDINATOR)

    with pytest.raises(ApiError) as raised:
        end(epoch=1, coordinator_epoch=5)
    assert raised.value.code is ErrorCode.INVALID_PRODUCER_EPOCH
    end(epoch=2, coordinator_epoch=5)
    with pytest.raises(ApiError) as raised:
        end(epoch=2, coordinator_epoch=4)
    assert raised.value.code is ErrorCode.TRANSACTION_COORDINATOR_FENCED
    assert log.producers.open_transaction_start(7) is None


def test_a_marker_with_a_newer_epoch_fences_and_starts_sequences_anew(log: Log) -> None:
    produce(log, 0, transactional=True)
    log.append([marker(7, commit=True, epoch=1)], leader_epoch=0, origin=AppendOrigin.COORDINATOR)
    refused(log, ErrorCode.INVALID_PRODUCER_EPOCH, 1)
    assert produce(log, 0, epoch=1)[2] is False


def test_silent_producers_expire_but_none_in_a_transaction(log: Log) -> None:
    produce(log, 0, transactional=True)
    log.append([batch(producer_id=8, producer_epoch=0, base_sequence=0)], leader_epoch=0)
    log.producers.remove_expired(FIRST_TIMESTAMP + DAY_MS - 1)
    assert set(log.producers.producers) == {7, 8}
    log.producers.remove_expired(FIRST_TIMESTAMP + DAY_MS)
    assert set(log.producers.producers) == {7}


def test_the_oldest_open_transaction_tells_when_its_producer_last_wrote(log: Log) -> None:
    assert log.producers.oldest_open_timestamp() is None
    produce(log, 0, transactional=True)
    later = batch(3, producer_id=8, producer_epoch=0, base_sequence=0, is_transactional=True)
    log.append([later], leader_epoch=0)
    assert log.producers.oldest_open_timestamp() == FIRST_TIMESTAMP
    log.append([marker(7, commit=True, epoch=0)], leader_epoch=0, origin=AppendOrigin.COORDINATOR)
    assert log.producers.oldest_open_timestamp() == FIRST_TIMESTAMP + 2
    log.append([marker(8, commit=False, epoch=0)], leader_epoch=0, origin=AppendOrigin.COORDINATOR)
    assert log.producers.oldest_open_timestamp() is None


def test_a_restart_keeps_the_last_batch_the_epoch_and_the_open_transaction() -> None:
    harness = LogHarness()
    log = harness.open()
    for number in range(3):
        produce(log, number, epoch=4, transactional=number == 2)
    log.close()
    log = harness.open(clean=True)
    assert log.first_unstable_offset == log.offset_metadata(2)
    assert produce(log, 2, epoch=4, transactional=True) == (2, 2, True)
    refused(log, ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER, 1, epoch=4, transactional=True)
    refused(log, ErrorCode.INVALID_PRODUCER_EPOCH, 3, epoch=3, transactional=True)
    assert produce(log, 3, epoch=4, transactional=True) == (3, 3, False)


@pytest.mark.parametrize("damage", [b"", b"\0", bytes(6), b"\0\1" + bytes(8)])
def test_a_damaged_snapshot_is_dropped_and_the_batches_tell(damage: bytes) -> None:
    harness = LogHarness()
    log = harness.open()
    for number in range(4):
        produce(log, number)
        if number == 1:
            log.roll()
    log.close()
    file = harness.disk.open(f"{harness.path}/{4:020d}.snapshot")
    file.truncate(0)
    file.write_at(0, [damage])
    log = harness.open(clean=True)
    assert produce(log, 3) == (3, 3, True)
    assert produce(log, 4) == (4, 4, False)


def test_snapshots_round_trip_and_refuse_what_does_not_add_up() -> None:
    entries = [
        snapshots.SnapshotEntry(2**62, 3, 9, 10**12, 4, FIRST_TIMESTAMP, 5, -1),
        snapshots.SnapshotEntry(0, -1, -1, -1, 0, -1, -1, 77),
    ]
    content = snapshots.encode(entries)
    assert snapshots.decode(content) == entries
    assert len(content) == 10 + 2 * 46
    for at in range(len(content)):
        broken = bytearray(content)
        broken[at] ^= 1
        with pytest.raises(snapshots.SnapshotError):
            snapshots.decode(bytes(broken))
        with pytest.raises(snapshots.SnapshotError):
            snapshots.decode(content[:at])


def test_stray_snapshots_go_but_the_newest_beyond_the_segments_stays() -> None:
    disk = MemoryDisk()
    disk.make_dirs("/p")
    states = ProducerStates(disk, "/p", DAY_MS)
    for offset in (3, 5, 8, 11, 14):
        disk.open(states.path(offset), create=True)
    states.found_snapshots([3, 5, 8, 11, 14])
    states.drop_stray_snapshots([0, 5, 10])
    assert states.snapshot_offsets == {5, 14}
    assert len(disk.list_dir("/p")) == 2

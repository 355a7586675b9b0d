"""A log against a list: random appends, rolls, truncations, deletions, restarts and reads give the same."""

import random

import pytest

from barnabas.protocol.record_batch import iter_batches
from barnabas.storage.log import Log
from barnabas.storage.log_config import LogConfig
from barnabas.storage.segment_cache import SegmentCache
from tests.storage_setup import FIRST_TIMESTAMP, LogHarness, batch

SEEDS = range(30)
STEPS = 150


class Model:
    """The batches as stored, in order, with the log's bounds."""

    def __init__(self) -> None:
        self.batches: list[tuple[int, int, bytes]] = []  # base offset, last offset, bytes
        self.start = 0
        self.end = 0

    def expected(self, offset: int) -> int | None:
        """Return the number of the first batch that reaches an offset."""
        return next((n for n, (_, last, _) in enumerate(self.batches) if last >= offset), None)


def check_read(log: Log, model: Model, source: random.Random) -> None:
    offset = source.randrange(model.start, model.end + 1)
    bound = source.randrange(offset, model.end + 1)
    limit = source.choice((0, 1, 100, 1000, 10**6))
    min_one = source.randrange(2) == 0
    data = log.read(offset, log.offset_metadata(bound), limit, min_one_message=min_one)
    first = model.expected(offset)
    if bound == offset or first is None:
        assert data.records is None
        return
    base_of_bound = next((base for base, last, _ in model.batches if last >= bound), model.end)
    content = data.records.read() if data.records is not None else b""
    if data.records is not None:
        data.records.release()
    follows = b"".join(stored for base, _, stored in model.batches[first:] if base < base_of_bound)
    assert follows.startswith(content), "what is read is not what follows"
    # F21: as much as fits, or less only where the segment or the bound ends.
    reach = max(limit, len(model.batches[first][2])) if min_one else limit
    assert len(content) <= reach
    if len(content) < min(reach, len(follows)):
        segment = log.segments.floor(data.offset_metadata.segment_base_offset)
        assert segment is not None
        assert data.offset_metadata.position_in_segment + len(content) == segment.size


def check_times(log: Log, model: Model, source: random.Random) -> None:
    timestamp = FIRST_TIMESTAMP + source.randrange(-10, 2000)
    expected = None
    for base, _, stored in model.batches:
        _, header = next(iter_batches(stored))
        for number in range(header.records_count):
            if header.base_timestamp + number >= timestamp and base + number >= model.start:
                expected = (header.base_timestamp + number, base + number)
                break
        if expected is not None:
            break
    found = log.offset_for_timestamp(timestamp)
    assert (None if found is None else found[:2]) == expected


def append(log: Log, model: Model, source: random.Random) -> None:
    made = batch(
        source.randrange(1, 6),
        timestamp=FIRST_TIMESTAMP + source.randrange(1000),
        value_bytes=source.choice((1, 10, 200)),
    )
    info = log.append([made], leader_epoch=1)
    assert info.first_offset == model.end
    stored = info.first_offset.to_bytes(8, "big") + made[8:12] + (1).to_bytes(4, "big") + made[16:]
    model.batches.append((info.first_offset, info.last_offset, stored))
    model.end = info.last_offset + 1


@pytest.mark.parametrize("seed", SEEDS)
def test_a_log_is_a_list_of_batches(seed: int) -> None:
    source = random.Random(seed)
    config = LogConfig(
        segment_bytes=source.choice((1500, 4000)),
        index_interval_bytes=source.choice((0, 300)),
        retention_ms=-1,
    )
    harness = LogHarness(config=config, cache=SegmentCache(files_max=2, index_bytes_max=50))
    log = harness.open()
    model = Model()
    for _ in range(STEPS):
        action = source.randrange(40)
        if action < 14:
            append(log, model, source)
        elif action < 30:
            check_read(log, model, source)
        elif action < 34:
            check_times(log, model, source)
        elif action == 34:
            log.roll()
        elif action == 35:
            log.flush()
        elif action == 36:
            log.close()
            log = harness.open(clean=True, log_start_offset=model.start)
        elif action == 37:
            log.abandon()
            harness.disk.crash(source, keep_all=True)
            log = harness.open(log_start_offset=model.start)
        elif action == 38:
            target = source.randrange(model.start, model.end + 1)
            log.truncate_to(target)
            model.batches = [entry for entry in model.batches if entry[1] < target]
            model.end = log.log_end_offset
            model.start = min(model.start, model.end)
        else:
            target = source.randrange(model.start, model.end + 1)
            log.delete_records(target, model.end)
            model.start = target
            model.batches = [entry for entry in model.batches if entry[0] >= log.segments.first.base_offset]
        assert (log.log_start_offset, log.log_end_offset) == (model.start, model.end), (seed, action)
        assert log.size == sum(len(stored) for _, _, stored in model.batches)

"""`flush.messages` and power loss: what was acknowledged or seen is there, whatever came in between."""

import random

import pytest

from barnabas.base.errors import ErrorCode
from barnabas.replica.produce import AppendOutcome
from barnabas.storage.deletions import PendingDeletions
from barnabas.storage.loading.recovery import OpeningLog, open_log
from barnabas.storage.log import Log
from barnabas.storage.log_config import LogConfig
from barnabas.storage.log_directory import LogDirectory
from barnabas.storage.segment_cache import SegmentCache

from .broker_setup import BATCH_BYTES, TOPIC, TOPIC_ID, batch
from .flushed_setup import FlushedBroker
from .test_flush_messages import code


def reopened(broker: FlushedBroker, number: int = 0) -> Log:
    """The partition's log as a start after a crash finds it."""
    opening = OpeningLog(
        directory=LogDirectory(broker.logs.disk, "/data"), path=f"/data/{TOPIC}-{number}", topic=TOPIC,
        partition=number, config=LogConfig(), clock=broker.clock, cache=SegmentCache(),
        deletions=PendingDeletions(broker.logs.disk), random_below=lambda bound: 0, topic_id=TOPIC_ID,
    )  # fmt: skip
    return open_log(opening).log


@pytest.mark.parametrize("flush_messages", [1, 4])
@pytest.mark.parametrize("seed", range(40))
def test_what_was_acknowledged_survives_a_power_loss_at_once(seed: int, flush_messages: int) -> None:
    order = random.Random(seed)
    broker = FlushedBroker(2, config=LogConfig(flush_messages=flush_messages, segment_bytes=BATCH_BYTES * 6))
    sent: list[tuple[int, list[AppendOutcome]]] = []
    repeated: list[tuple[int, bytes]] = []
    for sequence in range(order.randrange(1, 40)):
        number, acks = order.randrange(2), order.choice([1, -1])
        if repeated and order.randrange(4) == 0:
            number, records = order.choice(repeated)
        else:
            records = batch(order.randrange(1, 4), producer_id=sequence, producer_epoch=0, base_sequence=0)
            repeated.append((number, records))
        sent.append((number, broker.append(number, records, acks=acks, settle=order.randrange(2) > 0)))
        if order.randrange(20) == 0:
            broker.partition(number).log.roll()
        if broker.syncs.waiting and order.randrange(2):
            broker.syncs.end(order.randrange(len(broker.syncs.waiting)))
            broker.settle()
    visible = [broker.partition(number).high_watermark for number in range(2)]
    ends = [broker.partition(number).log.log_end_offset for number in range(2)]
    broker.logs.disk.crash(order)
    for number in range(2):
        acknowledged = [o[0].results[0].last_offset + 1 for n, o in sent if n == number and o]
        promised = max([visible[number], *acknowledged]) - (flush_messages - 1)
        if promised > 0:
            assert promised <= reopened(broker, number).log_end_offset <= ends[number]


def test_the_first_append_is_acknowledged_when_the_names_of_its_files_are_certain() -> None:
    for seed in range(50):
        broker = FlushedBroker()
        outcomes = broker.append()
        broker.end_syncs()
        assert code(outcomes) is ErrorCode.NONE
        broker.logs.disk.crash(random.Random(seed))
        assert reopened(broker).log_end_offset == 1

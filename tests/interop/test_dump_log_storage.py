"""Apache Kafka's kafka-dump-log judges the segments, indexes and snapshots our log writes."""

import random
from pathlib import Path

import pytest

from barnabas.base.disk import OsDisk
from barnabas.storage.log_config import LogConfig
from barnabas.storage.producer_state.states import AppendOrigin
from tests.oracle.kafka_tools import dump_log
from tests.storage_setup import FIRST_TIMESTAMP, LogHarness, batch, marker

pytestmark = [pytest.mark.interop, pytest.mark.java, pytest.mark.timeout(300)]


def test_kafka_dump_log_accepts_every_file(tmp_path: Path) -> None:
    config = LogConfig(segment_bytes=6000, index_interval_bytes=300, retention_ms=-1)
    harness = LogHarness(OsDisk(), root=str(tmp_path), config=config)
    source = random.Random(1)
    log = harness.open(topic_id=bytes(range(16)))
    sequence = 0
    for number in range(150):
        count = source.randrange(1, 5)
        options = {}
        if number % 3 == 0:
            options = {
                "producer_id": 5,
                "producer_epoch": 0,
                "base_sequence": sequence,
                "is_transactional": True,
            }
            sequence += count
        timestamp = FIRST_TIMESTAMP + source.randrange(5000)
        made = batch(count, timestamp=timestamp, value_bytes=source.randrange(100), **options)
        log.append([made], leader_epoch=number // 50)
        if number % 9 == 0:
            log.append([marker(5, commit=False)], leader_epoch=number // 50, origin=AppendOrigin.COORDINATOR)
        if number == 100:
            log.truncate_to(log.log_end_offset - 7)
            sequence = log.producers.producers[5].last_sequence + 1
            if log.producers.open_transaction_start(5) is not None:
                log.append([marker(5, commit=False)], leader_epoch=2, origin=AppendOrigin.COORDINATOR)
    log.close()
    judged = sorted(Path(harness.path).iterdir())
    names = [
        path for path in judged if path.suffix in (".log", ".index", ".timeindex", ".txnindex", ".snapshot")
    ]
    said = dump_log(*names)
    assert said.count("baseOffset:") > 150
    dump_log(*(path for path in names if path.suffix == ".index"), deep=False, index_sanity=True)

"""Logs of `__consumer_offsets` that Apache Kafka wrote: ours replays them to what that Kafka answers.

`tools/record_golden_group_log.py` records them.
"""

import json
from pathlib import Path
from typing import Any

import pytest

from barnabas.coordinator.groups.record_codec import GroupRecordCodec
from barnabas.coordinator.offsets.fetches import AnswerRoom, fetch_offsets
from barnabas.protocol import messages
from barnabas.protocol.record_batch import iter_batches, parse_records
from tests.coordinator_setup import Groups
from tests.runtime_setup import OFFSETS_TOPIC

GOLDEN = Path(__file__).parent / "group_log"
LOGS = sorted(GOLDEN.glob("*.log"))
ANSWERS = json.loads((GOLDEN / "answers.json").read_text())
SHARE_GROUP_RECORDS = range(10, 16)


@pytest.fixture(scope="module")
def groups() -> Groups:
    """A coordinator over the recorded files."""
    made = Groups(logs=[path.read_bytes() for path in LOGS])
    for name, topic_id in ANSWERS["topics"].items():
        made.create_topic(name, bytes.fromhex(topic_id), 3)
    made.coordinator.load_all()
    made.broker.settle()
    return made


def records() -> list[Any]:
    found = []
    for path in LOGS:
        data = path.read_bytes()
        for position, header in iter_batches(data):
            if not header.is_control:
                found += parse_records(data, position, header)
    return found


def test_every_record_is_encoded_as_kafka_encodes_it() -> None:
    codec = GroupRecordCodec()
    assert len(records()) > 30
    for record in records():
        decoded = codec.decode(record.key, record.value)
        assert codec.encode(decoded) == (record.key, record.value)


def test_offsets_are_those_that_kafka_tells(groups: Groups) -> None:
    for name in ANSWERS["groups"]:
        for stability, wanted in ANSWERS["offsets"].items():
            request = messages.OffsetFetchRequestOffsetFetchRequestGroup(group_id=name, topics=None)
            told = groups.read(
                name,
                lambda shard, now_ms, request=request, stability=stability: fetch_offsets(
                    shard.offsets, request, require_stable=stability == "stable", room=AnswerRoom()
                ),
            ).reply
            assert {
                topic.name: {
                    str(one.partition_index): [
                        one.committed_offset,
                        one.committed_leader_epoch,
                        one.metadata,
                        one.error_code,
                    ]
                    for one in sorted(topic.partitions, key=lambda one: one.partition_index)
                }
                for topic in told.topics
            } == wanted[name], (name, stability)


def test_groups_are_those_that_kafka_tells(groups: Groups) -> None:
    found = {
        group.group_id: [group.type.value.lower(), group.state_name, group.protocol_type]
        for shard in groups.coordinator.active_shards()
        for group in shard.groups.values()
    }
    assert found == {name: told for name, told in ANSWERS["groups"].items() if told[0] != "share"}


def test_records_of_share_groups_are_passed_over_and_kept(
    groups: Groups, caplog: pytest.LogCaptureFixture
) -> None:
    kinds = [int.from_bytes(record.key[:2], "big") for record in records()]
    assert any(kind in SHARE_GROUP_RECORDS for kind in kinds)
    again = Groups(logs=[path.read_bytes() for path in LOGS])
    again.coordinator.load_all()
    again.broker.settle()
    assert "record type 1" in caplog.text
    for number, path in enumerate(LOGS):
        assert again.broker.partition(number, OFFSETS_TOPIC).log.size == path.stat().st_size

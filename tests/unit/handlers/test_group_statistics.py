"""What the statistics tell of groups: nothing before their first use, then counts and rows."""

import json
from types import SimpleNamespace

from barnabas.coordinator.groups.config import GroupConfig
from barnabas.handlers.group_statistics import GROUP_COLUMNS, GROUP_OFFSET_COLUMNS, group_statistics
from barnabas.protocol import messages as m
from tests.group_host import GroupHost, HostConnection


def told(host, *, with_rows=True):
    replicas = SimpleNamespace(
        partitions=SimpleNamespace(
            by_name={
                ("six", 0): SimpleNamespace(is_leader=True, high_watermark=20),
                ("six", 1): SimpleNamespace(is_leader=False, high_watermark=20),
            }
        )
    )
    services = SimpleNamespace(made_groups=host, replicas=replicas)
    return json.loads(b"".join(group_statistics(services, with_rows=with_rows)))


def runtime_statistics():
    return SimpleNamespace(
        shards={"Active": 1}, loads=1, load_us=2, appends=3, records=4, append_failures=5, timers=6
    )


def commit(host, group_id, **offsets):
    """Commit partitions of `six`, named p0, p1 ..."""
    partitions = [
        m.OffsetCommitRequestOffsetCommitRequestPartition(
            partition_index=int(name[1:]), committed_offset=offset, committed_metadata=""
        )
        for name, offset in offsets.items()
    ]
    topic = m.OffsetCommitRequestOffsetCommitRequestTopic(name="six", partitions=partitions)
    connection = HostConnection("a")
    host.send(connection, m.OffsetCommitRequest(group_id=group_id, topics=[topic]), 9)
    assert connection.answers


def test_nothing_is_told_before_a_group_is_used():
    assert told(None) is None


def test_groups_and_offsets_are_rows():
    host = GroupHost({"six": 6}, GroupConfig())
    host.statistics = runtime_statistics
    commit(host, "b", p0=3, p1=4)
    commit(host, "c", p5=7)
    found = told(host)
    assert found["columns"] == list(GROUP_COLUMNS)
    assert sorted(found["rows"]) == [["b", "classic", "Empty", 0], ["c", "classic", "Empty", 0]]
    assert found["offset_columns"] == list(GROUP_OFFSET_COLUMNS)
    assert sorted(found["offset_rows"]) == [
        ["b", "six", 0, 3, 20],
        ["b", "six", 1, 4, None],
        ["c", "six", 5, 7, None],
    ]
    assert found["offset_count"] == 3
    assert found["offset_commits"] == 3
    assert found["shards"] == {"Active": 1}


def test_rows_are_left_out_when_they_are_not_wanted():
    host = GroupHost({"six": 6}, GroupConfig())
    host.statistics = runtime_statistics
    commit(host, "b", p0=3)
    found = told(host, with_rows=False)
    assert found["rows"] == found["offset_rows"] == []
    assert found["offset_count"] == 1

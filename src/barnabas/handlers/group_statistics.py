"""The figures of groups in the broker's statistics: counts, one row a group, one a committed offset.

They are told in slices with the loop's other work in between, as partitions are. Lag is not told: it is what
the reader makes of a committed offset and the high watermark, which stand side by side.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from itertools import islice

from barnabas.base.hints import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from barnabas.coordinator.groups.coordinator import GroupCoordinator
    from barnabas.coordinator.groups.shard import GroupShard
    from barnabas.handlers.services import Services

GROUP_COLUMNS: Final = ("group", "type", "state", "members")

GROUP_OFFSET_COLUMNS: Final = ("group", "topic", "partition", "committed_offset", "high_watermark")
"""The high watermark is null for a partition that this broker does not lead."""

ROWS_PER_PIECE: Final = 500
"""Rows of one turn of the loop: about half a millisecond."""


def group_statistics(services: Services, *, with_rows: bool) -> Iterator[bytes]:
    """Yield the figures as JSON; null while nobody has used a group."""
    groups = services.made_groups
    if groups is None:
        yield b"null"
        return
    shards = list(groups.active_shards())
    yield _json(_overall(groups, shards))[:-1]
    yield b',"columns":' + _json(GROUP_COLUMNS) + b',"rows":['
    if with_rows:
        yield from _rows(_group_rows(shards))
    yield b'],"offset_columns":' + _json(GROUP_OFFSET_COLUMNS) + b',"offset_rows":['
    if with_rows:
        yield from _rows(_offset_rows(services, shards))
    yield b"]}"


def _overall(groups: GroupCoordinator, shards: list[GroupShard]) -> dict[str, object]:
    runtime = groups.statistics()
    return {
        "offset_count": sum(shard.offsets.committed.count for shard in shards),
        "offset_commits": sum(shard.offsets.commits for shard in shards),
        "offset_expirations": sum(shard.offsets.expirations for shard in shards),
        "offset_deletions": sum(shard.offsets.deletions for shard in shards),
        "completed_rebalances": sum(shard.classic.completed_rebalances for shard in shards),
        "consumer_rebalances": sum(shard.consumers.rebalances for shard in shards),
        "shards": runtime.shards,
        "loads": runtime.loads,
        "load_us": runtime.load_us,
        "appends": runtime.appends,
        "records": runtime.records,
        "append_failures": runtime.append_failures,
        "timers": runtime.timers,
    }


def _group_rows(shards: list[GroupShard]) -> Iterator[list[Any]]:
    for shard in shards:
        for group in list(shard.groups.values()):
            kind = str(group.type.value).lower()
            yield [group.group_id, kind, group.state_name, group.member_count]


def _offset_rows(services: Services, shards: list[GroupShard]) -> Iterator[list[Any]]:
    partitions = services.replicas.partitions.by_name
    for shard in shards:
        for group_id, topics in list(shard.offsets.committed.by_group.items()):
            for topic, offsets in list(topics.items()):
                for number, offset in list(offsets.items()):
                    partition = partitions.get((topic, number))
                    is_led = partition is not None and partition.is_leader
                    end = partition.high_watermark if partition is not None and is_led else None
                    yield [group_id, topic, number, offset.committed_offset, end]


def _rows(rows: Iterator[list[Any]]) -> Iterator[bytes]:
    separator = b""
    while piece := list(islice(rows, ROWS_PER_PIECE)):
        yield separator + _json(piece)[1:-1]
        separator = b","


def _json(value: object) -> bytes:
    return json.dumps(value, separators=(",", ":")).encode()

"""The command `statistics`: all figures of a running broker as one JSON object, for metrics and tools.

Every figure comes from the `statistics()` of the object that owns it. What grows with the number of
partitions is told in slices, with the loop's other work in between; those rows are lists in the order of
PARTITION_COLUMNS, which halves their size and the time to write them.
"""

from __future__ import annotations

import json
import os
from collections.abc import Generator, Iterator, Mapping
from itertools import islice

from barnabas import __version__
from barnabas.base.enums import Enum
from barnabas.base.hints import TYPE_CHECKING, Any, Final
from barnabas.handlers.group_statistics import group_statistics
from barnabas.handlers.transaction_statistics import transaction_statistics
from barnabas.replica.partition_state import PartitionState

if TYPE_CHECKING:
    from barnabas.handlers.local_commands import LocalServices
    from barnabas.metadata.image import MetadataImage
    from barnabas.replica.partition import Partition

PARTITION_COLUMNS: Final = (
    "topic",
    "partition",
    "is_leader",
    "is_offline",
    "replicas",
    "in_sync_replicas",
    "min_in_sync_replicas",
    "log_start_offset",
    "high_watermark",
    "log_end_offset",
    "size_bytes",
    "segments",
    "messages_in",
    "bytes_in",
    "bytes_out",
    "fetches",
    "produces",
    "failed_produces",
    "has_late_transaction",
)

LATE_TRANSACTION_MS: Final = 300_000
"""By how much more than the longest timeout a late transaction has been without a write, as in Kafka."""

PARTITIONS_PER_PIECE: Final = 100
"""Partitions of one turn of the loop: about half a millisecond."""

IMAGE_PARTITIONS_PER_PIECE: Final = 2_000


def statistics(local: LocalServices, arguments: Mapping[str, Any]) -> Iterator[bytes]:
    """Yield the figures as JSON.

    Args:
        arguments: {"partitions": false} leaves out the rows, those of groups as well.
    """
    services = local.services
    yield _json(_overall(local))[:-1]
    counts = yield from _count_image(services.image)
    yield b',"cluster":' + _json(counts)
    yield b',"groups":'
    yield from group_statistics(services, with_rows=arguments.get("partitions", True))
    yield b',"transactions":'
    yield from transaction_statistics(services)
    yield b',"partition_columns":' + _json(PARTITION_COLUMNS) + b',"partitions":['
    if arguments.get("partitions", True):
        longest_ms = services.settings.transaction_max_timeout_ms + LATE_TRANSACTION_MS
        late_before_ms = services.clock.wall_ms() - longest_ms
        yield from _partition_rows(iter(list(services.replicas.partitions)), late_before_ms)
    yield b"]}"


def _overall(local: LocalServices) -> dict[str, object]:
    services = local.services
    controller = services.controller
    replicas = services.replicas
    cleaner = services.logs.cleaner
    return {
        "version": __version__,
        "pid": os.getpid(),
        "cluster_id": services.cluster_id,
        "node_id": services.node_id,
        "now_us": services.clock.monotonic_us(),
        "requests": _plain(local.dispatcher.statistics()),
        "request_log": _plain(services.request_log.statistics()),
        "reactor": _plain(local.reactor.statistics()),
        "timers": _plain(local.timers.statistics()),
        "cold_reads": None if local.cold_reads is None else _plain(local.cold_reads.statistics()),
        "fetch_verification": _plain(replicas.verifier.statistics) if replicas.verifier else None,
        "retired_traffic": _plain(services.replicas.partitions.retired_traffic),
        "waiting": _plain(services.replicas.waiting_statistics()),
        "fetch_sessions": _plain(services.fetch_sessions.statistics()),
        "logs": _plain(services.logs.statistics()),
        "log_cleaner": None if cleaner is None else cleaner.statistics().figures(),
        "flushes": {
            "times": _plain(services.logs.flush_times.statistics()),
            "group_commit": _plain(services.logs.group_commit.statistics()),
        },
        "log_directories": [[directory.path, directory.online] for directory in services.logs.directories],
        "metadata_log": _plain(controller.log.statistics()),
        "brokers": {
            "active": sum(not broker.fenced for broker in services.image.brokers.values()),
            "fenced": sum(broker.fenced for broker in services.image.brokers.values()),
        },
    }


def _count_image(image: MetadataImage) -> Generator[bytes, None, dict[str, int]]:
    """Return counts over the whole cluster; yields nothing but the turn."""
    topics = list(image.topics.values())
    partitions = offline = imbalanced = since_yield = 0
    for topic in topics:
        for partition in topic.partitions.values():
            offline += partition.leader < 0
            imbalanced += partition.leader != partition.replicas[0]
        partitions += len(topic.partitions)
        since_yield += len(topic.partitions)
        if since_yield >= IMAGE_PARTITIONS_PER_PIECE:
            since_yield = 0
            yield b""
    return {
        "topics": len(topics),
        "partitions": partitions,
        "offline_partitions": offline,
        "imbalanced_partitions": imbalanced,
    }


def _partition_rows(partitions: Iterator[Partition], late_before_ms: int) -> Iterator[bytes]:
    separator = b""
    while True:
        rows = [_row(partition, late_before_ms) for partition in islice(partitions, PARTITIONS_PER_PIECE)]
        if not rows:
            return
        yield separator + _json([row for row in rows if row is not None])[1:-1]
        separator = b","


def _row(partition: Partition, late_before_ms: int) -> list[object] | None:
    if partition.state in (PartitionState.DELETED, PartitionState.REMOVED):
        return None
    log, traffic = partition.log, partition.traffic
    wrote_ms = log.producers.oldest_open_timestamp()
    figures = log.statistics()
    return [
        partition.topic,
        partition.partition,
        partition.is_leader,
        partition.state is PartitionState.OFFLINE,
        len(partition.replicas),
        len(partition.isr),
        partition.min_insync_replicas,
        figures["log_start_offset"],
        partition.high_watermark,
        figures["log_end_offset"],
        figures["size_bytes"],
        figures["segments"],
        traffic.messages_in,
        traffic.bytes_in,
        traffic.bytes_out,
        partition.fetches,
        traffic.produces,
        traffic.failed_produces,
        wrote_ms is not None and wrote_ms < late_before_ms,
    ]


def _plain(value: object) -> object:
    """Return a statistics object as what `json` can write: by field, enums by their name."""
    if value is None or isinstance(value, str | int | float):
        return value.name if isinstance(value, Enum) else value
    if isinstance(value, Enum):
        return value.name
    if isinstance(value, Mapping):
        return {str(_plain(key)): _plain(content) for key, content in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(element) for element in value]
    return {name: _plain(getattr(value, name)) for name in type(value).__slots__}  # type: ignore[attr-defined]


def _json(value: object) -> bytes:
    return json.dumps(value, separators=(",", ":")).encode()

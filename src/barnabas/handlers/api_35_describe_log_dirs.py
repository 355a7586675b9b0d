"""DescribeLogDirs (key 35), v1-5.

Tells what lies in each log directory (KIP-113) and how much room there is (KIP-827).

Behaviour
- No topics at all (null) means all replicas; an empty list none, only the directories themselves.
- Unknown topics and partitions are left out.
- A directory that failed answers KAFKA_STORAGE_ERROR and hides nothing of the others.
- offset_lag is what a replica is behind the high watermark; 0 for a leader.
- A copy that is to become the replica of this directory has its own line, with is_future_key, and as its lag
  what it still lacks of the log.
Versions
- 3 an error for the whole request; 4 total and usable bytes; 5 cordoned directories (KIP-1066)
"""

from __future__ import annotations

from collections.abc import Iterator

from barnabas.base.errors import ApiError, ErrorCode
from barnabas.handlers.request import RequestContext
from barnabas.protocol import messages
from barnabas.storage.log import Log
from barnabas.storage.log_directory import LogDirectory
from barnabas.storage.topic_partition import TopicPartition

_UNKNOWN = -1


def handle(
    context: RequestContext, request: messages.DescribeLogDirsRequest
) -> messages.DescribeLogDirsResponse:
    """Describe every directory, with the replicas that are asked for."""
    wanted: set[TopicPartition] | None = None
    if request.topics is not None:
        wanted = {
            TopicPartition(topic.topic, partition)
            for topic in request.topics
            for partition in topic.partitions
        }
    return messages.DescribeLogDirsResponse(
        results=[_describe(context, directory, wanted) for directory in context.services.logs.directories]
    )


def error_response(
    request: messages.DescribeLogDirsRequest, error: ApiError, version: int
) -> messages.DescribeLogDirsResponse:
    """The answer to a request that failed; versions without an error code tell of no directory."""
    return messages.DescribeLogDirsResponse(error_code=error.code)


def _describe(
    context: RequestContext, directory: LogDirectory, wanted: set[TopicPartition] | None
) -> messages.DescribeLogDirsResponseDescribeLogDirsResult:
    result = messages.DescribeLogDirsResponseDescribeLogDirsResult(
        log_dir=directory.path, total_bytes=_UNKNOWN, usable_bytes=_UNKNOWN
    )
    result.is_cordoned = directory.cordoned
    if not directory.online:
        result.error_code = ErrorCode.KAFKA_STORAGE_ERROR
        return result
    topics: dict[str, messages.DescribeLogDirsResponseDescribeLogDirsTopic] = {}
    for name, partition in _replicas(context, directory, wanted):
        topic = topics.get(name.topic)
        if topic is None:
            topic = messages.DescribeLogDirsResponseDescribeLogDirsTopic(name=name.topic)
            topics[name.topic] = topic
        topic.partitions.append(partition)
    result.topics = list(topics.values())
    try:
        result.total_bytes, result.usable_bytes = directory.disk.space(directory.path)
    except OSError:
        # What is unknown is told as -1; a directory that fails is noticed where it is used.
        return result
    return result


def _replicas(
    context: RequestContext, directory: LogDirectory, wanted: set[TopicPartition] | None
) -> Iterator[tuple[TopicPartition, messages.DescribeLogDirsResponseDescribeLogDirsPartition]]:
    logs = context.services.logs
    for name, log in logs.logs_of(directory).items():
        if wanted is None or name in wanted:
            yield name, _replica(context, name, log)
    if logs.made_future_logs is not None:
        for name, future in logs.made_future_logs.futures_in(directory).items():
            if wanted is None or name in wanted:
                yield (
                    name,
                    messages.DescribeLogDirsResponseDescribeLogDirsPartition(
                        partition_index=name.partition,
                        partition_size=future.size,
                        offset_lag=future.source.log_end_offset - future.end_offset,
                        is_future_key=True,
                    ),
                )


def _replica(
    context: RequestContext, name: TopicPartition, log: Log
) -> messages.DescribeLogDirsResponseDescribeLogDirsPartition:
    high_watermark = context.services.replicas.partitions.high_watermark(name)
    return messages.DescribeLogDirsResponseDescribeLogDirsPartition(
        partition_index=name.partition,
        partition_size=log.size,
        offset_lag=_UNKNOWN if high_watermark is None else max(high_watermark - log.log_end_offset, 0),
    )

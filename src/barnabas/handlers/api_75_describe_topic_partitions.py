"""DescribeTopicPartitions (key 75), v0.

Describes topics page by page, with eligible leader replicas (KIP-966).

Behaviour
- Topics come in the order of their names; no names at all means all topics.
- A page holds at most `max.request.partition.size.limit` partitions, less when the client says so, at
  least one. The cursor names what comes next, and is where the next request begins.
- A cursor that names a topic that was not asked for, or a negative partition, fails the whole request.
- Operations are told without being asked for.
"""

from __future__ import annotations

from barnabas.base.errors import ApiError, ErrorCode
from barnabas.handlers.request import RequestContext
from barnabas.handlers.topics import OPERATIONS_NOT_ASKED, TOPIC_OPERATIONS, is_internal
from barnabas.metadata.image import PartitionImage
from barnabas.metadata.topic_names import validate_topic_name
from barnabas.protocol import messages

_Topic = messages.DescribeTopicPartitionsResponseDescribeTopicPartitionsResponseTopic
_Partition = messages.DescribeTopicPartitionsResponseDescribeTopicPartitionsResponsePartition


def handle(
    context: RequestContext, request: messages.DescribeTopicPartitionsRequest
) -> messages.DescribeTopicPartitionsResponse:
    """Fill one page."""
    names, first_partition = _names(context, request)
    limit = context.services.settings.max_request_partition_size_limit
    remaining = max(1, min(limit, request.response_partition_limit))
    response = messages.DescribeTopicPartitionsResponse()
    for name in names:
        if remaining <= 0:
            response.next_cursor = _cursor(name, 0)
            break
        topic, next_partition = _describe(context, name, first_partition, remaining)
        response.topics.append(topic)
        if next_partition is not None:
            response.next_cursor = _cursor(name, next_partition)
            break
        remaining -= len(topic.partitions)
        first_partition = 0
    return response


def error_response(
    request: messages.DescribeTopicPartitionsRequest, error: ApiError, version: int
) -> messages.DescribeTopicPartitionsResponse:
    """Every topic asked for failed for the same reason."""
    return messages.DescribeTopicPartitionsResponse(
        topics=[
            _Topic(error_code=error.code, name=topic.name, topic_authorized_operations=OPERATIONS_NOT_ASKED)
            for topic in request.topics
        ]
    )


def _names(
    context: RequestContext, request: messages.DescribeTopicPartitionsRequest
) -> tuple[list[str], int]:
    """Return the topics from the cursor on, and the partition to begin the first one with."""
    topics = context.services.image.topics
    names = sorted({topic.name for topic in request.topics} or topics)
    cursor = request.cursor
    if cursor is None:
        return names, 0
    if cursor.partition_index < 0:
        raise ApiError(ErrorCode.INVALID_REQUEST, f"the cursor names partition {cursor.partition_index}")
    if request.topics and cursor.topic_name not in names:
        raise ApiError(
            ErrorCode.INVALID_REQUEST, f"the cursor names topic {cursor.topic_name!r}, not asked for"
        )
    names = [name for name in names if name >= cursor.topic_name]
    begins_there = bool(names) and names[0] == cursor.topic_name
    return names, cursor.partition_index if begins_there else 0


def _describe(
    context: RequestContext, name: str, first_partition: int, count_max: int
) -> tuple[_Topic, int | None]:
    """Return a topic with some of its partitions, and the first that did not fit."""
    topic = context.services.image.topics.get(name)
    if topic is None:
        error = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
        try:
            validate_topic_name(name)
        except ApiError as invalid:
            error = invalid.code
        unknown = _Topic(
            error_code=error,
            name=name,
            is_internal=is_internal(name),
            topic_authorized_operations=TOPIC_OPERATIONS,
        )
        return unknown, None
    numbers = [number for number in sorted(topic.partitions) if number >= first_partition]
    told = numbers[:count_max]
    described = _Topic(
        name=name,
        topic_id=topic.topic_id,
        is_internal=is_internal(name),
        partitions=[_partition(context, topic.partitions[number]) for number in told],
        topic_authorized_operations=TOPIC_OPERATIONS,
    )
    return described, numbers[count_max] if len(numbers) > count_max else None


def _partition(context: RequestContext, partition: PartitionImage) -> _Partition:
    return _Partition(
        error_code=ErrorCode.NONE,  # as Apache Kafka has it: the leader alone tells that there is none
        partition_index=partition.partition,
        leader_id=partition.leader,
        leader_epoch=partition.leader_epoch,
        replica_nodes=list(partition.replicas),
        isr_nodes=list(partition.isr),
        eligible_leader_replicas=list(partition.eligible_leader_replicas),
        last_known_elr=list(partition.last_known_elr),
        offline_replicas=context.services.replicas.offline_replicas(partition),
    )


def _cursor(name: str, partition: int) -> messages.DescribeTopicPartitionsResponseCursor:
    return messages.DescribeTopicPartitionsResponseCursor(topic_name=name, partition_index=partition)

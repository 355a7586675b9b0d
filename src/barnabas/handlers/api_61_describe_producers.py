"""DescribeProducers (key 61), v0.

Tells the producers a partition remembers, to find hanging transactions (KIP-664).

Behaviour
- Only a partition's leader knows; others answer NOT_LEADER_OR_FOLLOWER.
- A producer's sequence is -1 after a transaction marker; without an open transaction its start is -1.
"""

from __future__ import annotations

from barnabas.base.errors import ApiError, ErrorCode
from barnabas.handlers.request import RequestContext
from barnabas.metadata.topic_names import validate_topic_name
from barnabas.protocol import messages
from barnabas.replica.partition import Partition

_NO_OFFSET = -1
_Partition = messages.DescribeProducersResponsePartitionResponse


def handle(
    context: RequestContext, request: messages.DescribeProducersRequest
) -> messages.DescribeProducersResponse:
    """Describe each partition's producers."""
    return messages.DescribeProducersResponse(
        topics=[
            messages.DescribeProducersResponseTopicResponse(
                name=topic.name,
                partitions=[_describe(context, topic.name, number) for number in topic.partition_indexes],
            )
            for topic in request.topics
        ]
    )


def error_response(
    request: messages.DescribeProducersRequest, error: ApiError, version: int
) -> messages.DescribeProducersResponse:
    """Every partition failed for the same reason."""
    return messages.DescribeProducersResponse(
        topics=[
            messages.DescribeProducersResponseTopicResponse(
                name=topic.name,
                partitions=[_failed(number, error) for number in topic.partition_indexes],
            )
            for topic in request.topics
        ]
    )


def _describe(context: RequestContext, topic: str, number: int) -> _Partition:
    try:
        validate_topic_name(topic)
        if topic not in context.services.image.topics:
            why = "This server does not host this topic-partition."
            raise ApiError(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, why)
        partition = context.services.replicas.partitions.get(topic, number)
        if not partition.is_leader:
            raise ApiError(ErrorCode.NOT_LEADER_OR_FOLLOWER)
    except ApiError as error:
        return _failed(number, error)
    return _Partition(partition_index=number, active_producers=_producers(partition))


def _producers(partition: Partition) -> list[messages.DescribeProducersResponseProducerState]:
    return [
        messages.DescribeProducersResponseProducerState(
            producer_id=state.producer_id,
            producer_epoch=state.epoch,
            last_sequence=state.last_sequence,
            last_timestamp=state.last_timestamp,
            coordinator_epoch=state.coordinator_epoch,
            current_txn_start_offset=(
                _NO_OFFSET if state.txn_first_offset is None else state.txn_first_offset
            ),
        )
        for state in partition.log.producers.producers.values()
    ]


def _failed(number: int, error: ApiError) -> _Partition:
    return _Partition(partition_index=number, error_code=error.code, error_message=error.message)

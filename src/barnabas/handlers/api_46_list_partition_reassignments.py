"""ListPartitionReassignments (key 46), v0.

Tells which partitions are being moved (KIP-455).

Behaviour
- Null topics mean all. Partitions that are not being moved, unknown ones too, are left out.
- This broker finishes a reassignment at once; only a directory that came from a larger cluster has some.
"""

from __future__ import annotations

from collections.abc import Iterator

from barnabas.base.errors import ApiError
from barnabas.handlers.request import RequestContext
from barnabas.metadata.image import PartitionImage
from barnabas.protocol import messages


def handle(
    context: RequestContext, request: messages.ListPartitionReassignmentsRequest
) -> messages.ListPartitionReassignmentsResponse:
    """List what has replicas to add or to remove."""
    topics: dict[str, messages.ListPartitionReassignmentsResponseOngoingTopicReassignment] = {}
    for name, partition in _asked(context, request):
        if not (partition.adding_replicas or partition.removing_replicas):
            continue
        topic = topics.get(name)
        if topic is None:
            topic = messages.ListPartitionReassignmentsResponseOngoingTopicReassignment(name=name)
            topics[name] = topic
        topic.partitions.append(
            messages.ListPartitionReassignmentsResponseOngoingPartitionReassignment(
                partition_index=partition.partition,
                replicas=list(partition.replicas),
                adding_replicas=list(partition.adding_replicas),
                removing_replicas=list(partition.removing_replicas),
            )
        )
    return messages.ListPartitionReassignmentsResponse(error_message=None, topics=list(topics.values()))


def error_response(
    request: messages.ListPartitionReassignmentsRequest, error: ApiError, version: int
) -> messages.ListPartitionReassignmentsResponse:
    """The answer to a request that failed."""
    return messages.ListPartitionReassignmentsResponse(error_code=error.code, error_message=error.message)


def _asked(
    context: RequestContext, request: messages.ListPartitionReassignmentsRequest
) -> Iterator[tuple[str, PartitionImage]]:
    image = context.services.image
    if request.topics is None:
        for topic in image.topics.values():
            for partition in topic.partitions.values():
                yield topic.name, partition
        return
    for asked in request.topics:
        for number in asked.partition_indexes:
            found = image.partition(asked.name, number)
            if found is not None:
                yield asked.name, found

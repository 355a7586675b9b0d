"""OffsetDelete (key 47), v0.

Deletes committed offsets of a group for topics that none of its members reads (KIP-496).

Behaviour
- Topics and partitions that do not exist are UNKNOWN_TOPIC_OR_PARTITION, a subscribed topic is
  GROUP_SUBSCRIBED_TO_TOPIC; an offset that was not committed is no error.
- Errors of the whole group: INVALID_GROUP_ID, GROUP_ID_NOT_FOUND, NON_EMPTY_GROUP when its members do not say
  what they read.
"""

from __future__ import annotations

from barnabas.base.errors import ApiError, ErrorCode
from barnabas.coordinator.offsets.commits import delete_offsets
from barnabas.handlers.request import RequestContext
from barnabas.protocol import messages

TopicAnswer = messages.OffsetDeleteResponseOffsetDeleteResponseTopic


def handle(context: RequestContext, request: messages.OffsetDeleteRequest) -> None:
    """Delete; answered when it is in the log."""
    if not request.group_id:
        raise ApiError(ErrorCode.INVALID_GROUP_ID)
    failed = _take_out_unknown(context, request)

    def reply(response: messages.OffsetDeleteResponse) -> None:
        merged = {topic.name: topic for topic in failed}
        for topic in response.topics:
            present = merged.setdefault(topic.name, topic)
            if present is not topic:
                present.partitions += topic.partitions
        context.respond(messages.OffsetDeleteResponse(topics=list(merged.values())))

    context.services.groups.write(
        request.group_id,
        lambda shard, _: delete_offsets(shard.offsets, request),
        reply,
        lambda error: context.respond(error_response(request, error, 0)),
    )


def error_response(
    request: messages.OffsetDeleteRequest, error: ApiError, version: int
) -> messages.OffsetDeleteResponse:
    """The whole group's error."""
    return messages.OffsetDeleteResponse(error_code=error.code)


def _take_out_unknown(context: RequestContext, request: messages.OffsetDeleteRequest) -> list[TopicAnswer]:
    """Take out of the request what does not exist, and return its answers."""
    failed = []
    for topic in request.topics:
        known = context.services.image.topics.get(topic.name)
        partitions = () if known is None else known.partitions
        missing = [one for one in topic.partitions if one.partition_index not in partitions]
        if missing:
            topic.partitions = [one for one in topic.partitions if one.partition_index in partitions]
            answers = [
                messages.OffsetDeleteResponseOffsetDeleteResponsePartition(
                    partition_index=one.partition_index, error_code=ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
                )
                for one in missing
            ]
            failed.append(TopicAnswer(name=topic.name, partitions=answers))
    request.topics = [topic for topic in request.topics if topic.partitions]
    return failed

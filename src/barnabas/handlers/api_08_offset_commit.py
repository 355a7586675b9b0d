"""OffsetCommit (key 8), v2-10.

Keeps how far a group has come in each partition.

Behaviour
- Topics and partitions that do not exist are answered each on its own, the rest is committed: one batch, all
or
  nothing. A request of which nothing is left does not reach the group.
- A group that does not exist is made by whoever commits without being a member (generation -1).
- Metadata above `offset.metadata.max.bytes`, counted in UTF-16 units, is OFFSET_METADATA_TOO_LARGE.
Versions
- 2-4 a retention of the client's own; 6 leader epochs (KIP-320); 7 static members (KIP-345); 9 consumer
groups
  (KIP-848), GROUP_ID_NOT_FOUND and STALE_MEMBER_EPOCH; 10 topic ids (KIP-848)
"""

from __future__ import annotations

from barnabas.base.errors import ApiError, ErrorCode
from barnabas.coordinator.offsets.commits import commit_offsets
from barnabas.handlers.request import RequestContext
from barnabas.protocol import messages

_FIRST_WITH_TOPIC_IDS = 10

Topic = messages.OffsetCommitRequestOffsetCommitRequestTopic
TopicAnswer = messages.OffsetCommitResponseOffsetCommitResponseTopic


def handle(
    context: RequestContext, request: messages.OffsetCommitRequest
) -> messages.OffsetCommitResponse | None:
    """Commit; answered when it is in the log."""
    failed = _take_out_unknown(context, request)
    if failed and not request.topics:
        return messages.OffsetCommitResponse(topics=failed)
    version = context.api_version

    def answer(response: messages.OffsetCommitResponse) -> messages.OffsetCommitResponse:
        return _merged(failed, response, by_id=version >= _FIRST_WITH_TOPIC_IDS) if failed else response

    context.services.groups.write(
        request.group_id,
        lambda shard, now_ms: commit_offsets(shard.offsets, request, version, now_ms),
        context.respond if not failed else lambda response: context.respond(answer(response)),
        lambda error: context.respond(answer(error_response(request, error, version))),
    )
    return None


def error_response(
    request: messages.OffsetCommitRequest, error: ApiError, version: int
) -> messages.OffsetCommitResponse:
    """Every partition failed for the same reason."""
    return messages.OffsetCommitResponse(topics=[_failed(topic, error.code) for topic in request.topics])


def _take_out_unknown(context: RequestContext, request: messages.OffsetCommitRequest) -> list[TopicAnswer]:
    """Give each topic both its name and its id, and take out of the request what does not exist."""
    image = context.services.image
    by_id = context.api_version >= _FIRST_WITH_TOPIC_IDS
    failed: list[TopicAnswer] = []
    for topic in request.topics:
        known = image.topics_by_id.get(topic.topic_id) if by_id else image.topics.get(topic.name)
        if known is None:
            error = ErrorCode.UNKNOWN_TOPIC_ID if by_id else ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
            failed.append(_failed(topic, error))
            topic.partitions = []
            continue
        topic.name = known.name
        topic.topic_id = known.topic_id
        for partition in topic.partitions:
            if partition.partition_index not in known.partitions:
                break
        else:
            continue
        missing = [one for one in topic.partitions if one.partition_index not in known.partitions]
        topic.partitions = [one for one in topic.partitions if one.partition_index in known.partitions]
        failed.append(
            _failed(
                Topic(name=topic.name, topic_id=topic.topic_id, partitions=missing),
                ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
            )
        )
    if not all(topic.partitions for topic in request.topics):
        # What has failed, and topics that came without partitions: they are not answered.
        request.topics = [topic for topic in request.topics if topic.partitions]
    return failed


def _failed(topic: Topic, error: ErrorCode) -> TopicAnswer:
    return TopicAnswer(
        name=topic.name,
        topic_id=topic.topic_id,
        partitions=[
            messages.OffsetCommitResponseOffsetCommitResponsePartition(
                partition_index=partition.partition_index, error_code=error
            )
            for partition in topic.partitions
        ],
    )


def _merged(
    failed: list[TopicAnswer], response: messages.OffsetCommitResponse, *, by_id: bool
) -> messages.OffsetCommitResponse:
    """Return one answer with the failed partitions first, each topic once."""
    merged: dict[bytes | str, TopicAnswer] = {}
    for topic in (*failed, *response.topics):
        present = merged.setdefault(topic.topic_id if by_id else topic.name, topic)
        if present is not topic:
            present.partitions += topic.partitions
    return messages.OffsetCommitResponse(topics=list(merged.values()))

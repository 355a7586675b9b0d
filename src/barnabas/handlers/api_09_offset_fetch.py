"""OffsetFetch (key 9), v1-10.

Tells how far groups have come.

Behaviour
- A partition without a commit answers offset -1 and no error, and so does a group that does not exist.
- Null topics ask for all that the group has.
- Groups of one request are answered each on its own, together when the last one is known.
- An offset that was committed for another topic of the same name, since deleted, is not told.
Versions
- 2 all topics, an error for the whole; 5 leader epochs; 7 RequireStable (KIP-447); 8 several groups
(KIP-709); 9
  members of consumer groups say who they are (KIP-848); 10 topic ids
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from barnabas.base.errors import ApiError, ErrorCode
from barnabas.base.uuids import NULL_UUID
from barnabas.coordinator.offsets.fetches import AnswerRoom, fetch_offsets, no_offset
from barnabas.handlers.request import RequestContext
from barnabas.metadata.image import MetadataImage
from barnabas.protocol import messages

_FIRST_WITH_ERROR_OF_GROUP = 2
_FIRST_WITH_GROUPS = 8
_FIRST_WITH_TOPIC_IDS = 10

Group = messages.OffsetFetchRequestOffsetFetchRequestGroup
GroupAnswer = messages.OffsetFetchResponseOffsetFetchResponseGroup
TopicAnswer = messages.OffsetFetchResponseOffsetFetchResponseTopics


def handle(
    context: RequestContext, request: messages.OffsetFetchRequest
) -> messages.OffsetFetchResponse | None:
    """Answer when each group's coordinator has."""
    version = context.api_version
    asked = request.groups if version >= _FIRST_WITH_GROUPS else [_only_group(request)]
    if not asked:
        return messages.OffsetFetchResponse()
    answers: dict[int, GroupAnswer] = {}

    def answered(place: int, answer: GroupAnswer) -> None:
        answers[place] = answer
        if len(answers) == len(asked):
            in_order = [answers[index] for index in range(len(asked))]
            context.respond(
                messages.OffsetFetchResponse(groups=in_order)
                if version >= _FIRST_WITH_GROUPS
                else _response_of_one(in_order[0])
            )

    room = AnswerRoom()
    for place, group in enumerate(asked):
        _ask(context, group, request.require_stable, room, partial(answered, place))
    return None


def error_response(
    request: messages.OffsetFetchRequest, error: ApiError, version: int
) -> messages.OffsetFetchResponse:
    """Every group failed for the same reason."""
    if version >= _FIRST_WITH_GROUPS:
        return messages.OffsetFetchResponse(
            groups=[_group_error(group, error, version) for group in request.groups]
        )
    return _response_of_one(_group_error(_only_group(request), error, version))


def _ask(
    context: RequestContext,
    group: Group,
    require_stable: bool,
    room: AnswerRoom,
    answered: Callable[[GroupAnswer], None],
) -> None:
    image = context.services.image
    version = context.api_version
    unknown = _resolve_topics(image, group, by_id=version >= _FIRST_WITH_TOPIC_IDS)
    asks_for_all = group.topics is None

    def complete(answer: GroupAnswer) -> None:
        if asks_for_all and version >= _FIRST_WITH_TOPIC_IDS:
            answer.topics = _with_ids(image, answer.topics)
        answer.topics += unknown
        answered(answer)

    context.services.groups.read(
        group.group_id,
        lambda shard, _: fetch_offsets(shard.offsets, group, require_stable=require_stable, room=room),
        complete,
        lambda error: answered(_group_error(group, error, version)),
    )


def _resolve_topics(image: MetadataImage, group: Group, *, by_id: bool) -> list[TopicAnswer]:
    """Give topics their names and ids; take those with unknown ids out of the request, and answer them."""
    unknown: list[TopicAnswer] = []
    for topic in group.topics or ():
        known = image.topics_by_id.get(topic.topic_id) if by_id else image.topics.get(topic.name)
        if known is not None:
            topic.name = known.name
            topic.topic_id = known.topic_id
        elif by_id:
            error = ErrorCode.UNKNOWN_TOPIC_ID
            partitions = [no_offset(number, error) for number in topic.partition_indexes]
            unknown.append(TopicAnswer(topic_id=topic.topic_id, partitions=partitions))
    if unknown:
        group.topics = [topic for topic in group.topics or () if topic.name]
    return unknown


def _with_ids(image: MetadataImage, topics: list[TopicAnswer]) -> list[TopicAnswer]:
    """Give topics their ids; those that do not exist any more cannot be told."""
    for topic in topics:
        known = image.topics.get(topic.name)
        topic.topic_id = NULL_UUID if known is None else known.topic_id
    return [topic for topic in topics if topic.topic_id != NULL_UUID]


def _only_group(request: messages.OffsetFetchRequest) -> Group:
    """Return the request of a version with one group in the shape of the later ones."""
    topics = None
    if request.topics is not None:
        topics = [
            messages.OffsetFetchRequestOffsetFetchRequestTopics(
                name=topic.name, partition_indexes=topic.partition_indexes
            )
            for topic in request.topics
        ]
    return Group(group_id=request.group_id, topics=topics)


def _response_of_one(group: GroupAnswer) -> messages.OffsetFetchResponse:
    return messages.OffsetFetchResponse(
        error_code=group.error_code,
        topics=[
            messages.OffsetFetchResponseOffsetFetchResponseTopic(
                name=topic.name,
                partitions=[
                    messages.OffsetFetchResponseOffsetFetchResponsePartition(
                        partition_index=partition.partition_index,
                        committed_offset=partition.committed_offset,
                        committed_leader_epoch=partition.committed_leader_epoch,
                        metadata=partition.metadata,
                        error_code=partition.error_code,
                    )
                    for partition in topic.partitions
                ],
            )
            for topic in group.topics
        ],
    )


def _group_error(group: Group, error: ApiError, version: int) -> GroupAnswer:
    """Return a group's error; the first versions can only tell it of each partition."""
    if version >= _FIRST_WITH_ERROR_OF_GROUP:
        return GroupAnswer(group_id=group.group_id, error_code=error.code)
    topics = [
        TopicAnswer(
            name=topic.name, partitions=[no_offset(number, error.code) for number in topic.partition_indexes]
        )
        for topic in group.topics or ()
    ]
    return GroupAnswer(group_id=group.group_id, topics=topics)

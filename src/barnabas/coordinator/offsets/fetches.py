"""Reading committed offsets.

A group that does not exist has committed nothing, which is no error. What an open transaction is about to
commit is hidden, unless the reader says that it would rather wait for that (RequireStable, KIP-447).
"""

from __future__ import annotations

from collections.abc import Sequence

from barnabas.base.errors import ApiError, ErrorCode
from barnabas.base.limits import GROUPS_ANSWER_BYTES_MAX
from barnabas.base.uuids import NULL_UUID
from barnabas.coordinator.offsets.committed import CommittedOffset, PartitionOffsets
from barnabas.coordinator.offsets.group_offsets import GroupOffsets
from barnabas.protocol import messages

NO_OFFSET = -1

_PARTITION_BYTES = 100
"""What a partition is counted with besides its metadata: one million of them may be asked for at once."""


class AnswerRoom:
    """How much more may go into the answer of one request."""

    __slots__ = ("_bytes_left",)

    def __init__(self, bytes_max: int = GROUPS_ANSWER_BYTES_MAX) -> None:
        self._bytes_left = bytes_max

    def take(self, partitions: int, metadata_bytes: int) -> None:
        """Count what is about to be told.

        Raises:
            ApiError: INVALID_REQUEST: it is too much.
        """
        self._bytes_left -= partitions * _PARTITION_BYTES + metadata_bytes
        if self._bytes_left < 0:
            raise ApiError(ErrorCode.INVALID_REQUEST, "more offsets are asked for than one answer may tell")


def fetch_offsets(
    offsets: GroupOffsets,
    request: messages.OffsetFetchRequestOffsetFetchRequestGroup,
    *,
    require_stable: bool,
    room: AnswerRoom,
) -> messages.OffsetFetchResponseOffsetFetchResponseGroup:
    """Answer one group of an OffsetFetch.

    Args:
        request: its topics have names; None asks for all. A topic id that is not that of the commit hides it:
            the topic was made anew since.
        require_stable: partitions with an undecided transaction answer UNSTABLE_OFFSET_COMMIT.
        room: of the whole request.
    Raises:
        ApiError: who claims to be a member is none: UNKNOWN_MEMBER_ID, STALE_MEMBER_EPOCH; there is no more
            room: INVALID_REQUEST.
    """
    group_id = request.group_id
    group = offsets.groups.get(group_id)
    if group is not None:
        group.check_offset_fetch(request.member_id, request.member_epoch)
    response = messages.OffsetFetchResponseOffsetFetchResponseGroup(group_id=group_id)
    committed = offsets.committed.by_group.get(group_id, {})
    unstable = offsets.pending.partitions(group_id) if require_stable else {}
    if request.topics is None:
        for name, partitions in committed.items():
            response.topics.append(
                _answer(name, NULL_UUID, list(partitions), partitions, unstable=unstable, room=room)
            )
        return response
    for topic in request.topics:
        response.topics.append(
            _answer(
                topic.name,
                topic.topic_id,
                topic.partition_indexes,
                committed.get(topic.name, {}),
                unstable=unstable,
                room=room,
            )
        )
    return response


def _answer(
    name: str,
    topic_id: bytes,
    numbers: Sequence[int],
    committed: PartitionOffsets,
    *,
    unstable: dict[tuple[str, int], set[int]],
    room: AnswerRoom,
) -> messages.OffsetFetchResponseOffsetFetchResponseTopics:
    room.take(len(numbers), 0)
    answered = []
    for number in numbers:
        offset = committed.get(number)
        if unstable and (name, number) in unstable:
            answered.append(no_offset(number, ErrorCode.UNSTABLE_OFFSET_COMMIT))
        elif offset is None or _is_of_another_topic(offset, topic_id):
            answered.append(no_offset(number))
        else:
            if offset.metadata:
                room.take(0, len(offset.metadata))
            answered.append(
                messages.OffsetFetchResponseOffsetFetchResponsePartitions(
                    partition_index=number,
                    committed_offset=offset.committed_offset,
                    committed_leader_epoch=offset.leader_epoch,
                    metadata=offset.metadata,
                )
            )
    return messages.OffsetFetchResponseOffsetFetchResponseTopics(
        name=name, topic_id=topic_id, partitions=answered
    )


def no_offset(
    number: int, error: ErrorCode = ErrorCode.NONE
) -> messages.OffsetFetchResponseOffsetFetchResponsePartitions:
    """Return the answer for a partition of which there is nothing to tell, or not now."""
    return messages.OffsetFetchResponseOffsetFetchResponsePartitions(
        partition_index=number, committed_offset=NO_OFFSET, metadata="", error_code=error
    )


def _is_of_another_topic(offset: CommittedOffset, topic_id: bytes) -> bool:
    return topic_id not in (NULL_UUID, offset.topic_id) and offset.topic_id != NULL_UUID

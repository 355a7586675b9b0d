"""Committing offsets, within a transaction or not, and deleting them.

What is asked for has passed the handler: topics exist and have name and id. Here the group decides who may
commit, and each partition gets a record. Of a group that does not exist only those may commit who do not
claim to be a member: replaying the record then makes a group that holds nothing but offsets.
"""

from __future__ import annotations

from collections.abc import Iterable

from barnabas.base.errors import ApiError, ErrorCode
from barnabas.base.hints import TYPE_CHECKING, Final
from barnabas.coordinator.groups.group import OffsetCommitCheck
from barnabas.coordinator.offsets.committed import NO_EXPIRE_TIMESTAMP
from barnabas.coordinator.offsets.group_offsets import GroupOffsets, offset_tombstone
from barnabas.coordinator.runtime.outcome import CoordinatorRecord, Outcome
from barnabas.protocol import messages

_NONE: Final = ErrorCode.NONE
_METADATA_TOO_LARGE: Final = ErrorCode.OFFSET_METADATA_TOO_LARGE

VALUE_VERSION: Final = 4
"""Of OffsetCommitValue: the one with topic ids, which Apache Kafka 4.4 writes."""

_VALUE_VERSION_WITH_EXPIRY: Final = 1
"""The only one that can say when an offset expires by the client's wish."""

_LATEST_MS: Final = 2**63 - 1
"""An offset that is to be kept longer than time can be told is kept as long as that."""

_FIRST_WITH_GROUP_ID_NOT_FOUND: Final = 9
_FIRST_TXN_WITH_GROUP_ERRORS: Final = 6

if TYPE_CHECKING:
    RequestPartition = (
        messages.OffsetCommitRequestOffsetCommitRequestPartition
        | messages.TxnOffsetCommitRequestTxnOffsetCommitRequestPartition
    )


def commit_offsets(
    offsets: GroupOffsets, request: messages.OffsetCommitRequest, api_version: int, now_ms: int
) -> Outcome[messages.OffsetCommitResponse]:
    """Commit what a member, or a consumer without membership, asks for.

    Raises:
        ApiError: nobody may commit so: see `Group.check_offset_commit`; GROUP_ID_NOT_FOUND or, before version
            9, ILLEGAL_GENERATION for members of a group that does not exist.
    """
    group_id = request.group_id
    group = offsets.groups.get(group_id)
    check: OffsetCommitCheck | None = None
    if group is not None:
        member_id = request.member_id
        check = group.check_offset_commit(
            member_id,
            request.group_instance_id,
            request.generation_id_or_member_epoch,
            is_transactional=False,
            api_version=api_version,
        )
        if member_id:
            group.heartbeat_noted(member_id)
    elif request.generation_id_or_member_epoch >= 0:
        raise ApiError(
            ErrorCode.GROUP_ID_NOT_FOUND
            if api_version >= _FIRST_WITH_GROUP_ID_NOT_FOUND
            else ErrorCode.ILLEGAL_GENERATION
        )
    retention_ms = request.retention_time_ms
    commit = _Commit(
        group_id,
        now_ms,
        NO_EXPIRE_TIMESTAMP if retention_ms == -1 else min(now_ms + retention_ms, _LATEST_MS),
        offsets.context.config_of(group_id).offset_metadata_max_bytes,
        check,
    )
    topics = []
    for topic in request.topics:
        answered = [
            messages.OffsetCommitResponseOffsetCommitResponsePartition(
                partition_index=partition.partition_index,
                error_code=commit.add(topic.name, topic.topic_id, partition),
            )
            for partition in topic.partitions
        ]
        topics.append(
            messages.OffsetCommitResponseOffsetCommitResponseTopic(
                name=topic.name, topic_id=topic.topic_id, partitions=answered
            )
        )
    offsets.commits += len(commit.records)
    return Outcome(records=commit.records, response=messages.OffsetCommitResponse(topics=topics))


def commit_transactional_offsets(
    offsets: GroupOffsets, request: messages.TxnOffsetCommitRequest, api_version: int, now_ms: int
) -> Outcome[messages.TxnOffsetCommitResponse]:
    """Commit offsets that count when the producer's transaction is committed (KIP-98).

    Raises:
        ApiError: as for `commit_offsets`; errors that the request's version does not know are
            ILLEGAL_GENERATION.
    """
    group = offsets.groups.get(request.group_id)
    check: OffsetCommitCheck | None = None
    try:
        if group is not None:
            check = group.check_offset_commit(
                request.member_id,
                request.group_instance_id,
                request.generation_id_or_member_epoch,
                is_transactional=True,
                api_version=api_version,
            )
        elif request.generation_id_or_member_epoch >= 0:
            raise ApiError(ErrorCode.GROUP_ID_NOT_FOUND)
        commit = _Commit(
            request.group_id,
            now_ms,
            NO_EXPIRE_TIMESTAMP,
            offsets.context.config_of(request.group_id).offset_metadata_max_bytes,
            check,
        )
        response = messages.TxnOffsetCommitResponse()
        for topic in request.topics:
            answered = [
                messages.TxnOffsetCommitResponseTxnOffsetCommitResponsePartition(
                    partition_index=partition.partition_index,
                    error_code=commit.add(topic.name, topic.topic_id, partition),
                )
                for partition in topic.partitions
            ]
            response.topics.append(
                messages.TxnOffsetCommitResponseTxnOffsetCommitResponseTopic(
                    name=topic.name, topic_id=topic.topic_id, partitions=answered
                )
            )
    except ApiError as error:
        if api_version < _FIRST_TXN_WITH_GROUP_ERRORS and error.code in (
            ErrorCode.GROUP_ID_NOT_FOUND,
            ErrorCode.STALE_MEMBER_EPOCH,
        ):
            raise ApiError(ErrorCode.ILLEGAL_GENERATION) from None
        raise
    offsets.commits += len(commit.records)
    return Outcome(
        records=commit.records, response=response, producer=(request.producer_id, request.producer_epoch)
    )


class _Commit:
    """The records of one commit as they come together."""

    __slots__ = ("_check", "_expire_timestamp_ms", "_group_id", "_metadata_max", "_now_ms", "records")

    def __init__(
        self,
        group_id: str,
        now_ms: int,
        expire_timestamp_ms: int,
        metadata_max: int,
        check: OffsetCommitCheck | None,
    ) -> None:
        self._group_id = group_id
        self._now_ms = now_ms
        self._expire_timestamp_ms = expire_timestamp_ms
        self._metadata_max = metadata_max
        self._check = check
        self.records: list[CoordinatorRecord] = []

    def add(self, topic: str, topic_id: bytes, partition: RequestPartition) -> ErrorCode:
        """Add the record of one partition, or return why it may not be committed.

        Raises:
            ApiError: the whole commit fails with this partition: STALE_MEMBER_EPOCH.
        """
        metadata = partition.committed_metadata or ""
        if len(metadata) * 2 > self._metadata_max and _java_length(metadata) > self._metadata_max:
            return _METADATA_TOO_LARGE
        if self._check is not None:
            self._check(topic, topic_id, partition.partition_index)
        key = messages.OffsetCommitKey(group=self._group_id, topic=topic, partition=partition.partition_index)
        value = messages.OffsetCommitValue(
            offset=partition.committed_offset,
            leader_epoch=partition.committed_leader_epoch,
            metadata=metadata,
            commit_timestamp=self._now_ms,
            expire_timestamp=self._expire_timestamp_ms,
            topic_id=topic_id,
        )
        version = VALUE_VERSION
        if self._expire_timestamp_ms != NO_EXPIRE_TIMESTAMP:
            version = _VALUE_VERSION_WITH_EXPIRY
        self.records.append(CoordinatorRecord(key, value, version))
        return _NONE


def _java_length(text: str) -> int:
    """Return how many UTF-16 units a text has: what `offset.metadata.max.bytes` counts in Apache Kafka."""
    return len(text.encode("utf-16-le", "surrogatepass")) // 2


def delete_offsets(
    offsets: GroupOffsets, request: messages.OffsetDeleteRequest
) -> Outcome[messages.OffsetDeleteResponse]:
    """Delete offsets of topics that no member is subscribed to (KIP-496); missing ones are no error.

    Raises:
        ApiError: GROUP_ID_NOT_FOUND, NON_EMPTY_GROUP.
    """
    group_id = request.group_id
    group = offsets.groups.get(group_id)
    if group is None:
        raise ApiError(ErrorCode.GROUP_ID_NOT_FOUND)
    group.check_offset_delete()
    records: list[CoordinatorRecord] = []
    response = messages.OffsetDeleteResponse()
    for topic in request.topics:
        numbers = [partition.partition_index for partition in topic.partitions]
        error = ErrorCode.NONE
        if group.is_subscribed_to(topic.name):
            error = ErrorCode.GROUP_SUBSCRIBED_TO_TOPIC
        else:
            records += _tombstones(offsets, group_id, topic.name, numbers)
        response.topics.append(
            messages.OffsetDeleteResponseOffsetDeleteResponseTopic(
                name=topic.name,
                partitions=[
                    messages.OffsetDeleteResponseOffsetDeleteResponsePartition(
                        partition_index=number, error_code=error
                    )
                    for number in numbers
                ],
            )
        )
    offsets.deletions += len(records)
    return Outcome(records=records, response=response)


def _tombstones(
    offsets: GroupOffsets, group_id: str, topic: str, partitions: Iterable[int]
) -> list[CoordinatorRecord]:
    pending = offsets.pending.partitions(group_id)
    return [
        offset_tombstone(group_id, topic, partition)
        for partition in partitions
        if offsets.committed.get(group_id, topic, partition) is not None or (topic, partition) in pending
    ]

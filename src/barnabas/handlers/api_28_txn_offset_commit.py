"""TxnOffsetCommit (key 28), v0-6.

Keeps how far a group has come, from the moment a producer's transaction is committed.

Behaviour
- The offsets are written at once and count with the transaction's marker; till then OffsetFetch tells the
  older ones, or with RequireStable that they are about to change (KIP-447).
- The partition of the group's offsets is a part of the transaction: clients of version 5 leave it to the
  broker to add it, those before have sent AddOffsetsToTxn, and that is verified.
- Who may commit is the group's to say, as in OffsetCommit. Producers that tell no member id and generation
  are not asked for any.
- Topics and partitions that do not exist are answered each on its own, the rest is committed.
Versions
- 2 leader epochs (KIP-320), COORDINATOR_LOAD_IN_PROGRESS; 3 member id, generation and instance id (KIP-447);
  4 TRANSACTION_ABORTABLE; 5 adds to the transaction (KIP-890); 6 topic ids
"""

from __future__ import annotations

from collections.abc import Callable

from barnabas.base.errors import ApiError, ErrorCode
from barnabas.coordinator.offsets.commits import commit_transactional_offsets
from barnabas.coordinator.transactions.state import ProducerIdAndEpoch
from barnabas.handlers.request import RequestContext
from barnabas.handlers.transaction_requests import TRANSACTIONS_KIP_890
from barnabas.protocol import messages
from barnabas.replica.produce import OFFSETS_TOPIC

_FIRST_WITH_LOAD_IN_PROGRESS = 2
_FIRST_WITH_TRANSACTION_ABORTABLE = 4
_FIRST_WITH_IMPLICIT_ADD = 5
_FIRST_WITH_TOPIC_IDS = 6

Topic = messages.TxnOffsetCommitRequestTxnOffsetCommitRequestTopic
TopicAnswer = messages.TxnOffsetCommitResponseTxnOffsetCommitResponseTopic
PartitionAnswer = messages.TxnOffsetCommitResponseTxnOffsetCommitResponsePartition


def handle(
    context: RequestContext, request: messages.TxnOffsetCommitRequest
) -> messages.TxnOffsetCommitResponse | None:
    """Commit; answered when it is in the log.

    Raises:
        ApiError: INVALID_GROUP_ID.
    """
    if not request.group_id:
        raise ApiError(ErrorCode.INVALID_GROUP_ID, "the group id is empty")
    failed = _take_out_unknown(context, request)
    if failed and not request.topics:
        return messages.TxnOffsetCommitResponse(topics=failed)
    version = context.api_version

    def answer(response: messages.TxnOffsetCommitResponse) -> None:
        by_id = version >= _FIRST_WITH_TOPIC_IDS
        context.respond(_merged(failed, response, by_id=by_id) if failed else response)

    def fail(error: ApiError) -> None:
        answer(error_response(request, error, version))

    def commit() -> None:
        context.services.groups.write(
            request.group_id,
            lambda shard, now_ms: commit_transactional_offsets(shard.offsets, request, version, now_ms),
            answer,
            fail,
        )

    _Admission(context, request).ask(commit, fail)
    return None


def error_response(
    request: messages.TxnOffsetCommitRequest, error: ApiError, version: int
) -> messages.TxnOffsetCommitResponse:
    """Every partition failed for the same reason."""
    code = error.code
    if code is ErrorCode.COORDINATOR_LOAD_IN_PROGRESS and version < _FIRST_WITH_LOAD_IN_PROGRESS:
        code = ErrorCode.COORDINATOR_NOT_AVAILABLE
    return messages.TxnOffsetCommitResponse(
        topics=[
            _failed(topic, [partition.partition_index for partition in topic.partitions], code)
            for topic in request.topics
        ]
    )


class _Admission:
    """Whether the offsets' partition is, or becomes, a part of the transaction."""

    __slots__ = ("_context", "_partition", "_request")

    def __init__(self, context: RequestContext, request: messages.TxnOffsetCommitRequest) -> None:
        self._context = context
        self._request = request
        self._partition = (OFFSETS_TOPIC, context.services.groups.partition_of(request.group_id))

    def ask(self, admitted: Callable[[], None], refused: Callable[[ApiError], None]) -> None:
        """Call one of the two, perhaps before this returns."""
        context, request = self._context, self._request
        services = context.services
        adds = context.api_version >= _FIRST_WITH_IMPLICIT_ADD
        if not (adds or services.settings.transaction_partition_verification_enable):
            admitted()
            return
        offsets = services.replicas.partitions.by_name.get(self._partition)
        if offsets is not None and offsets.log.producers.has_open_transaction(
            request.producer_id, request.producer_epoch
        ):
            admitted()
            return
        producer = ProducerIdAndEpoch(producer_id=request.producer_id, producer_epoch=request.producer_epoch)

        def told(code: ErrorCode) -> None:
            if code is ErrorCode.NONE:
                admitted()
            else:
                refused(ApiError(_told_code(code, context.api_version)))

        if adds:
            services.transactions.add_partitions(
                request.transactional_id,
                producer,
                [self._partition],
                client_version=TRANSACTIONS_KIP_890,
                reply=told,
                failed=lambda error: told(error.code),
            )
        else:
            services.transactions.verify_partitions(
                request.transactional_id,
                producer,
                [self._partition],
                lambda codes: told(codes[self._partition]),
                lambda error: told(error.code),
            )


def _told_code(code: ErrorCode, version: int) -> ErrorCode:
    """Return the code for a client, who may be older than what the transaction's coordinator says."""
    if code is ErrorCode.PRODUCER_FENCED:
        return ErrorCode.INVALID_PRODUCER_EPOCH
    if code is ErrorCode.TRANSACTION_ABORTABLE and version < _FIRST_WITH_TRANSACTION_ABORTABLE:
        return ErrorCode.INVALID_TXN_STATE
    return code


def _take_out_unknown(context: RequestContext, request: messages.TxnOffsetCommitRequest) -> list[TopicAnswer]:
    """Give each topic both its name and its id; take out, and answer, what does not exist."""
    image = context.services.image
    by_id = context.api_version >= _FIRST_WITH_TOPIC_IDS
    failed: list[TopicAnswer] = []
    kept: list[Topic] = []
    for topic in request.topics:
        known = image.topics_by_id.get(topic.topic_id) if by_id else image.topics.get(topic.name)
        if known is None:
            error = ErrorCode.UNKNOWN_TOPIC_ID if by_id else ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
            failed.append(_failed(topic, [one.partition_index for one in topic.partitions], error))
            continue
        topic.name, topic.topic_id = known.name, known.topic_id
        missing = [
            one.partition_index for one in topic.partitions if one.partition_index not in known.partitions
        ]
        if missing:
            failed.append(_failed(topic, missing, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION))
            topic.partitions = [one for one in topic.partitions if one.partition_index in known.partitions]
        if topic.partitions:
            kept.append(topic)
    request.topics = kept
    return failed


def _failed(topic: Topic, partitions: list[int], code: ErrorCode) -> TopicAnswer:
    return TopicAnswer(
        name=topic.name,
        topic_id=topic.topic_id,
        partitions=[PartitionAnswer(partition_index=number, error_code=code) for number in partitions],
    )


def _merged(
    failed: list[TopicAnswer], response: messages.TxnOffsetCommitResponse, *, by_id: bool
) -> messages.TxnOffsetCommitResponse:
    """Return one answer with the failed partitions first, each topic once."""
    merged: dict[bytes | str, TopicAnswer] = {}
    for topic in (*failed, *response.topics):
        present = merged.setdefault(topic.topic_id if by_id else topic.name, topic)
        if present is not topic:
            present.partitions += topic.partitions
    return messages.TxnOffsetCommitResponse(topics=list(merged.values()))

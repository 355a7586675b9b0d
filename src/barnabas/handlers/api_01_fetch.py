"""Fetch (key 1), v4-18.

Reads records for consumers and followers; parks when there is too little to send.

Behaviour
- One byte limit is shared by all partitions in request order; the first batch is never refused (F6, F7).
- Partitions that cannot be read at all (unknown name or id) come last, the others in request order (F8).
- Records travel as file slices from the log to the socket: this file never sees a record byte.
- Fetch sessions are answered as a broker without a free slot answers them: every request gets a full
  answer and session id 0; a request that continues a session gets FETCH_SESSION_ID_NOT_FOUND (70), on
  which every client starts over with a full request.
- A topic stored as zstd answers versions below 10 with UNSUPPORTED_COMPRESSION_TYPE (F2b).
Versions
- 5 log start offset; 7 sessions (KIP-227); 9 leader epochs (KIP-320); 11 rack (KIP-392);
  12 diverging epochs (KIP-595); 13 topic ids (KIP-516); 15 replica state (KIP-903);
  16 leader and endpoints on errors (KIP-951); 17 directory id (KIP-853); 18 high watermark (KIP-1166)
"""

from __future__ import annotations

from barnabas.base.errors import ApiError, ErrorCode
from barnabas.base.uuids import NULL_UUID
from barnabas.handlers.brokers import NamedLeaders
from barnabas.handlers.request import RequestContext
from barnabas.protocol import messages
from barnabas.protocol.fetch_codec import PLAIN_RESPONSE_VERSIONS, plain_response
from barnabas.replica.fetch import (
    NO_LEADER_EPOCH,
    ClientMetadata,
    FetchOutcome,
    FetchParams,
    FetchPartition,
    FetchPartitionResult,
    bounded_limits,
    fetch_isolation,
)

FINAL_SESSION_EPOCH = -1
"""With a session id it closes that session, without one it asks for none (KIP-227)."""

_FULL_FETCH_EPOCHS = (FINAL_SESSION_EPOCH, 0)
_ISOLATION_LEVELS = (0, 1)

_UNKNOWN_ID = ErrorCode.UNKNOWN_TOPIC_ID
_UNKNOWN_PARTITION = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION

_FIRST_WITH_ZSTD = 10
_FIRST_WITH_RACK = 11
_FIRST_WITH_CURRENT_LEADER = 12
_FIRST_WITH_TOPIC_IDS = 13
_FIRST_WITH_REPLICA_STATE = 15
_FIRST_WITH_NODE_ENDPOINTS = 16


def handle(context: RequestContext, request: messages.FetchRequest) -> messages.FetchResponse | None:
    """Start the read, which answers when it is done; answer at once what needs no reading."""
    if request.isolation_level not in _ISOLATION_LEVELS:
        raise ApiError(ErrorCode.INVALID_REQUEST, f"unknown isolation level {request.isolation_level}")
    if request.session_epoch not in _FULL_FETCH_EPOCHS:
        return messages.FetchResponse(error_code=ErrorCode.FETCH_SESSION_ID_NOT_FOUND)
    fetch = _PendingFetch(context, request)
    context.services.replicas.fetch(
        _fetch_params(context, request), fetch.readable, fetch.respond, context.connection
    )
    return None


def error_response(request: messages.FetchRequest, error: ApiError, version: int) -> messages.FetchResponse:
    """The answer to a request that failed as a whole."""
    response = messages.FetchResponse(error_code=error.code)
    if version < _FIRST_WITH_TOPIC_IDS:
        # Clients of the first versions find no error but those of partitions.
        response.responses = [
            messages.FetchResponseFetchableTopicResponse(
                topic=topic.topic,
                partitions=[_failed(part.partition, error.code) for part in topic.partitions],
            )
            for topic in request.topics
        ]
    return response


def closes_session(request: messages.FetchRequest) -> bool:
    """Whether this request ends a session, on which a parked fetch of the connection is answered (F33)."""
    return request.session_id != 0 and request.session_epoch == FINAL_SESSION_EPOCH


def _fetch_params(context: RequestContext, request: messages.FetchRequest) -> FetchParams:
    version = context.api_version
    replica_id, replica_epoch = request.replica_id, -1
    if version >= _FIRST_WITH_REPLICA_STATE:
        replica_id = request.replica_state.replica_id
        replica_epoch = request.replica_state.replica_epoch
    max_bytes, min_bytes = bounded_limits(
        request.max_bytes, request.min_bytes, context.services.settings.fetch_max_bytes
    )
    client = None
    if version >= _FIRST_WITH_RACK:
        connection = context.connection
        client = ClientMetadata(
            request.rack_id, context.client_id, connection.peer_host, connection.listener_name
        )
    return FetchParams(
        request.max_wait_ms,
        min_bytes,
        max_bytes,
        fetch_isolation(replica_id, request.isolation_level),
        replica_id,
        replica_epoch,
        client,
    )


class _PendingFetch:
    """A fetch between its request and its answer: what is read, and what failed before reading."""

    __slots__ = ("context", "failed", "readable")

    def __init__(self, context: RequestContext, request: messages.FetchRequest) -> None:
        self.context = context
        self.readable: list[FetchPartition] = []
        self.failed: list[tuple[FetchPartition, ErrorCode]] = []
        with_ids = context.api_version >= _FIRST_WITH_TOPIC_IDS
        image = context.services.image
        for asked in _each_once(request, with_ids):
            if with_ids:
                topic_id, unknown = asked.topic_id, _UNKNOWN_ID
                topic = image.topics_by_id.get(topic_id)
            else:
                topic_id, unknown = NULL_UUID, _UNKNOWN_PARTITION
                topic = image.topics.get(asked.topic)
            name = asked.topic if topic is None else topic.name
            for part in asked.partitions:
                partition = FetchPartition(
                    name,
                    topic_id,
                    part.partition,
                    part.fetch_offset,
                    part.partition_max_bytes,
                    part.current_leader_epoch if part.current_leader_epoch >= 0 else NO_LEADER_EPOCH,
                    part.last_fetched_epoch if part.last_fetched_epoch >= 0 else NO_LEADER_EPOCH,
                    part.log_start_offset,
                )
                if topic is None:
                    self.failed.append((partition, unknown))
                elif part.partition not in topic.partitions:
                    self.failed.append((partition, _UNKNOWN_PARTITION))
                else:
                    self.readable.append(partition)

    def respond(self, outcome: FetchOutcome) -> None:
        """Send what was read; called by the replica layer, at once or after a wait."""
        version = self.context.api_version
        if version < _FIRST_WITH_ZSTD:
            self._refuse_zstd(outcome)
        results = outcome.results
        if (
            len(results) == 1
            and not self.failed
            and version in PLAIN_RESPONSE_VERSIONS
            and _is_plain(results[0])
        ):
            self._respond_plain(results[0])
        else:
            self._respond_message(outcome)

    def _respond_plain(self, result: FetchPartitionResult) -> None:
        """Answer for one partition without making the response's objects: most polls of a consumer."""
        context, partition = self.context, self.readable[0]
        parts = plain_response(
            context.api_version,
            context.response_prefix(),
            partition.topic,
            partition.topic_id,
            partition.partition,
            result.error_code,
            result.high_watermark,
            result.last_stable_offset,
            result.log_start_offset,
            result.aborted_transactions is not None,
            result.preferred_read_replica,
            result.records,
        )
        context.respond_parts(parts)

    def _respond_message(self, outcome: FetchOutcome) -> None:
        version = self.context.api_version
        leaders = NamedLeaders(self.context)
        response = messages.FetchResponse()
        last_topic = ("", b"")
        for partition, data in [
            *(
                (partition, _partition_data(partition.partition, result, version, leaders))
                for partition, result in zip(self.readable, outcome.results, strict=True)
            ),
            *((partition, _failed(partition.partition, code)) for partition, code in self.failed),
        ]:
            topic = (partition.topic, partition.topic_id)
            if topic != last_topic:
                last_topic = topic
                response.responses.append(
                    messages.FetchResponseFetchableTopicResponse(
                        topic=partition.topic, topic_id=partition.topic_id, partitions=[data]
                    )
                )
            else:
                response.responses[-1].partitions.append(data)
        if version >= _FIRST_WITH_NODE_ENDPOINTS:
            response.node_endpoints = [
                messages.FetchResponseNodeEndpoint(node_id=e.node_id, host=e.host, port=e.port, rack=e.rack)
                for e in leaders.endpoints()
            ]
        self.context.respond(response)

    def _refuse_zstd(self, outcome: FetchOutcome) -> None:
        replicas = self.context.services.replicas
        for partition, result in zip(self.readable, outcome.results, strict=True):
            if result.error_code == ErrorCode.NONE and (
                replicas.compression_type(partition.topic, partition.partition) == "zstd"
            ):
                if result.records is not None:
                    result.records.release()
                    result.records = None
                result.error_code = ErrorCode.UNSUPPORTED_COMPRESSION_TYPE
                result.high_watermark = result.last_stable_offset = result.log_start_offset = -1
                result.aborted_transactions = None


def _each_once(request: messages.FetchRequest, with_ids: bool) -> list[messages.FetchRequestFetchTopic]:
    """Return what is asked, of a partition named twice only the last, where the first stood, as in Kafka."""
    topics = request.topics
    if len(topics) == 1 and len(topics[0].partitions) == 1:
        return topics
    last: dict[tuple[str | bytes, int], messages.FetchRequestFetchPartition] = {}
    count = 0
    for topic in topics:
        name = topic.topic_id if with_ids else topic.topic
        count += len(topic.partitions)
        for part in topic.partitions:
            last[name, part.partition] = part
    if len(last) == count:
        return topics
    kept = []
    for topic in topics:
        name = topic.topic_id if with_ids else topic.topic
        found = (last.pop((name, part.partition), None) for part in topic.partitions)
        parts = [part for part in found if part is not None]
        kept.append(
            messages.FetchRequestFetchTopic(topic=topic.topic, topic_id=topic.topic_id, partitions=parts)
        )
    return kept


def _is_plain(result: FetchPartitionResult) -> bool:
    """Whether the answer has neither aborted transactions nor tagged fields."""
    return not result.aborted_transactions and result.diverging_epoch is None and result.leader_id < 0


def _partition_data(
    index: int, result: FetchPartitionResult, version: int, leaders: NamedLeaders
) -> messages.FetchResponsePartitionData:
    aborted = result.aborted_transactions
    data = messages.FetchResponsePartitionData(
        partition_index=index,
        error_code=result.error_code,
        high_watermark=result.high_watermark,
        last_stable_offset=result.last_stable_offset,
        log_start_offset=result.log_start_offset,
        aborted_transactions=None
        if aborted is None
        else [
            messages.FetchResponseAbortedTransaction(
                producer_id=entry.producer_id, first_offset=entry.first_offset
            )
            for entry in aborted
        ],
        preferred_read_replica=result.preferred_read_replica,
        records=b"" if result.records is None else result.records,
    )
    if result.diverging_epoch is not None:
        epoch, end_offset = result.diverging_epoch
        data.diverging_epoch = messages.FetchResponseEpochEndOffset(epoch=epoch, end_offset=end_offset)
    if result.leader_id >= 0 and version >= _FIRST_WITH_CURRENT_LEADER:
        data.current_leader = messages.FetchResponseLeaderIdAndEpoch(
            leader_id=result.leader_id, leader_epoch=result.leader_epoch
        )
        leaders.add(result.leader_id)
    return data


def _failed(index: int, code: ErrorCode) -> messages.FetchResponsePartitionData:
    return messages.FetchResponsePartitionData(
        partition_index=index, error_code=code, high_watermark=-1, records=b""
    )

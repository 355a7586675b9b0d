"""Fetch (key 1), v4-18.

Reads records for consumers and followers; parks when there is too little to send.

Behaviour
- One byte limit is shared by all partitions in request order; the first batch is never refused (F6, F7).
- Partitions that cannot be read at all come last, of them unknown ids first; the others in request order
  (F8).
- Records travel as file slices from the log to the socket: this file never sees a record byte.
- A full request (epoch 0) opens a session when its answer is made, if there is a slot; one with epoch -1
  opens none, and either ends the session it names (F34). A request that continues a session changes its
  partitions, and the answer holds those of which there is news (F35-F37). One that does not fit its session
  hears FETCH_SESSION_ID_NOT_FOUND (70), INVALID_FETCH_SESSION_EPOCH (71) or FETCH_SESSION_TOPIC_ID_ERROR
  (106), on which every client starts over with a full request.
- A topic stored as zstd answers versions below 10 with UNSUPPORTED_COMPRESSION_TYPE (F2b).
Versions
- 5 log start offset; 7 sessions (KIP-227); 9 leader epochs (KIP-320); 11 rack (KIP-392);
  12 diverging epochs (KIP-595); 13 topic ids (KIP-516); 15 replica state (KIP-903);
  16 leader and endpoints on errors (KIP-951); 17 directory id (KIP-853); 18 high watermark (KIP-1166)
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from barnabas.base.errors import ApiError, ErrorCode
from barnabas.base.hints import cast
from barnabas.base.logger import Logger
from barnabas.handlers.brokers import NamedLeaders
from barnabas.handlers.fetch_partitions import PartitionKey, asked_partitions, sort_out
from barnabas.handlers.fetch_session import FINAL_EPOCH, INITIAL_EPOCH, CachedPartition, FetchSession
from barnabas.handlers.fetch_session_cache import INVALID_SESSION_ID
from barnabas.handlers.request import RequestContext
from barnabas.protocol import messages
from barnabas.protocol.fetch_codec import (
    PLAIN_RESPONSE_VERSIONS,
    RESPONSE_START_BYTES,
    empty_response,
    plain_response,
    response_start,
)
from barnabas.replica.fetch import (
    UNKNOWN_OFFSET,
    UNTOLD_CLIENT,
    ClientMetadata,
    FetchOutcome,
    FetchParams,
    FetchPartition,
    FetchPartitionResult,
    SharedOutcome,
    bounded_limits,
    fetch_isolation,
)
from barnabas.replica.session_partitions import SessionPartitions

_log = Logger(__name__)

_FULL_FETCH_EPOCHS = (FINAL_EPOCH, INITIAL_EPOCH)
_ISOLATION_LEVELS = (0, 1)

_LAST_WITHOUT_STORAGE_ERROR = 5
FIRST_WITH_ZSTD = 10
_FIRST_WITH_RACK = 11
FIRST_WITH_TOPIC_IDS = 13
_FIRST_WITH_REPLICA_STATE = 15
_FIRST_WITH_LEADERS = 16


def handle(context: RequestContext, request: messages.FetchRequest) -> messages.FetchResponse | None:
    """Start the read, which answers when it is done; answer at once what needs no reading."""
    replicas = context.services.replicas
    params = fetch_params(context, request, selects_replicas=replicas.selects_replicas)
    with_ids = context.api_version >= FIRST_WITH_TOPIC_IDS
    sessions = context.services.fetch_sessions
    fetch: _SessionlessFetch
    if request.session_epoch in _FULL_FETCH_EPOCHS:
        if request.session_id != INVALID_SESSION_ID:
            sessions.close(request.session_id)
        if request.session_epoch == FINAL_EPOCH:
            fetch = _SessionlessFetch(
                context, params, asked_partitions(request.topics, FetchPartition, with_ids=with_ids)
            )
        else:
            fetch = _OpeningFetch(
                context, params, asked_partitions(request.topics, CachedPartition, with_ids=with_ids)
            )
    else:
        session, error = sessions.resume(request.session_id, request.session_epoch, uses_topic_ids=with_ids)
        if session is None:
            # Clients find out by this that a session gave way: nothing that anybody has to look into.
            _log.debug(
                "%s: session %d epoch %d: %s", context, request.session_id, request.session_epoch, error.name
            )
            return messages.FetchResponse(error_code=error)
        session.update(request.topics, request.forgotten_topics_data)
        if sessions.advance(session, context.received_us // 1000):
            fetch = _IncrementalFetch(context, params, session)
        else:
            fetch = _SessionlessFetch(
                context, params, asked_partitions(request.topics, FetchPartition, with_ids=with_ids)
            )
    if request.isolation_level not in _ISOLATION_LEVELS:
        # Only here, as in Apache Kafka: the session moves on, and so does the client with its next request.
        raise ApiError(ErrorCode.INVALID_REQUEST, f"unknown isolation level {request.isolation_level}")
    respond: Callable[[FetchOutcome], None] = fetch.respond
    if context.log_entry is not None:
        respond = context.log_entry.telling(respond)
    replicas.fetch(params, fetch.readable, respond, context.connection)
    return None


def error_response(request: messages.FetchRequest, error: ApiError, version: int) -> messages.FetchResponse:
    """The answer to a request that failed as a whole."""
    response = messages.FetchResponse(error_code=error.code, session_id=request.session_id)
    if version < FIRST_WITH_TOPIC_IDS:
        # Clients of the first versions find no error but those of partitions.
        response.responses = [
            messages.FetchResponseFetchableTopicResponse(
                topic=topic.topic,
                partitions=[_failed(part.partition, error.code) for part in topic.partitions],
            )
            for topic in request.topics
        ]
    return response


def fetch_params(
    context: RequestContext, request: messages.FetchRequest, *, selects_replicas: bool
) -> FetchParams:
    """Return what a request asks of all its partitions.

    Args:
        selects_replicas: consumers may be sent to another replica, so it counts who asks (KIP-392).
    """
    version = context.api_version
    replica_id, replica_epoch = request.replica_id, -1
    if version >= _FIRST_WITH_REPLICA_STATE:
        replica_id = request.replica_state.replica_id
        replica_epoch = request.replica_state.replica_epoch
    fetch_max_bytes = context.services.settings.fetch_max_bytes
    max_bytes, min_bytes = bounded_limits(request.max_bytes, request.min_bytes, fetch_max_bytes)
    if version < _FIRST_WITH_RACK:
        client = None
    elif selects_replicas:
        client = _client_metadata(context, request)
    else:
        client = UNTOLD_CLIENT
    return FetchParams(
        request.max_wait_ms,
        min_bytes,
        max_bytes,
        fetch_isolation(replica_id, request.isolation_level),
        replica_id,
        replica_epoch,
        client,
    )


def _client_metadata(context: RequestContext, request: messages.FetchRequest) -> ClientMetadata:
    connection = context.connection
    return ClientMetadata(request.rack_id, context.client_id, connection.peer_host, connection.listener_name)


class _SessionlessFetch:
    """A fetch between its request and its answer: what is read, and what failed before reading."""

    __slots__ = ("context", "failed", "from_follower", "readable")

    readable: Sequence[FetchPartition] | SessionPartitions
    failed: Sequence[tuple[FetchPartition, ErrorCode]]

    def __init__(self, context: RequestContext, params: FetchParams, asked: Iterable[FetchPartition]) -> None:
        self.context = context
        self.from_follower = params.is_from_follower
        self.readable, self.failed = sort_out(
            asked,
            context.services.image,
            with_ids=context.api_version >= FIRST_WITH_TOPIC_IDS,
            in_order=self.from_follower,
        )

    def respond(self, outcome: FetchOutcome) -> None:
        """Send what was read; called by the replica layer, at once or after a wait."""
        if outcome.__class__ is SharedOutcome and self._send_shared(outcome, INVALID_SESSION_ID):
            return
        if self.context.api_version < FIRST_WITH_ZSTD:
            self._downgrade(outcome)
        self._send(outcome.partitions, outcome.results, INVALID_SESSION_ID)

    def respond_throttled(self, outcome: FetchOutcome, throttle_time_ms: int) -> None:
        """Send that the client is over its quota, instead of what was read (F39)."""
        outcome.release()
        self.context.respond(messages.FetchResponse(throttle_time_ms=throttle_time_ms))

    def _send(
        self,
        partitions: Sequence[FetchPartition],
        results: Sequence[FetchPartitionResult],
        session_id: int,
    ) -> None:
        """Answer for these partitions and for those in `failed`.

        For one partition, or none, without making the response's objects: most polls of a consumer.
        """
        context = self.context
        version = context.api_version
        if (
            len(results) > 1
            or self.failed
            or version not in PLAIN_RESPONSE_VERSIONS
            or context.log_entry is not None
        ):
            self._respond_message(partitions, results, session_id)
            return
        header = context.served.pack_header(context.correlation_id)
        if not results:
            context.respond_parts(empty_response(version, header, session_id))
            return
        partition, result = partitions[0], results[0]
        if result.aborted_transactions or result.diverging_epoch is not None or result.leader_id >= 0:
            self._respond_message(partitions, results, session_id)
            return
        parts = plain_response(
            version,
            header,
            session_id,
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

    def _send_shared(self, outcome: SharedOutcome, session_id: int) -> bool:
        """Answer with the bytes that others get too; False when that cannot be: nothing is sent then."""
        context = self.context
        if self.failed or context.log_entry is not None:
            return False
        read, served, traffic = outcome.read, context.served, context.connection.traffic
        if read.body_served is not served or read.body_traffic is not traffic:
            # The first of its version, on a listener that may send slices in another way (F41).
            body = self._shared_body(outcome)
            if body is None:
                return False
            read.body, read.body_served, read.body_traffic = body, served, traffic
        context.respond_parts(
            (served.pack_header(context.correlation_id) + response_start(session_id) + read.body,)
        )
        outcome.release()
        return True

    def _shared_body(self, outcome: SharedOutcome) -> bytes | None:
        """Return an answer from the topics on; None when it is no plain one, or sent from the file."""
        context, partition, result = self.context, outcome.partitions[0], outcome.results[0]
        if context.api_version not in PLAIN_RESPONSE_VERSIONS or result.aborted_transactions:
            return None
        parts = plain_response(
            context.api_version,
            b"",
            INVALID_SESSION_ID,
            partition.topic,
            partition.topic_id,
            partition.partition,
            result.error_code,
            *(result.high_watermark, result.last_stable_offset, result.log_start_offset),
            result.aborted_transactions is not None,
            result.preferred_read_replica,
            result.records,
        )
        whole = context.connection.copied(parts)
        return None if whole is None else whole[RESPONSE_START_BYTES:]

    def _respond_message(
        self,
        partitions: Sequence[FetchPartition],
        results: Sequence[FetchPartitionResult],
        session_id: int,
    ) -> None:
        version = self.context.api_version
        leaders = NamedLeaders(self.context)
        response = messages.FetchResponse(session_id=session_id)
        answers = _Topics(response.responses, by_id=version >= FIRST_WITH_TOPIC_IDS)
        for partition, result in zip(partitions, results, strict=True):
            answers.add(partition, _partition_data(partition.partition, result, version, leaders))
        # A hundred thousand topics that are not there would be as many alike, with four objects each.
        alike: dict[tuple[int, ErrorCode], messages.FetchResponsePartitionData] = {}
        for partition, code in self.failed:
            kind = (partition.partition, code)
            data = alike.get(kind)
            if data is None:
                data = alike[kind] = _failed(partition.partition, code)
            answers.add(partition, data)
        if version >= _FIRST_WITH_LEADERS and not self.from_follower:
            response.node_endpoints = [
                messages.FetchResponseNodeEndpoint(node_id=e.node_id, host=e.host, port=e.port, rack=e.rack)
                for e in leaders.endpoints()
            ]
        self.context.respond(response)

    def _downgrade(self, outcome: FetchOutcome) -> None:
        """Tell old clients what they understand: refuse zstd (F2b), and name the error they know."""
        if self.context.api_version <= _LAST_WITHOUT_STORAGE_ERROR:
            for result in outcome.results:
                if result.error_code == ErrorCode.KAFKA_STORAGE_ERROR:
                    result.error_code = ErrorCode.NOT_LEADER_OR_FOLLOWER
        replicas = self.context.services.replicas
        for partition, result in zip(outcome.partitions, outcome.results, strict=True):
            if result.error_code == ErrorCode.NONE and (
                replicas.compression_type(partition.topic, partition.partition) == "zstd"
            ):
                if result.records is not None:
                    result.records.release()
                    result.records = None
                result.error_code = ErrorCode.UNSUPPORTED_COMPRESSION_TYPE
                result.high_watermark = result.last_stable_offset = result.log_start_offset = -1
                result.aborted_transactions = None


class _OpeningFetch(_SessionlessFetch):
    """A full fetch of a client that wants a session for what it names (F34)."""

    __slots__ = ()

    readable: Sequence[CachedPartition]
    failed: Sequence[tuple[CachedPartition, ErrorCode]]

    def respond(self, outcome: FetchOutcome) -> None:
        """Send what was read, and the id of the session if there is a slot for it."""
        context = self.context
        if context.api_version < FIRST_WITH_ZSTD:
            self._downgrade(outcome)
        with_ids = context.api_version >= FIRST_WITH_TOPIC_IDS
        partitions: dict[PartitionKey, CachedPartition] = {}
        for partition, result in zip(self.readable, outcome.results, strict=True):
            partition.told(result.high_watermark, result.log_start_offset)
            partitions[partition.topic_id if with_ids else partition.topic, partition.partition] = partition
        for partition, _ in self.failed:
            partition.told(UNKNOWN_OFFSET, UNKNOWN_OFFSET)
            partitions[partition.topic_id if with_ids else partition.topic, partition.partition] = partition
        session = context.services.fetch_sessions.open(
            partitions,
            uses_topic_ids=with_ids,
            privileged=self.from_follower,
            now_ms=context.services.clock.monotonic_ms(),
            client_id=context.client_id,
            client_host=context.connection.peer_host,
        )
        self._send(self.readable, outcome.results, INVALID_SESSION_ID if session is None else session.id)


class _IncrementalFetch(_SessionlessFetch):
    """A fetch that continues a session: it reads what may have changed and tells the news."""

    __slots__ = ("_epoch", "_session")

    readable: SessionPartitions
    failed: Sequence[tuple[CachedPartition, ErrorCode]]

    def __init__(self, context: RequestContext, params: FetchParams, session: FetchSession) -> None:
        self.context = context
        self.from_follower = params.is_from_follower
        self.failed = session.resolve(context.services.image, in_order=self.from_follower)
        # The request log shows all that a fetch reads.
        session.read_by(params, all_of_them=context.log_entry is not None)
        self.readable = session.reading
        self._session = session
        self._epoch = session.epoch

    def respond(self, outcome: FetchOutcome) -> None:
        """Send what is new; an error when another request has gone on with the session meanwhile."""
        session = self._session
        if session.epoch != self._epoch:
            self._refuse(outcome, 0)
            return
        if self.context.api_version < FIRST_WITH_ZSTD:
            self._downgrade(outcome)
        read = cast("Sequence[CachedPartition]", outcome.partitions)
        partitions, results = session.news(read, outcome.results, self.failed)
        self.context.services.replicas.settle(session.reading, outcome)
        if (
            outcome.__class__ is SharedOutcome
            and len(results) == 1
            and self._send_shared(outcome, session.id)
        ):
            return
        self._send(partitions, results, session.id)

    def respond_throttled(self, outcome: FetchOutcome, throttle_time_ms: int) -> None:
        """Send that the client is over its quota; what there was to tell stays news (F39)."""
        if self._session.epoch != self._epoch:
            self._refuse(outcome, throttle_time_ms)
            return
        outcome.release()
        self.context.respond(
            messages.FetchResponse(throttle_time_ms=throttle_time_ms, session_id=self._session.id)
        )

    def _refuse(self, outcome: FetchOutcome, throttle_time_ms: int) -> None:
        outcome.release()
        self.context.respond(
            messages.FetchResponse(
                throttle_time_ms=throttle_time_ms,
                error_code=ErrorCode.INVALID_FETCH_SESSION_EPOCH,
                session_id=self._session.id,
            )
        )


class _Topics:
    """Puts partitions into an answer's topics; only neighbours share one (F8)."""

    __slots__ = ("_by_id", "_last", "_topics")

    def __init__(self, topics: list[messages.FetchResponseFetchableTopicResponse], *, by_id: bool) -> None:
        self._topics = topics
        self._by_id = by_id
        self._last: str | bytes | None = None

    def add(self, partition: FetchPartition, data: messages.FetchResponsePartitionData) -> None:
        name = partition.topic_id if self._by_id else partition.topic
        if name != self._last:
            self._last = name
            self._topics.append(
                messages.FetchResponseFetchableTopicResponse(
                    topic=partition.topic, topic_id=partition.topic_id, partitions=[data]
                )
            )
        else:
            self._topics[-1].partitions.append(data)


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
    if result.leader_id >= 0 and version >= _FIRST_WITH_LEADERS:
        data.current_leader = messages.FetchResponseLeaderIdAndEpoch(
            leader_id=result.leader_id, leader_epoch=result.leader_epoch
        )
        leaders.add(result.leader_id)
    return data


def _failed(index: int, code: ErrorCode) -> messages.FetchResponsePartitionData:
    return messages.FetchResponsePartitionData(
        partition_index=index, error_code=code, high_watermark=-1, records=b""
    )

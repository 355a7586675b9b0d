"""Produce (key 0), v3-13; 0-13 are advertised, since older librdkafka gives up compression otherwise.

Appends one record batch per partition and answers as acks says.

Behaviour
- acks=0 gets no answer; an error closes the connection, which is the only way to tell (P1).
- Records are handed to the log as they lie in the frame; of a batch only the transactional bit is read here.
- Transactional records need a transactional id (53), and a transaction of it that the partition is a part of:
  one nobody could end would hold back read_committed consumers for ever. See transactional_produce.py.
- Unknown topics answer per partition: by name 3, by id 100.
Versions
- 5 log start offset; 7 zstd (KIP-110); 8 record errors (KIP-467); 10 leader and endpoints on errors
  (KIP-951); 12 implicit add to a transaction (KIP-890); 13 topic ids (KIP-516)
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from barnabas.base.disk import Buffer
from barnabas.base.errors import ApiError, ErrorCode
from barnabas.base.uuids import NULL_UUID
from barnabas.handlers.brokers import NamedLeaders
from barnabas.handlers.request import RequestContext
from barnabas.protocol import messages
from barnabas.protocol.produce_codec import PLAIN_RESPONSE_VERSIONS, plain_response
from barnabas.protocol.record_batch import ATTRIBUTES_POSITION, HEADER_BYTES, TRANSACTIONAL_BIT
from barnabas.replica.produce import AppendOutcome, AppendPartition, AppendPartitionResult

_NONE = ErrorCode.NONE
_NOTHING_REFUSED: Mapping[int, AppendPartitionResult] = MappingProxyType({})
_LOW_ATTRIBUTES_POSITION = ATTRIBUTES_POSITION + 1
_FIRST_WITH_TOPIC_IDS = 13
_FIRST_WITH_CURRENT_LEADER = 10


def handle(context: RequestContext, request: messages.ProduceRequest) -> messages.ProduceResponse | None:
    """Start the append; it answers through `_PendingProduce.respond`.

    Raises:
        ApiError: TRANSACTIONAL_ID_AUTHORIZATION_FAILED; INVALID_PRODUCER_ID_MAPPING: transactions of several
            producers.
    """
    pending = _PendingProduce(context, request)
    if not pending.transactional:
        pending.append()
        return None
    if request.transactional_id is None:
        raise ApiError(
            ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED, "transactional records need a transactional id"
        )
    # Most brokers never see a transaction: what only those need is imported with the first one.
    from barnabas.handlers.transactional_produce import admit  # noqa: PLC0415

    admit(context, request.transactional_id, pending.known, pending.transactional, pending.append)
    return None


def error_response(
    request: messages.ProduceRequest, error: ApiError, version: int
) -> messages.ProduceResponse | None:
    """Every partition failed for the same reason; with acks=0 nobody waits for an answer (P1)."""
    if request.acks == 0:
        return None
    return messages.ProduceResponse(
        responses=[
            messages.ProduceResponseTopicProduceResponse(
                name=topic.name,
                topic_id=topic.topic_id,
                partition_responses=[
                    _failed(partition.index, error.code, error.message) for partition in topic.partition_data
                ],
            )
            for topic in request.topic_data
        ]
    )


class _PendingProduce:
    """A produce between its request and its answer."""

    __slots__ = ("acks", "context", "known", "refused", "request", "transactional", "unknown")

    def __init__(self, context: RequestContext, request: messages.ProduceRequest) -> None:
        self.context = context
        self.request = request
        self.acks = request.acks
        self.known: list[AppendPartition] = []
        self.unknown: dict[int, ErrorCode] = {}
        """Position of the topic in the request -> why none of its partitions can be appended to."""
        self.transactional: list[int] = []
        """Positions in `known` of those with records of a transaction."""
        self.refused: Mapping[int, AppendPartitionResult] = _NOTHING_REFUSED
        """Position in `known` -> why nothing may be appended there."""
        image, known = context.services.image, self.known
        with_ids = context.api_version >= _FIRST_WITH_TOPIC_IDS
        for position, asked in enumerate(request.topic_data):
            if with_ids:
                topic = image.topics_by_id.get(asked.topic_id)
                if topic is None:
                    self.unknown[position] = ErrorCode.UNKNOWN_TOPIC_ID
                    continue
                name, topic_id = topic.name, asked.topic_id
            else:
                name, topic_id = asked.name, NULL_UUID
                if name not in image.topics:
                    self.unknown[position] = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
                    continue
            for partition in asked.partition_data:
                records: Buffer | None = partition.records  # type: ignore[assignment] # no FileSlice: of a frame
                if (
                    records is not None
                    and len(records) >= HEADER_BYTES
                    and records[_LOW_ATTRIBUTES_POSITION] & TRANSACTIONAL_BIT
                ):
                    self.transactional.append(len(known))
                known.append(AppendPartition(name, topic_id, partition.index, records))

    def append(self, refused: Mapping[int, AppendPartitionResult] | None = None) -> None:
        """Append to all partitions but those that are refused."""
        partitions = self.known
        if refused:
            self.refused = refused
            partitions = [one for position, one in enumerate(partitions) if position not in refused]
        context = self.context
        context.services.replicas.append(
            acks=self.acks,
            timeout_ms=self.request.timeout_ms,
            partitions=partitions,
            respond=self.respond,
            owner=context.connection,
            request_version=context.api_version,
        )

    def respond(self, outcome: AppendOutcome) -> None:
        """Answer, or with acks=0 only tell of errors by hanging up (P1)."""
        context, results = self.context, outcome.results
        if self.refused:
            appended = iter(results)
            outcome.results = results = [
                self.refused[position] if position in self.refused else next(appended)
                for position in range(len(self.known))
            ]
        if self.acks == 0:
            if outcome.has_error or self.unknown:
                context.connection.close(f"produce with acks=0 failed: {self._first_error(outcome)}")
            else:
                context.respond_nothing()
        elif (
            len(results) == 1
            and (result := results[0]).error_code is _NONE
            and not self.unknown
            and context.log_entry is None
            and context.api_version in PLAIN_RESPONSE_VERSIONS
        ):
            asked = self.known[0]
            answer = plain_response(
                context.api_version,
                context.served.pack_header(context.correlation_id),
                asked.topic,
                asked.topic_id,
                asked.partition,
                0,
                result.base_offset,
                result.log_append_time_ms,
                result.log_start_offset,
            )
            context.respond_parts([answer])
        else:
            context.respond(self._response(outcome))

    def _first_error(self, outcome: AppendOutcome) -> str:
        for partition, result in zip(self.known, outcome.results, strict=True):
            if result.error_code != ErrorCode.NONE:
                return f"{partition.topic}-{partition.partition} {ErrorCode(result.error_code).name}"
        return next(iter(self.unknown.values())).name

    def _response(self, outcome: AppendOutcome) -> messages.ProduceResponse:
        response = messages.ProduceResponse()
        results = iter(outcome.results)
        leaders = NamedLeaders(self.context)
        for position, asked in enumerate(self.request.topic_data):
            error = self.unknown.get(position)
            if error is None:
                partitions = [
                    self._partition_response(part.index, next(results), leaders)
                    for part in asked.partition_data
                ]
            else:
                partitions = [_failed(part.index, error) for part in asked.partition_data]
            response.responses.append(
                messages.ProduceResponseTopicProduceResponse(
                    name=asked.name, topic_id=asked.topic_id, partition_responses=partitions
                )
            )
        response.node_endpoints = [
            messages.ProduceResponseNodeEndpoint(node_id=e.node_id, host=e.host, port=e.port, rack=e.rack)
            for e in leaders.endpoints()
        ]
        return response

    def _partition_response(
        self, index: int, result: AppendPartitionResult, leaders: NamedLeaders
    ) -> messages.ProduceResponsePartitionProduceResponse:
        answer = messages.ProduceResponsePartitionProduceResponse(
            index=index,
            error_code=result.error_code,
            base_offset=result.base_offset,
            log_append_time_ms=result.log_append_time_ms,
            log_start_offset=result.log_start_offset,
            error_message=result.error_message,
        )
        if result.record_errors:
            answer.record_errors = [
                messages.ProduceResponseBatchIndexAndErrorMessage(
                    batch_index=error.batch_index, batch_index_error_message=error.message
                )
                for error in result.record_errors
            ]
        if result.leader_id >= 0 and self.context.api_version >= _FIRST_WITH_CURRENT_LEADER:
            answer.current_leader = messages.ProduceResponseLeaderIdAndEpoch(
                leader_id=result.leader_id, leader_epoch=result.leader_epoch
            )
            leaders.add(result.leader_id)
        return answer


def _failed(
    index: int, code: ErrorCode, message: str | None = None
) -> messages.ProduceResponsePartitionProduceResponse:
    return messages.ProduceResponsePartitionProduceResponse(
        index=index, error_code=code, base_offset=-1, error_message=message
    )

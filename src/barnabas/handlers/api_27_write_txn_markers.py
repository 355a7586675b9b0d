"""WriteTxnMarkers (key 27), v1-2.

Appends the markers that end transactions: for coordinators on other brokers, and for tools that end a
transaction nobody ends.

Behaviour
- Each partition is answered on its own: UNKNOWN_TOPIC_OR_PARTITION, INVALID_PRODUCER_EPOCH for a producer
  that is fenced and for a transaction of KIP-890 whose end does not raise the epoch,
  TRANSACTION_COORDINATOR_FENCED for a coordinator that was succeeded.
- A marker in `__consumer_offsets` makes the transaction's offsets count, or drops them.
Versions
- 2 the transaction.version of the transaction (KIP-1228)
"""

from __future__ import annotations

from collections.abc import Callable

from barnabas.base.errors import ApiError, ErrorCode
from barnabas.coordinator.runtime.appender import TransactionEnd
from barnabas.coordinator.transactions.markers import MarkerResults
from barnabas.handlers.request import RequestContext
from barnabas.protocol import messages

Marker = messages.WriteTxnMarkersRequestWritableTxnMarker

_NOT_HERE = (
    ErrorCode.NOT_COORDINATOR,
    ErrorCode.COORDINATOR_NOT_AVAILABLE,
    ErrorCode.COORDINATOR_LOAD_IN_PROGRESS,
)
"""What the coordinator of groups answers when it cannot be asked; who sends markers knows leaders only."""


def handle(context: RequestContext, request: messages.WriteTxnMarkersRequest) -> None:
    """Append all markers; answered when each is committed or refused."""
    answers: list[messages.WriteTxnMarkersResponseWritableTxnMarkerResult | None] = [None] * len(
        request.markers
    )
    waiting = len(answers)
    if not waiting:
        context.respond(messages.WriteTxnMarkersResponse())
        return

    def done(position: int, results: MarkerResults) -> None:
        nonlocal waiting
        answers[position] = _result(request.markers[position], results)
        waiting -= 1
        if not waiting:
            context.respond(messages.WriteTxnMarkersResponse(markers=[one for one in answers if one]))

    for position, marker in enumerate(request.markers):
        _write(context, marker, lambda results, position=position: done(position, results))  # type: ignore[misc]


def error_response(
    request: messages.WriteTxnMarkersRequest, error: ApiError, version: int
) -> messages.WriteTxnMarkersResponse:
    """The same error for every partition."""
    return messages.WriteTxnMarkersResponse(
        markers=[
            _result(
                marker,
                {
                    (topic.name, number): error.code
                    for topic in marker.topics
                    for number in topic.partition_indexes
                },
            )
            for marker in request.markers
        ]
    )


def _write(context: RequestContext, marker: Marker, done: Callable[[MarkerResults], None]) -> None:
    asked = [(topic.name, number) for topic in marker.topics for number in topic.partition_indexes]

    def told(results: MarkerResults) -> None:
        done(
            {
                partition: ErrorCode.NOT_LEADER_OR_FOLLOWER if code in _NOT_HERE else code
                for partition, code in results.items()
            }
        )

    context.services.transactions.write_markers(
        TransactionEnd(
            producer_id=marker.producer_id,
            producer_epoch=marker.producer_epoch,
            coordinator_epoch=marker.coordinator_epoch,
            committed=marker.transaction_result,
        ),
        asked,
        marker.transaction_version,
        told,
    )


def _result(
    marker: Marker, results: MarkerResults
) -> messages.WriteTxnMarkersResponseWritableTxnMarkerResult:
    return messages.WriteTxnMarkersResponseWritableTxnMarkerResult(
        producer_id=marker.producer_id,
        topics=[
            messages.WriteTxnMarkersResponseWritableTxnMarkerTopicResult(
                name=topic.name,
                partitions=[
                    messages.WriteTxnMarkersResponseWritableTxnMarkerPartitionResult(
                        partition_index=number, error_code=results[topic.name, number]
                    )
                    for number in topic.partition_indexes
                ],
            )
            for topic in marker.topics
        ],
    )

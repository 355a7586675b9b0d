"""DescribeTransactions (key 65), v0.

Tells what is known of transactional ids (KIP-664).

Behaviour
- An id that is not known is TRANSACTIONAL_ID_NOT_FOUND, each on its own.
- Partitions are those of a transaction that is not complete; of one that ends, those without a marker yet.
- The start is -1 when the id has not begun a transaction yet.
"""

from __future__ import annotations

from barnabas.base.errors import ApiError
from barnabas.coordinator.transactions.state import TransactionMetadata, state_name
from barnabas.handlers.request import RequestContext
from barnabas.protocol import messages

_State = messages.DescribeTransactionsResponseTransactionState


def handle(context: RequestContext, request: messages.DescribeTransactionsRequest) -> None:
    """Describe each id; answered when all are."""
    answers: dict[str, _State] = {}
    asked = list(dict.fromkeys(request.transactional_ids))

    def answered(transactional_id: str, answer: _State) -> None:
        answers[transactional_id] = answer
        if len(answers) == len(asked):
            context.respond(
                messages.DescribeTransactionsResponse(transaction_states=[answers[one] for one in asked])
            )

    if not asked:
        context.respond(messages.DescribeTransactionsResponse())
    for one in asked:
        context.services.transactions.describe(
            one,
            lambda metadata, one=one: answered(one, _described(metadata)),  # type: ignore[misc]
            lambda error, one=one: answered(one, _failed(one, error)),  # type: ignore[misc]
        )


def error_response(
    request: messages.DescribeTransactionsRequest, error: ApiError, version: int
) -> messages.DescribeTransactionsResponse:
    """Every id failed for the same reason."""
    return messages.DescribeTransactionsResponse(
        transaction_states=[_failed(one, error) for one in request.transactional_ids]
    )


def _described(metadata: TransactionMetadata) -> _State:
    topics: dict[str, list[int]] = {}
    for topic, number in sorted(metadata.partitions):
        topics.setdefault(topic, []).append(number)
    return _State(
        transactional_id=metadata.transactional_id,
        transaction_state=state_name(metadata.state),
        transaction_timeout_ms=metadata.timeout_ms,
        transaction_start_time_ms=metadata.start_ms,
        producer_id=metadata.producer_id,
        producer_epoch=metadata.producer_epoch,
        topics=[
            messages.DescribeTransactionsResponseTopicData(topic=topic, partitions=numbers)
            for topic, numbers in topics.items()
        ],
    )


def _failed(transactional_id: str, error: ApiError) -> _State:
    return _State(transactional_id=transactional_id, error_code=error.code)

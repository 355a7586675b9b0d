"""ListTransactions (key 66), v0-2.

Lists the transactional ids of this broker (KIP-664).

Behaviour
- Filters are all to be met; of one that is empty everything passes. States that do not exist are told, and
  filter out everything when no other state is asked for.
- The least duration is counted from a transaction's first partition; an id without a transaction has been so
  for ever.
- COORDINATOR_LOAD_IN_PROGRESS while some ids are not known yet.
Versions
- 1 least duration (KIP-994); 2 a pattern of ids, in RE2's syntax: INVALID_REGULAR_EXPRESSION (KIP-1152)
"""

from __future__ import annotations

from collections.abc import Callable

from barnabas.base.errors import ApiError, ErrorCode
from barnabas.coordinator.transactions.state import TransactionMetadata, TransactionState, state_name
from barnabas.handlers.request import RequestContext
from barnabas.protocol import messages

_ANY_DURATION = -1

_State = messages.ListTransactionsResponseTransactionState


def handle(
    context: RequestContext, request: messages.ListTransactionsRequest
) -> messages.ListTransactionsResponse:
    """List what passes the filters.

    Raises:
        ApiError: COORDINATOR_LOAD_IN_PROGRESS, INVALID_REGULAR_EXPRESSION.
    """
    transactions = context.services.transactions
    if transactions.is_loading:
        raise ApiError(ErrorCode.COORDINATOR_LOAD_IN_PROGRESS)
    names = {state_name(state) for state in TransactionState}
    passes = _filter(request, context.services.clock.wall_ms())
    return messages.ListTransactionsResponse(
        unknown_state_filters=[name for name in request.state_filters if name not in names],
        transaction_states=[
            _State(
                transactional_id=metadata.transactional_id,
                producer_id=metadata.producer_id,
                transaction_state=state_name(metadata.state),
            )
            for metadata in transactions.transactions()
            if passes(metadata)
        ],
    )


def error_response(
    request: messages.ListTransactionsRequest, error: ApiError, version: int
) -> messages.ListTransactionsResponse:
    """Nothing is listed."""
    return messages.ListTransactionsResponse(error_code=error.code)


def _filter(request: messages.ListTransactionsRequest, now_ms: int) -> Callable[[TransactionMetadata], bool]:
    states = frozenset(request.state_filters)
    producer_ids = frozenset(request.producer_id_filters)
    duration_ms = request.duration_filter
    matches = _pattern(request.transactional_id_pattern)

    def passes(metadata: TransactionMetadata) -> bool:
        return (
            (not states or state_name(metadata.state) in states)
            and (not producer_ids or metadata.producer_id in producer_ids)
            and (duration_ms <= _ANY_DURATION or now_ms - metadata.start_ms > duration_ms)
            and matches(metadata.transactional_id)
        )

    return passes


def _pattern(pattern: str | None) -> Callable[[str], bool]:
    if not pattern:
        return lambda _: True
    import re2  # noqa: PLC0415 - it takes longer to import than most answers take to make

    options = re2.Options()
    options.log_errors = False
    try:
        compiled = re2.compile(pattern, options)
    except re2.error:
        raise ApiError(
            ErrorCode.INVALID_REGULAR_EXPRESSION, f"{pattern!r} is no regular expression"
        ) from None
    return lambda transactional_id: compiled.fullmatch(transactional_id) is not None

"""EndTxn (key 26), v0-5.

Commits or aborts a transaction.

Behaviour
- Answered when the decision is in the log; the markers are written next, and readers of committed records see
  the end of the transaction at once.
- Up to version 4 the producer keeps its epoch. Asked again after the end it is told the same; asked for the
  other outcome, INVALID_TXN_STATE.
- Since version 5 every end gives the next epoch, or a new producer id when there is no higher epoch, and both
  are in the answer (KIP-890). A transaction to which nothing was added can be aborted, not committed.
- CONCURRENT_TRANSACTIONS while markers are still to be written.
Versions
- 2 PRODUCER_FENCED, INVALID_PRODUCER_EPOCH before (KIP-588); 4 TRANSACTION_ABORTABLE; 5 producer id and epoch
  in the answer (KIP-890)
"""

from __future__ import annotations

from barnabas.base.errors import ApiError
from barnabas.coordinator.transactions.state import ProducerIdAndEpoch
from barnabas.handlers.request import RequestContext
from barnabas.handlers.transaction_requests import TRANSACTIONS_KIP_890, told_error
from barnabas.protocol import messages

_FIRST_WITH_PRODUCER_FENCED = 2
_FIRST_OF_KIP_890 = 5


def handle(context: RequestContext, request: messages.EndTxnRequest) -> None:
    """Decide; answered when that is in the log."""
    context.services.transactions.end(
        request.transactional_id,
        ProducerIdAndEpoch(producer_id=request.producer_id, producer_epoch=request.producer_epoch),
        commit=request.committed,
        client_version=TRANSACTIONS_KIP_890 if context.api_version >= _FIRST_OF_KIP_890 else 0,
        reply=lambda producer: context.respond(
            messages.EndTxnResponse(producer_id=producer.producer_id, producer_epoch=producer.producer_epoch)
        ),
        failed=lambda error: context.respond(error_response(request, error, context.api_version)),
    )


def error_response(request: messages.EndTxnRequest, error: ApiError, version: int) -> messages.EndTxnResponse:
    """The answer to a request that failed."""
    code = told_error(error.code, is_fencing_known=version >= _FIRST_WITH_PRODUCER_FENCED)
    return messages.EndTxnResponse(error_code=code)

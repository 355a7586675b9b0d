"""InitProducerId (key 22), v0-5.

Gives a producer its id, and with a transactional id its epoch as well.

Behaviour
- Without a transactional id: a new id with epoch 0, never given before (see
  coordinator/transactions/producer_ids.py).
- With one: the id of that transactional id and its next epoch, which fences every older producer. A
  transaction that is under way is aborted first: CONCURRENT_TRANSACTIONS, until that is done.
- An id and epoch in the request are what the producer believes to be: PRODUCER_FENCED when that is not so.
- INVALID_TRANSACTION_TIMEOUT above transaction.max.timeout.ms.
- An empty transactional id, or an id without an epoch or the reverse: INVALID_REQUEST.
Versions
- 3 current id and epoch (KIP-360); 4 PRODUCER_FENCED, INVALID_PRODUCER_EPOCH before (KIP-588);
  5 TRANSACTION_ABORTABLE (KIP-890)
"""

from __future__ import annotations

from barnabas.base.errors import ApiError, ErrorCode
from barnabas.coordinator.transactions.state import ProducerIdAndEpoch
from barnabas.handlers.request import RequestContext
from barnabas.handlers.transaction_requests import told_error
from barnabas.protocol import messages

_NONE = -1
_FIRST_WITH_PRODUCER_FENCED = 4


def handle(
    context: RequestContext, request: messages.InitProducerIdRequest
) -> messages.InitProducerIdResponse | None:
    """Return the next producer id, or ask the coordinator of the transactional id."""
    if request.transactional_id == "":
        raise ApiError(ErrorCode.INVALID_REQUEST, "the transactional id is empty")
    if (request.producer_id == _NONE) != (request.producer_epoch == _NONE):
        raise ApiError(ErrorCode.INVALID_REQUEST, "producer id and epoch go together")
    if request.transactional_id is None:
        return _response(
            ProducerIdAndEpoch(producer_id=context.services.producer_ids.next_id(), producer_epoch=0)
        )
    expected = None
    if request.producer_id != _NONE:
        expected = ProducerIdAndEpoch(producer_id=request.producer_id, producer_epoch=request.producer_epoch)
    context.services.transactions.init_producer_id(
        request.transactional_id,
        request.transaction_timeout_ms,
        expected,
        lambda producer: context.respond(_response(producer)),
        lambda error: context.respond(error_response(request, error, context.api_version)),
    )
    return None


def error_response(
    request: messages.InitProducerIdRequest, error: ApiError, version: int
) -> messages.InitProducerIdResponse:
    """The answer to a request that failed."""
    code = told_error(error.code, is_fencing_known=version >= _FIRST_WITH_PRODUCER_FENCED)
    return messages.InitProducerIdResponse(error_code=code, producer_id=_NONE, producer_epoch=_NONE)


def _response(producer: ProducerIdAndEpoch) -> messages.InitProducerIdResponse:
    return messages.InitProducerIdResponse(
        producer_id=producer.producer_id, producer_epoch=producer.producer_epoch
    )

"""InitProducerId (key 22), v0-5.

Gives an idempotent producer its id.

Behaviour
- Without a transactional id: a new id with epoch 0, never given before (see coordinator/producer_ids.py).
- An empty transactional id, or an id without an epoch or the reverse: INVALID_REQUEST.
- With a transactional id: COORDINATOR_NOT_AVAILABLE, since transactions are not coordinated yet.
Versions
- 3 current id and epoch (KIP-360); 5 TRANSACTION_ABORTABLE (KIP-890)
"""

from __future__ import annotations

from barnabas.base.errors import ApiError, ErrorCode
from barnabas.handlers.request import RequestContext
from barnabas.protocol import messages

_NONE = -1


def handle(
    context: RequestContext, request: messages.InitProducerIdRequest
) -> messages.InitProducerIdResponse:
    """Return the next producer id."""
    if request.transactional_id == "":
        raise ApiError(ErrorCode.INVALID_REQUEST, "the transactional id is empty")
    if (request.producer_id == _NONE) != (request.producer_epoch == _NONE):
        raise ApiError(ErrorCode.INVALID_REQUEST, "producer id and epoch go together")
    if request.transactional_id is not None:
        raise ApiError(
            ErrorCode.COORDINATOR_NOT_AVAILABLE, "this broker does not coordinate transactions yet"
        )
    return messages.InitProducerIdResponse(
        producer_id=context.services.producer_ids.next_id(), producer_epoch=0
    )


def error_response(
    request: messages.InitProducerIdRequest, error: ApiError, version: int
) -> messages.InitProducerIdResponse:
    """The answer to a request that failed."""
    return messages.InitProducerIdResponse(error_code=error.code, producer_id=_NONE, producer_epoch=_NONE)

"""AddOffsetsToTxn (key 25), v0-4.

Makes the partition of a group's offsets a part of a transaction, for clients before KIP-890.

Behaviour
- The group need not exist; its partition of `__consumer_offsets` gets the transaction's marker.
- Errors: INVALID_PRODUCER_ID_MAPPING, PRODUCER_FENCED, CONCURRENT_TRANSACTIONS while the last one is ended.
Versions
- 2 PRODUCER_FENCED, INVALID_PRODUCER_EPOCH before (KIP-588); 4 TRANSACTION_ABORTABLE (KIP-890)
"""

from __future__ import annotations

from barnabas.base.errors import ApiError
from barnabas.coordinator.transactions.state import ProducerIdAndEpoch
from barnabas.handlers.request import RequestContext
from barnabas.handlers.transaction_requests import told_error
from barnabas.protocol import messages

_FIRST_WITH_PRODUCER_FENCED = 2


def handle(context: RequestContext, request: messages.AddOffsetsToTxnRequest) -> None:
    """Add the partition; answered when that is in the log."""
    context.services.groups.ensure_topic()
    context.services.transactions.add_offsets(
        request.transactional_id,
        ProducerIdAndEpoch(producer_id=request.producer_id, producer_epoch=request.producer_epoch),
        request.group_id,
        client_version=0,
        reply=lambda code: context.respond(messages.AddOffsetsToTxnResponse(error_code=code)),
        failed=lambda error: context.respond(error_response(request, error, context.api_version)),
    )


def error_response(
    request: messages.AddOffsetsToTxnRequest, error: ApiError, version: int
) -> messages.AddOffsetsToTxnResponse:
    """The answer to a request that failed."""
    code = told_error(error.code, is_fencing_known=version >= _FIRST_WITH_PRODUCER_FENCED)
    return messages.AddOffsetsToTxnResponse(error_code=code)

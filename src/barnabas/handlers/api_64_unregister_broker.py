"""UnregisterBroker (key 64), v0.

Makes the cluster forget a broker that is gone for good (KIP-500).

Behaviour
- An unknown broker is BROKER_ID_NOT_REGISTERED.
- The broker that is asked is there, so forgetting it is refused with INVALID_REQUEST; Apache Kafka would
  forget it and have it register again.
"""

from __future__ import annotations

from barnabas.base.errors import ApiError
from barnabas.handlers.request import RequestContext
from barnabas.protocol import messages


def handle(
    context: RequestContext, request: messages.UnregisterBrokerRequest
) -> messages.UnregisterBrokerResponse:
    """Remove the registration."""
    context.services.controller.unregister_broker(request.broker_id)
    return messages.UnregisterBrokerResponse()


def error_response(
    request: messages.UnregisterBrokerRequest, error: ApiError, version: int
) -> messages.UnregisterBrokerResponse:
    """The answer to a request that failed."""
    return messages.UnregisterBrokerResponse(error_code=error.code, error_message=error.message)

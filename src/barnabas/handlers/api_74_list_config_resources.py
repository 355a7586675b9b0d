"""ListConfigResources (key 74), v0-1.

Tells which resources have configs, or could have them (KIP-1142).

Behaviour
- Topics and brokers are listed because they exist, groups and subscriptions because they are configured.
- No types at all means all of them; an unknown one is UNSUPPORTED_VERSION for the whole request.
Versions
- 0 client metrics subscriptions only (KIP-714); 1 all types
"""

from __future__ import annotations

from barnabas.base.errors import ApiError, ErrorCode
from barnabas.handlers.request import RequestContext
from barnabas.metadata.image import ConfigResourceType
from barnabas.protocol import messages

_CONFIGURED = (ConfigResourceType.GROUP, ConfigResourceType.CLIENT_METRICS)
_ALL = (
    *_CONFIGURED,
    ConfigResourceType.BROKER_LOGGER,
    ConfigResourceType.BROKER,
    ConfigResourceType.TOPIC,
)


def handle(
    context: RequestContext, request: messages.ListConfigResourcesRequest
) -> messages.ListConfigResourcesResponse:
    """List the resources of each type asked for."""
    if context.api_version == 0:
        kinds: list[int] = [ConfigResourceType.CLIENT_METRICS]
    else:
        kinds = list(dict.fromkeys(request.resource_types)) or list(_ALL)
    if any(kind not in _ALL for kind in kinds):
        raise ApiError(ErrorCode.UNSUPPORTED_VERSION)
    return messages.ListConfigResourcesResponse(
        config_resources=[
            messages.ListConfigResourcesResponseConfigResource(resource_name=name, resource_type=kind)
            for kind in kinds
            for name in _names(context, kind)
        ]
    )


def error_response(
    request: messages.ListConfigResourcesRequest, error: ApiError, version: int
) -> messages.ListConfigResourcesResponse:
    """The answer to a request that failed."""
    return messages.ListConfigResourcesResponse(error_code=error.code)


def _names(context: RequestContext, kind: int) -> list[str]:
    image = context.services.image
    if kind in _CONFIGURED:
        return [name for configured, name in image.configs if configured == kind]
    if kind == ConfigResourceType.TOPIC:
        return list(image.topics)
    return [str(node_id) for node_id in image.brokers]

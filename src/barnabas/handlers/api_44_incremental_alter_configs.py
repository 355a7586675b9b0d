"""IncrementalAlterConfigs (key 44), v0-1.

Sets, deletes, appends to and subtracts from single configs of a resource (KIP-339).

Behaviour
- Each resource stands or falls alone; validate_only checks and changes nothing.
- Broker loggers (KIP-412) are this process's; their levels last until it ends.
- A change is durable, except for loggers, and in effect when it is answered.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from barnabas.base.errors import ApiError, ErrorCode
from barnabas.handlers.broker_loggers import alter_loggers
from barnabas.handlers.request import RequestContext
from barnabas.metadata.config_changes import ConfigAlteration, ResourceAlteration
from barnabas.metadata.image import ConfigResourceType
from barnabas.protocol import messages


def handle(
    context: RequestContext, request: messages.IncrementalAlterConfigsRequest
) -> messages.IncrementalAlterConfigsResponse:
    """Alter loggers here, leave the rest to the controller; answer in request order."""
    resources = [_alteration(resource) for resource in request.resources]
    kept = [r for r in resources if r.resource_type != ConfigResourceType.BROKER_LOGGER]
    results = iter(
        context.services.controller.incremental_alter_configs(kept, validate_only=request.validate_only)
    )
    outcomes = []
    for resource in resources:
        if resource.resource_type == ConfigResourceType.BROKER_LOGGER:
            error = _alter_loggers(context, resource, resources, validate_only=request.validate_only)
        else:
            result = next(results)
            error = ApiError(result.error, result.message)
        outcomes.append(_response(resource.resource_type, resource.resource_name, error))
    return messages.IncrementalAlterConfigsResponse(responses=outcomes)


def error_response(
    request: messages.IncrementalAlterConfigsRequest, error: ApiError, version: int
) -> messages.IncrementalAlterConfigsResponse:
    """Every resource failed for the same reason."""
    return messages.IncrementalAlterConfigsResponse(
        responses=[
            _response(resource.resource_type, resource.resource_name, error) for resource in request.resources
        ]
    )


def _alter_loggers(
    context: RequestContext,
    resource: ResourceAlteration,
    resources: Sequence[ResourceAlteration],
    *,
    validate_only: bool,
) -> ApiError:
    key = (resource.resource_type, resource.resource_name)
    if sum((other.resource_type, other.resource_name) == key for other in resources) > 1:
        return ApiError(ErrorCode.INVALID_REQUEST, "Each resource must appear at most once.")
    names = Counter(alteration.name for alteration in resource.alterations)
    if any(count > 1 for count in names.values()):
        return ApiError(ErrorCode.INVALID_REQUEST, "Error due to duplicate config keys")
    try:
        alter_loggers(
            resource.resource_name,
            context.services.node_id,
            resource.alterations,
            validate_only=validate_only,
        )
    except ApiError as error:
        return error
    context.services.request_log.refresh()
    return ApiError(ErrorCode.NONE)


def _alteration(
    resource: messages.IncrementalAlterConfigsRequestAlterConfigsResource,
) -> ResourceAlteration:
    return ResourceAlteration(
        resource_type=resource.resource_type,
        resource_name=resource.resource_name,
        alterations=[
            ConfigAlteration(name=config.name, operation=config.config_operation, value=config.value)
            for config in resource.configs
        ],
    )


def _response(
    resource_type: int, resource_name: str, error: ApiError
) -> messages.IncrementalAlterConfigsResponseAlterConfigsResourceResponse:
    return messages.IncrementalAlterConfigsResponseAlterConfigsResourceResponse(
        error_code=error.code,
        error_message=error.message,
        resource_type=resource_type,
        resource_name=resource_name,
    )

"""AlterConfigs (key 33), v0-2.

Replaces all configs of each resource by those given; what is not given returns to its default.

Behaviour
- Each resource stands or falls alone; validate_only checks and changes nothing.
- Topics, brokers, groups and client metrics; broker loggers only by IncrementalAlterConfigs.
- A change is durable and in effect when it is answered.
"""

from __future__ import annotations

from barnabas.base.errors import ApiError
from barnabas.handlers.request import RequestContext
from barnabas.metadata.config_changes import ConfigAlteration, ResourceAlteration
from barnabas.protocol import messages


def handle(context: RequestContext, request: messages.AlterConfigsRequest) -> messages.AlterConfigsResponse:
    """Hand every resource to the controller."""
    resources = [
        ResourceAlteration(
            resource_type=resource.resource_type,
            resource_name=resource.resource_name,
            alterations=[
                ConfigAlteration(name=config.name, value=config.value) for config in resource.configs
            ],
        )
        for resource in request.resources
    ]
    results = context.services.controller.alter_configs(resources, validate_only=request.validate_only)
    return messages.AlterConfigsResponse(
        responses=[
            _response(result.resource_type, result.resource_name, ApiError(result.error, result.message))
            for result in results
        ]
    )


def error_response(
    request: messages.AlterConfigsRequest, error: ApiError, version: int
) -> messages.AlterConfigsResponse:
    """Every resource failed for the same reason."""
    return messages.AlterConfigsResponse(
        responses=[
            _response(resource.resource_type, resource.resource_name, error) for resource in request.resources
        ]
    )


def _response(
    resource_type: int, resource_name: str, error: ApiError
) -> messages.AlterConfigsResponseAlterConfigsResourceResponse:
    return messages.AlterConfigsResponseAlterConfigsResourceResponse(
        error_code=error.code,
        error_message=error.message,
        resource_type=resource_type,
        resource_name=resource_name,
    )

"""DescribeConfigs (key 32), v1-4.

Tells the configs of topics, brokers, broker loggers, groups and client metrics subscriptions.

Behaviour
- Each resource has its own result. Keys that do not exist are left out; no keys at all means all of them.
- Values come from where the broker itself takes them, so what is told is what holds. Secrets and values of
  names nobody defined are null.
- Synonyms are every place the value could come from, strongest first; told only when asked for.
- A group or subscription nobody configured has its defaults.
- A broker describes itself: its own id, or no name for the default of all brokers.
Versions
- 1 synonyms (KIP-226); 3 types and documentation (KIP-569). Broker loggers: KIP-412; client metrics:
  KIP-714; groups: KIP-848
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from barnabas.base.errors import ApiError, ErrorCode
from barnabas.handlers.broker_loggers import logger_levels
from barnabas.handlers.request import RequestContext
from barnabas.metadata.config_definitions import (
    ConfigEntry,
    ConfigSource,
    describe_broker,
    describe_client_metrics,
    describe_cluster_default,
    describe_group,
    describe_topic,
)
from barnabas.metadata.config_types import PROTOCOL_TYPE_IDS
from barnabas.metadata.image import ConfigResourceType
from barnabas.metadata.topic_names import validate_topic_name
from barnabas.protocol import messages

_Config = messages.DescribeConfigsResponseDescribeConfigsResourceResult
_Made = dict[tuple[frozenset[tuple[str, str]], frozenset[str]], list[_Config]]
"""What topics set and which keys are asked for -> their configs in the response."""

_UNKNOWN_TYPE = 0
_MALFORMED = (
    "This most likely occurs because of a request being malformed by the client library or the message was "
    "sent to an incompatible broker. See the broker logs for more details."
)


def handle(
    context: RequestContext, request: messages.DescribeConfigsRequest
) -> messages.DescribeConfigsResponse:
    """Describe each resource by itself; topics that set the same share what is made for the first."""
    made: _Made = {}
    return messages.DescribeConfigsResponse(
        results=[_describe(context, request, resource, made) for resource in request.resources]
    )


def error_response(
    request: messages.DescribeConfigsRequest, error: ApiError, version: int
) -> messages.DescribeConfigsResponse:
    """Every resource failed for the same reason."""
    return messages.DescribeConfigsResponse(
        results=[_failed(resource, error) for resource in request.resources]
    )


def _describe(
    context: RequestContext,
    request: messages.DescribeConfigsRequest,
    resource: messages.DescribeConfigsRequestDescribeConfigsResource,
    made: _Made,
) -> messages.DescribeConfigsResponseDescribeConfigsResult:
    kind, name = resource.resource_type, resource.resource_name
    keys = frozenset(resource.configuration_keys or ())
    try:
        if kind == ConfigResourceType.TOPIC:
            overrides = _topic_overrides(context, name)
            same = (frozenset(overrides.items()), keys)
            configs = made.get(same)
            if configs is None:
                entries: Sequence[ConfigEntry] = describe_topic(
                    overrides, context.services.controller.broker_configs()
                )
                configs = made[same] = _configs(request, kind, entries, keys)
        else:
            configs = _configs(request, kind, _entries(context, kind, name), keys)
    except ApiError as error:
        return _failed(resource, error)
    return messages.DescribeConfigsResponseDescribeConfigsResult(
        resource_type=kind, resource_name=name, configs=configs
    )


def _topic_overrides(context: RequestContext, name: str) -> Mapping[str, str]:
    validate_topic_name(name)
    image = context.services.image
    if name not in image.topics:
        raise ApiError(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, "")
    return image.config(ConfigResourceType.TOPIC, name)


def _configs(
    request: messages.DescribeConfigsRequest,
    kind: int,
    entries: Sequence[ConfigEntry],
    keys: frozenset[str],
) -> list[_Config]:
    """Return entries as the response has them; only those named, unless no key is named."""
    return [
        _config(
            entry,
            with_synonyms=request.include_synonyms,
            documentation=_documentation(kind, entry.name) if request.include_documentation else None,
        )
        for entry in entries
        if not keys or entry.name in keys
    ]


def _entries(context: RequestContext, kind: int, name: str) -> Sequence[ConfigEntry]:
    services = context.services
    image = services.image
    match kind:
        case ConfigResourceType.BROKER:
            if not name:
                return describe_cluster_default(image.config(ConfigResourceType.BROKER, ""))
            _check_own_id(name, services.node_id, "expected {} or empty string, but received {}")
            return describe_broker(services.controller.broker_configs())
        case ConfigResourceType.BROKER_LOGGER:
            if not name:
                raise ApiError(ErrorCode.INVALID_REQUEST, "Broker id must not be empty")
            _check_own_id(name, services.node_id, "expected {} but received {}")
            return [
                ConfigEntry(
                    name=logger,
                    value=level,
                    source=ConfigSource.DYNAMIC_BROKER_LOGGER_CONFIG,
                    type="UNKNOWN",
                )
                for logger, level in logger_levels().items()
            ]
        case ConfigResourceType.CLIENT_METRICS:
            if not name:
                why = "Client metrics subscription name must not be empty"
                raise ApiError(ErrorCode.INVALID_REQUEST, why)
            return describe_client_metrics(image.config(ConfigResourceType.CLIENT_METRICS, name))
        case ConfigResourceType.GROUP:
            if not name:
                raise ApiError(ErrorCode.INVALID_REQUEST, "Group name must not be empty")
            overrides = image.config(ConfigResourceType.GROUP, name)
            return describe_group(overrides, services.controller.broker_configs())
    raise ApiError(ErrorCode.INVALID_REQUEST, _MALFORMED)


def _check_own_id(name: str, node_id: int, why: str) -> None:
    try:
        given = int(name)
    except ValueError:
        raise ApiError(
            ErrorCode.INVALID_REQUEST, f"Broker id must be an integer, but it is: {name}"
        ) from None
    if given != node_id:
        raise ApiError(ErrorCode.INVALID_REQUEST, f"Unexpected broker id, {why.format(node_id, name)}")


def _documentation(kind: int, name: str) -> str | None:
    # Some hundred sentences that most brokers are never asked for.
    from barnabas.metadata import config_docs  # noqa: PLC0415

    match kind:
        case ConfigResourceType.TOPIC:
            return config_docs.topic_documentation(name)
        case ConfigResourceType.BROKER:
            return config_docs.broker_documentation(name)
        case ConfigResourceType.GROUP:
            return config_docs.group_documentation(name)
        case ConfigResourceType.CLIENT_METRICS:
            return config_docs.client_metrics_documentation(name)
    return None


def _config(entry: ConfigEntry, *, with_synonyms: bool, documentation: str | None) -> _Config:
    return _Config(
        name=entry.name,
        value=entry.value,
        read_only=entry.read_only,
        config_source=entry.source,
        is_sensitive=entry.is_sensitive,
        synonyms=[
            messages.DescribeConfigsResponseDescribeConfigsSynonym(
                name=synonym.name, value=synonym.value, source=synonym.source
            )
            for synonym in (entry.synonyms if with_synonyms else ())
        ],
        config_type=PROTOCOL_TYPE_IDS.get(entry.type, _UNKNOWN_TYPE),
        documentation=documentation,
    )


def _failed(
    resource: messages.DescribeConfigsRequestDescribeConfigsResource, error: ApiError
) -> messages.DescribeConfigsResponseDescribeConfigsResult:
    return messages.DescribeConfigsResponseDescribeConfigsResult(
        error_code=error.code,
        error_message=error.message,
        resource_type=resource.resource_type,
        resource_name=resource.resource_name,
    )

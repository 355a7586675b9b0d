"""Changing configs: what is asked, checked against the definitions, as records; nothing is changed here.

Each resource stands or falls alone and completely: either all its changes are valid, or none is made.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from barnabas.base.dataclass import dataclass
from barnabas.base.enums import IntEnum
from barnabas.base.errors import ApiError, ErrorCode
from barnabas.base.hints import Final
from barnabas.metadata.broker_config_checks import check_broker_configs
from barnabas.metadata.config_definitions import (
    BROKER,
    CLIENT_METRICS,
    GROUP,
    LISTENER_PREFIX,
    TOPIC,
    BrokerConfigs,
    ConfigError,
    broker_definition,
    topic_value,
)
from barnabas.metadata.config_types import LIST, ConfigTable, value_text
from barnabas.metadata.group_config_checks import validate_group_configs
from barnabas.metadata.image import ConfigResource, ConfigResourceType, MetadataImage
from barnabas.metadata.records import VersionedRecord
from barnabas.metadata.topic_names import validate_topic_name
from barnabas.protocol import messages

ELR_FEATURE: Final = "eligible.leader.replicas.version"
MIN_INSYNC_REPLICAS: Final = "min.insync.replicas"
LOCAL_RETENTION_UNSET: Final = "-2"
INTERVAL_MS_MIN: Final = 100
INTERVAL_MS_MAX: Final = 3_600_000

_MATCH_KEYS: Final = frozenset(
    {
        "client_instance_id",
        "client_id",
        "client_software_name",
        "client_software_version",
        "client_source_address",
        "client_source_port",
    }
)
_PER_LISTENER_OF_ALL_BROKERS: Final = frozenset(
    ("max.connection.creation.rate", "max.connections", "num.network.threads")
)
_PER_LISTENER_ONLY: Final = frozenset(
    (
        "ssl.key.password",
        "ssl.keystore.certificate.chain",
        "ssl.keystore.key",
        "ssl.keystore.location",
        "ssl.keystore.password",
        "ssl.keystore.type",
        "ssl.truststore.certificates",
        "ssl.truststore.location",
        "ssl.truststore.password",
        "ssl.truststore.type",
    )
)


class ConfigOperation(IntEnum):
    """What IncrementalAlterConfigs does to one name (KIP-339)."""

    SET = 0
    DELETE = 1
    APPEND = 2
    SUBTRACT = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class ConfigAlteration:
    """One name of one resource; `value` is None for DELETE only."""

    name: str
    operation: int = ConfigOperation.SET
    value: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ResourceAlteration:
    """Changes to one resource; `resource_type` as it came, known or not."""

    resource_type: int
    resource_name: str
    alterations: Sequence[ConfigAlteration]


@dataclass(frozen=True, slots=True, kw_only=True)
class ResourceResult:
    """How the changes to one resource went."""

    resource_type: int
    resource_name: str
    error: ErrorCode = ErrorCode.NONE
    message: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ConfigContext:
    """What a config is checked against: the image, this node, and the broker's own configs.

    Attributes:
        check_listeners: raises ApiError when listeners could not be as configs of the broker will have them.
    """

    image: MetadataImage
    node_id: int
    brokers: BrokerConfigs
    check_listeners: Callable[[BrokerConfigs], None] | None = None


def plan_resource(
    resource: ResourceAlteration, context: ConfigContext, *, replace_all: bool
) -> list[VersionedRecord]:
    """Return the records that change a resource's configs.

    Args:
        replace_all: as AlterConfigs does: names that are not given are deleted.
    Raises:
        ApiError: the resource cannot be changed so.
    """
    kind = _check_request(resource, context)
    key = (kind, resource.resource_name)
    before = dict(context.image.config(*key))
    after = {} if replace_all else dict(before)
    for alteration in resource.alterations:
        _apply(alteration, key, after, context)
    _check_resource(key, before, after, context)
    names = list(dict.fromkeys([*(a.name for a in resource.alterations), *before]))
    # A broker hears of what was set anew though it is the same, and reads the files it names again.
    given = {a.name for a in resource.alterations if a.name in after}
    return [
        VersionedRecord(
            messages.ConfigRecord(
                resource_type=kind, resource_name=resource.resource_name, name=name, value=after.get(name)
            )
        )
        for name in names
        if before.get(name) != after.get(name) or (kind is ConfigResourceType.BROKER and name in given)
    ]


def _check_request(resource: ResourceAlteration, context: ConfigContext) -> ConfigResourceType:
    names = [alteration.name for alteration in resource.alterations]
    if len(set(names)) != len(names):
        raise ApiError(ErrorCode.INVALID_REQUEST, "Error due to duplicate config keys")
    nulls = [
        a.name for a in resource.alterations if a.value is None and a.operation != ConfigOperation.DELETE
    ]
    if nulls:
        raise ApiError(ErrorCode.INVALID_REQUEST, f"Null value not supported for : {', '.join(nulls)}")
    name = resource.resource_name
    match resource.resource_type:
        case ConfigResourceType.TOPIC:
            if not name:
                raise ApiError(ErrorCode.INVALID_REQUEST, "Default topic resources are not allowed.")
            validate_topic_name(name)
            if name not in context.image.topics:
                raise ApiError(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, f"The topic '{name}' does not exist.")
        case ConfigResourceType.BROKER:
            _check_node(name, context)
        case ConfigResourceType.CLIENT_METRICS:
            if not name:
                raise ApiError(ErrorCode.INVALID_REQUEST, "Subscription name can't be empty")
        case ConfigResourceType.GROUP:
            if not name:
                raise ApiError(ErrorCode.INVALID_REQUEST, "Default group resources are not allowed.")
        case other:
            raise ApiError(ErrorCode.INVALID_REQUEST, f"Unknown resource type {int(other)}")
    return ConfigResourceType(resource.resource_type)


def _check_node(name: str, context: ConfigContext) -> None:
    if not name:
        return
    try:
        node_id = int(name)
    except ValueError:
        raise ApiError(ErrorCode.INVALID_REQUEST, f"Node id must be an integer, but it is: {name}") from None
    if node_id != context.node_id:
        raise ApiError(
            ErrorCode.INVALID_REQUEST,
            f"Unexpected broker id, expected {context.node_id}, but received {name}",
        )


def _apply(
    alteration: ConfigAlteration, resource: ConfigResource, values: dict[str, str], context: ConfigContext
) -> None:
    name, value = alteration.name, alteration.value
    if alteration.operation == ConfigOperation.DELETE:
        values.pop(name, None)
        return
    assert value is not None
    if alteration.operation == ConfigOperation.SET:
        values[name] = value
        return
    if alteration.operation not in (ConfigOperation.APPEND, ConfigOperation.SUBTRACT):
        # Apache Kafka fails here without words; so do we.
        raise ApiError(ErrorCode.UNKNOWN_SERVER_ERROR)
    operation = ConfigOperation(alteration.operation).name
    if _type_of(resource[0], name) != LIST:
        raise ApiError(
            ErrorCode.INVALID_CONFIG, f"Can't {operation} to key {name} because its type is not LIST."
        )
    current = values.get(name)
    if current is None:
        current = _fallback(resource, name, context)
    items = [item.strip() for item in current.split(",")] if current else []
    for item in (part.strip() for part in value.split(",")):
        if alteration.operation == ConfigOperation.SUBTRACT:
            items = [present for present in items if present != item]
        elif item not in items:
            items.append(item)
    values[name] = ",".join(items)


_TABLES: Final[Mapping[ConfigResourceType, ConfigTable]] = {
    ConfigResourceType.TOPIC: TOPIC,
    ConfigResourceType.BROKER: BROKER,
    ConfigResourceType.GROUP: GROUP,
    ConfigResourceType.CLIENT_METRICS: CLIENT_METRICS,
}


def _type_of(kind: ConfigResourceType, name: str) -> str | None:
    table = _TABLES[kind]
    return table.definition(name).type if name in table else None


def _fallback(resource: ConfigResource, name: str, context: ConfigContext) -> str | None:
    """Return what a list is before anything was set on the resource."""
    kind = resource[0]
    definition = _TABLES[kind].definition(name)
    if kind is ConfigResourceType.TOPIC:
        return value_text(topic_value(name, {}, context.brokers)[0], definition.type)
    if kind is ConfigResourceType.BROKER:
        static = context.brokers.static
        return static[name] if name in static else value_text(definition.default, definition.type)
    return value_text(definition.default, definition.type)


def _check_resource(
    resource: ConfigResource, before: Mapping[str, str], after: Mapping[str, str], context: ConfigContext
) -> None:
    match resource[0]:
        case ConfigResourceType.TOPIC:
            validate_topic_configs(after, context.brokers)
        case ConfigResourceType.BROKER:
            validate_broker_configs(after, per_broker=bool(resource[1]))
            _check_elr(resource[1], before, after, context)
            changed = [n for n in dict.fromkeys((*before, *after)) if before.get(n) != after.get(n)]
            brokers_after = _brokers_after(resource[1], after, context)
            check_broker_configs(changed, context.brokers, brokers_after)
            # Unchanged texts, too: the files they name may have changed.
            if context.check_listeners and any(name.startswith(LISTENER_PREFIX) for name in after):
                context.check_listeners(brokers_after)
        case ConfigResourceType.GROUP:
            validate_group_configs(after, context.brokers)
        case _:
            validate_client_metrics(after)


def _brokers_after(name: str, after: Mapping[str, str], context: ConfigContext) -> BrokerConfigs:
    """Return what is set for this broker when the configs of it, or of all, are `after`."""
    now = context.brokers
    return BrokerConfigs(
        broker=after if name else now.broker, cluster=now.cluster if name else after, static=now.static
    )


def _check_elr(
    name: str, before: Mapping[str, str], after: Mapping[str, str], context: ConfigContext
) -> None:
    """Eligible leader replicas are only right while every broker has one min.insync.replicas (KIP-966)."""
    if not context.image.features.get(ELR_FEATURE):
        return
    if name and before.get(MIN_INSYNC_REPLICAS) != after.get(MIN_INSYNC_REPLICAS):
        raise ApiError(
            ErrorCode.INVALID_CONFIG,
            "Broker-level min.insync.replicas cannot be altered while ELR is enabled.",
        )
    if not name and MIN_INSYNC_REPLICAS in before and MIN_INSYNC_REPLICAS not in after:
        raise ApiError(
            ErrorCode.INVALID_CONFIG,
            "Cluster-level min.insync.replicas cannot be removed while ELR is enabled.",
        )


def validate_topic_configs(values: Mapping[str, str], brokers: BrokerConfigs) -> None:
    """Check all configs of a topic, alone and together.

    Raises:
        ApiError: INVALID_CONFIG.
    """
    for name in values:
        if name not in TOPIC:
            raise ApiError(ErrorCode.INVALID_CONFIG, f"Unknown topic config name: {name}")
    try:
        for name, text in values.items():
            TOPIC.parse(name, text)
        shortest = topic_value("min.compaction.lag.ms", values, brokers)[0]
        longest = topic_value("max.compaction.lag.ms", values, brokers)[0]
        remote = topic_value("remote.storage.enable", values, brokers)[0]
    except ConfigError as error:
        raise ApiError(ErrorCode.INVALID_CONFIG, str(error)) from error
    if isinstance(shortest, int) and isinstance(longest, int) and shortest > longest:
        raise ApiError(
            ErrorCode.INVALID_CONFIG,
            f"conflict topic config setting min.compaction.lag.ms ({shortest}) > "
            f"max.compaction.lag.ms ({longest})",
        )
    if remote:
        raise ApiError(
            ErrorCode.INVALID_CONFIG,
            "Tiered Storage functionality is disabled in the broker. Topic cannot be configured with remote "
            "log storage.",
        )
    for name in ("local.retention.ms", "local.retention.bytes"):
        if values.get(name, LOCAL_RETENTION_UNSET).strip() != LOCAL_RETENTION_UNSET:
            raise ApiError(
                ErrorCode.INVALID_CONFIG,
                f"{name} says what stays local of a topic in tiered storage, which is disabled in the broker",
            )


def validate_broker_configs(values: Mapping[str, str], *, per_broker: bool) -> None:
    """Check dynamic broker configs. Unknown names are kept, as Apache Kafka keeps them for plugins.

    Raises:
        ApiError: INVALID_REQUEST.
    """

    def refuse(names: list[str], why: str) -> None:
        if names:
            raise ApiError(ErrorCode.INVALID_REQUEST, f"{why}: [{', '.join(sorted(names))}]")

    refuse(
        [name for name in values if name in BROKER and not BROKER.definition(name).dynamic],
        "Cannot update these configs dynamically",
    )
    refuse(
        [name for name in values if name in _PER_LISTENER_ONLY],
        "These security configs can be dynamically updated only per-listener using the listener prefix",
    )
    try:
        for name, text in values.items():
            definition = broker_definition(name)
            if definition is not None:
                definition.parse(text)
    except ConfigError as error:
        raise ApiError(ErrorCode.INVALID_REQUEST, str(error)) from error
    if not per_broker:
        refuse(
            [name for name in values if _is_per_broker(name)],
            "Cannot update these configs at default cluster level, broker id must be specified",
        )


def _is_per_broker(name: str) -> bool:
    """Whether a config cannot be set for all brokers at once; those of a listener cannot, but for three."""
    if name.startswith(LISTENER_PREFIX):
        definition = broker_definition(name)
        return definition is None or definition.name not in _PER_LISTENER_OF_ALL_BROKERS
    return name in BROKER and BROKER.definition(name).per_broker_only


def validate_client_metrics(values: Mapping[str, str]) -> None:
    """Check a client metrics subscription (KIP-714).

    Raises:
        ApiError: INVALID_REQUEST; INVALID_CONFIG for a malformed match.
    """
    for name in values:
        if name not in CLIENT_METRICS:
            raise ApiError(ErrorCode.INVALID_REQUEST, f"Unknown client metrics configuration: {name}")
    try:
        parsed = {name: CLIENT_METRICS.parse(name, text) for name, text in values.items()}
    except ConfigError as error:
        raise ApiError(ErrorCode.INVALID_REQUEST, str(error)) from error
    interval = parsed.get("interval.ms")
    if isinstance(interval, int) and not INTERVAL_MS_MIN <= interval <= INTERVAL_MS_MAX:
        raise ApiError(
            ErrorCode.INVALID_REQUEST,
            f"Invalid value {interval} for interval.ms, interval must be between {INTERVAL_MS_MIN} and "
            f"{INTERVAL_MS_MAX} (1 hour)",
        )
    import re  # noqa: PLC0415 - no start needs it

    match = parsed.get("match")
    for pattern in match if isinstance(match, tuple) else ():
        key, equals, expression = pattern.partition("=")
        try:
            re.compile(expression)
        except re.error:
            equals = ""
        if not equals or key.strip() not in _MATCH_KEYS:
            raise ApiError(ErrorCode.INVALID_CONFIG, f"Illegal client matching pattern: {pattern}")

"""Asking for configurations of topics, brokers, groups and others, and altering them.

A broker knows only its own static configuration, so what concerns one broker is asked of that broker;
everything else any broker answers, and the controller alters.
"""

from collections.abc import Iterable, Sequence

from barnabas.base.dataclass import dataclass
from barnabas.base.enums import IntEnum
from barnabas.base.errors import ErrorCode
from barnabas.base.hints import Any
from barnabas.cli.client.cluster import Cluster
from barnabas.cli.client.errors import BrokerError, ClientError, UnsupportedByBrokerError
from barnabas.metadata.image_types import ConfigResourceType
from barnabas.protocol import messages

DESCRIBE_CONFIGS = 32
INCREMENTAL_ALTER_CONFIGS = 44
LIST_CONFIG_RESOURCES = 74

SOURCES = (
    "unknown",
    "topic",
    "broker",
    "all brokers",
    "static",
    "default",
    "broker logger",
    "client metrics",
    "group",
)
"""Where a value comes from, by the protocol's number (KIP-226): set for this topic or broker, for all
brokers, in the broker's properties file, or nowhere."""

TYPES = ("unknown", "boolean", "string", "int", "short", "long", "double", "list", "class", "password")
"""What a value must be, by the protocol's number (KIP-569)."""

_SET_SOURCES = {
    ConfigResourceType.TOPIC: ("topic",),
    ConfigResourceType.BROKER: ("broker", "all brokers"),
    ConfigResourceType.BROKER_LOGGER: ("broker logger",),
    ConfigResourceType.CLIENT_METRICS: ("client metrics",),
    ConfigResourceType.GROUP: ("group",),
}
_EXTRA_WAIT_S = 5.0
_ONE_BROKERS = (ConfigResourceType.BROKER, ConfigResourceType.BROKER_LOGGER)


class Operation(IntEnum):
    """What to do with one key; the numbers of IncrementalAlterConfigs (KIP-339)."""

    SET = 0
    DELETE = 1
    APPEND = 2
    SUBTRACT = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class Resource:
    """What a configuration belongs to; a broker's name is its id, or empty for the default of all."""

    kind: ConfigResourceType
    name: str

    @property
    def subject(self) -> str:
        """What to call it in a message."""
        if self.kind is ConfigResourceType.BROKER and not self.name:
            return "default of all brokers"
        return f"{self.kind.name.lower().replace('_', ' ')} {self.name}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Synonym:
    """One place a value could come from."""

    name: str
    value: str | None
    source: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Config:
    """One effective configuration.

    Args:
        value: None when it is unset, or secret (`is_sensitive`).
        source: one of SOURCES.
        type: one of TYPES.
        synonyms: every place it could come from, strongest first.
        documentation: None unless asked for.
    """

    name: str
    value: str | None
    source: str
    type: str
    read_only: bool
    is_sensitive: bool
    synonyms: tuple[Synonym, ...]
    documentation: str | None

    def is_altered(self, kind: ConfigResourceType) -> bool:
        """Whether it was altered for a resource of this kind: neither a default nor from elsewhere."""
        return self.source in _SET_SOURCES[kind]


@dataclass(frozen=True, slots=True, kw_only=True)
class Alteration:
    """One key to change; the value of a deletion is None."""

    operation: Operation
    name: str
    value: str | None


def list_resources(cluster: Cluster, kinds: Sequence[ConfigResourceType]) -> list[Resource]:
    """Return the resources of some kinds that have configurations, or could have (KIP-1142).

    Raises:
        BrokerError, ClientError: the broker cannot tell resources of such a kind.
    """
    request = messages.ListConfigResourcesRequest(resource_types=[int(kind) for kind in kinds])
    try:
        response = cluster.request_any(LIST_CONFIG_RESOURCES, request)
    except UnsupportedByBrokerError:
        return [resource for kind in kinds for resource in _known_by_metadata(cluster, kind)]
    if response.error_code:
        raise BrokerError(response.error_code, "config resources")
    return sorted(
        (
            Resource(kind=ConfigResourceType(found.resource_type), name=found.resource_name)
            for found in response.config_resources
        ),
        key=lambda resource: (resource.kind, _numbers_as_such(resource.name)),
    )


def _known_by_metadata(cluster: Cluster, kind: ConfigResourceType) -> list[Resource]:
    if kind is ConfigResourceType.TOPIC:
        return [Resource(kind=kind, name=topic.name) for topic in cluster.topics()]
    if kind in _ONE_BROKERS:
        return [Resource(kind=kind, name=str(node_id)) for node_id in cluster.broker_ids()]
    return []  # a broker without this API knows of no such resource


def _numbers_as_such(name: str) -> tuple[int, str]:
    return (int(name) if name.isascii() and name.isdigit() else 0, name)


def describe(
    cluster: Cluster,
    resource: Resource,
    *,
    keys: Iterable[str] | None = None,
    documentation: bool = False,
) -> list[Config]:
    """Return the effective configuration of a resource, by name.

    Args:
        keys: None for all; names that do not exist are left out.

    Raises:
        BrokerError: UNKNOWN_TOPIC_OR_PARTITION, INVALID_REQUEST ...
        UnsupportedByBrokerError: the broker cannot be asked for configurations.
    """
    request = messages.DescribeConfigsRequest(
        resources=[
            messages.DescribeConfigsRequestDescribeConfigsResource(
                resource_type=resource.kind,
                resource_name=resource.name,
                configuration_keys=None if keys is None else list(keys),
            )
        ],
        include_synonyms=True,
        include_documentation=documentation,
    )

    def check(response: Any) -> None:
        for result in response.results:
            if result.error_code:
                raise BrokerError(result.error_code, resource.subject, result.error_message)

    if _belongs_to_one_broker(resource):
        response = _ask_broker(cluster, resource, DESCRIBE_CONFIGS, request)
    else:
        response = cluster.request_any(DESCRIBE_CONFIGS, request)
    check(response)
    found = [_config(entry) for result in response.results for entry in result.configs]
    return sorted(found, key=lambda config: config.name)


def describe_if_possible(cluster: Cluster, resource: Resource) -> list[Config] | None:
    """Return what `describe` does; None when the broker cannot be asked for configurations."""
    try:
        return describe(cluster, resource)
    except UnsupportedByBrokerError:
        return None
    except BrokerError as error:
        if error.code == ErrorCode.UNSUPPORTED_VERSION:
            return None
        raise


def alter(
    cluster: Cluster, resource: Resource, alterations: Sequence[Alteration], *, validate_only: bool = False
) -> None:
    """Change some keys of a resource and leave the others (KIP-339).

    Raises:
        BrokerError: INVALID_CONFIG, UNKNOWN_TOPIC_OR_PARTITION, INVALID_REQUEST ...; nothing was changed.
    """
    request = messages.IncrementalAlterConfigsRequest(
        resources=[
            messages.IncrementalAlterConfigsRequestAlterConfigsResource(
                resource_type=resource.kind,
                resource_name=resource.name,
                configs=[
                    messages.IncrementalAlterConfigsRequestAlterableConfig(
                        name=alteration.name,
                        config_operation=alteration.operation,
                        value=alteration.value,
                    )
                    for alteration in alterations
                ],
            )
        ],
        validate_only=validate_only,
    )

    def check(response: Any) -> None:
        for result in response.responses:
            if result.error_code:
                raise BrokerError(result.error_code, resource.subject, result.error_message)

    if _belongs_to_one_broker(resource):
        check(_ask_broker(cluster, resource, INCREMENTAL_ALTER_CONFIGS, request))
    else:
        cluster.request_controller(INCREMENTAL_ALTER_CONFIGS, request, check, _EXTRA_WAIT_S)


def _belongs_to_one_broker(resource: Resource) -> bool:
    return resource.kind in _ONE_BROKERS and resource.name != ""


def _ask_broker(cluster: Cluster, resource: Resource, api_key: int, request: Any) -> Any:
    ids = cluster.broker_ids()
    if resource.name not in map(str, ids):
        raise ClientError(f"there is no broker {resource.name}, only {', '.join(map(str, ids))}")
    node_id = int(resource.name)
    return cluster.retry.run(
        lambda: cluster.request_broker(node_id, api_key, request), lambda: cluster.drop(node_id)
    )


def _config(entry: Any) -> Config:
    return Config(
        name=entry.name,
        value=entry.value,
        source=_named(SOURCES, entry.config_source),
        type=_named(TYPES, entry.config_type),
        read_only=entry.read_only,
        is_sensitive=entry.is_sensitive,
        synonyms=tuple(
            Synonym(name=synonym.name, value=synonym.value, source=_named(SOURCES, synonym.source))
            for synonym in entry.synonyms
        ),
        documentation=entry.documentation,
    )


def _named(names: Sequence[str], number: int) -> str:
    return names[number] if 0 <= number < len(names) else names[0]

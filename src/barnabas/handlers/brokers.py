"""The brokers as a client sees them: through the listener its request came in on."""

from collections.abc import Iterator

from barnabas.base.dataclass import dataclass
from barnabas.handlers.request import RequestContext


@dataclass(frozen=True, slots=True, kw_only=True)
class BrokerEndpoint:
    """A broker and where one listener of it is reached."""

    node_id: int
    host: str
    port: int
    rack: str | None
    is_fenced: bool = False


def broker_endpoint(context: RequestContext, node_id: int) -> BrokerEndpoint | None:
    """Return how the client reaches a broker; None when it is unknown or has no such listener."""
    services = context.services
    listener = context.connection.listener_name
    if node_id == services.node_id:
        own = services.advertised.get(listener)
        if own is None:
            return None
        return BrokerEndpoint(node_id=node_id, host=own.host, port=own.port, rack=services.rack)
    broker = services.image.brokers.get(node_id)
    if broker is None:
        return None
    for endpoint in broker.endpoints:
        if endpoint.name == listener:
            return BrokerEndpoint(
                node_id=node_id,
                host=endpoint.host,
                port=endpoint.port,
                rack=broker.rack,
                is_fenced=broker.fenced,
            )
    return None


def known_brokers(context: RequestContext) -> Iterator[BrokerEndpoint]:
    """Yield this broker first, then the other registered ones that have the client's listener."""
    services = context.services
    others = (node_id for node_id in services.image.brokers if node_id != services.node_id)
    for node_id in (services.node_id, *others):
        endpoint = broker_endpoint(context, node_id)
        if endpoint is not None:
            yield endpoint


class NamedLeaders:
    """The leaders that the partitions of one error answer point to (KIP-951), each once."""

    __slots__ = ("_context", "_node_ids")

    def __init__(self, context: RequestContext) -> None:
        self._context = context
        self._node_ids: dict[int, None] = {}

    def add(self, node_id: int) -> None:
        """Name a leader."""
        self._node_ids[node_id] = None

    def endpoints(self) -> list[BrokerEndpoint]:
        """Return those that have an endpoint on this listener, in the order they were named."""
        found = (broker_endpoint(self._context, node_id) for node_id in self._node_ids)
        return [endpoint for endpoint in found if endpoint is not None]

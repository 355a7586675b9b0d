"""`listeners` and `advertised.listeners`: where to bind, and what clients are told to connect to.

Kafka's notation is NAME://host:port, several of them with commas; an IPv6 address stands in brackets. The
name is a protocol's (PLAINTEXT) or any word that `listener.security.protocol.map` gives a protocol.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence

from barnabas.base.dataclass import dataclass
from barnabas.base.enums import IntEnum
from barnabas.base.hints import Final

_IN_BRACKETS: Final = frozenset("0123456789abcdefABCDEF:.%")
_WILDCARDS: Final = frozenset(("", "0.0.0.0", "::"))
_LOOPBACK: Final = frozenset(("localhost", "127.0.0.1", "::1"))
_PORT_MAX: Final = 65535


class SecurityProtocol(IntEnum):
    """How a listener is secured; the numbers of the metadata records."""

    PLAINTEXT = 0
    SSL = 1
    SASL_PLAINTEXT = 2
    SASL_SSL = 3


class ListenersError(ValueError):
    """A listener that cannot be; the text says which and why."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ListenerAddress:
    """One listener.

    Attributes:
        name: upper case.
        host: as written, without brackets; empty for all interfaces.
        port: 0 lets the system choose.
    """

    name: str
    host: str
    port: int
    security_protocol: SecurityProtocol = SecurityProtocol.PLAINTEXT

    @property
    def is_wildcard(self) -> bool:
        """Whether it is bound on all interfaces, so that its host tells clients nothing."""
        return self.host in _WILDCARDS

    def __str__(self) -> str:
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"{self.name}://{host}:{self.port}"


def parse_protocol_map(entries: Sequence[str]) -> dict[str, SecurityProtocol]:
    """Return listener name -> protocol.

    Raises:
        ListenersError: an entry is not NAME:PROTOCOL, or there is no such protocol.
    """
    found = {protocol.name: protocol for protocol in SecurityProtocol}
    for entry in entries:
        name, colon, protocol = entry.partition(":")
        if not colon or protocol.strip().upper() not in SecurityProtocol.__members__:
            raise ListenersError(f"{entry!r} is not NAME:PROTOCOL with one of {_protocol_names()}")
        found[name.strip().upper()] = SecurityProtocol[protocol.strip().upper()]
    return found


def parse_listeners(
    entries: Sequence[str], protocols: Mapping[str, SecurityProtocol]
) -> tuple[ListenerAddress, ...]:
    """Return the listeners of a comma-separated list.

    Raises:
        ListenersError: malformed, a name without a protocol, or a name or port used twice.
    """
    found: list[ListenerAddress] = []
    for entry in entries:
        name, host, port = _split(entry)
        if port > _PORT_MAX:
            raise ListenersError(f"{entry!r}: port {port} is above {_PORT_MAX}")
        if name not in protocols:
            raise ListenersError(
                f"{entry!r}: {name} is no protocol ({_protocol_names()}) "
                "and listener.security.protocol.map does not name it"
            )
        if any(other.name == name for other in found):
            raise ListenersError(f"{name} is listed twice")
        if port != 0 and any((other.host, other.port) == (host, port) for other in found):
            raise ListenersError(f"{host or '*'}:{port} is listed twice")
        found.append(ListenerAddress(name=name, host=host, port=port, security_protocol=protocols[name]))
    return tuple(found)


def _split(entry: str) -> tuple[str, str, int]:
    name, _, rest = entry.strip().partition("://")
    host, _, port = rest.rpartition(":")
    if host.startswith("[") and host.endswith("]"):
        host = host[1:-1]
        host_fits = _IN_BRACKETS.issuperset(host)
    else:
        host_fits = not any(character in host for character in ":[]")
    name_fits = name and not any(character in name for character in ":/")
    if not (name_fits and host_fits and port.isascii() and port.isdecimal()):
        raise ListenersError(f"{entry!r} is not NAME://host:port")
    return name.upper(), host, int(port)


def advertised_address(bound: ListenerAddress, advertised: Sequence[ListenerAddress]) -> ListenerAddress:
    """Return what clients of a bound listener are told.

    What `advertised.listeners` says of it; else the host it is bound to; else, bound to all interfaces, this
    machine's name. Port 0 stands for the bound port.
    """
    for address in advertised:
        if address.name == bound.name:
            port = address.port or bound.port
            return ListenerAddress(
                name=bound.name,
                host=address.host,
                port=port,
                security_protocol=bound.security_protocol,
            )
    host = os.uname().nodename if bound.is_wildcard else bound.host
    return ListenerAddress(
        name=bound.name, host=host, port=bound.port, security_protocol=bound.security_protocol
    )


def reach_warning(bound: ListenerAddress, told: ListenerAddress) -> str | None:
    """Return a warning when clients may be told an address they cannot reach; None when all is well."""
    if bound.is_wildcard and told.host in _LOOPBACK:
        return (
            f"{bound.name} listens on all interfaces but tells clients to connect to {told.host}:{told.port}:"
            " clients on other machines will not get through; set advertised.listeners"
        )
    return None


def check_advertised(addresses: Sequence[ListenerAddress], listeners: Sequence[ListenerAddress]) -> None:
    """Refuse what can never work.

    Raises:
        ListenersError: an address that means "everywhere", or a name that is not listened on.
    """
    names = {listener.name for listener in listeners}
    for address in addresses:
        if address.is_wildcard:
            raise ListenersError(
                f"{address}: advertised.listeners needs a host that clients can reach, not all interfaces"
            )
        if address.name not in names:
            raise ListenersError(f"{address}: advertised.listeners names {address.name}, listeners does not")


def _protocol_names() -> str:
    return ", ".join(SecurityProtocol.__members__)

"""What a client says of itself in ApiVersions (KIP-511), kept with its connection."""

from __future__ import annotations

from barnabas.base.hints import Final
from barnabas.base.named_tuple import NamedTuple

UNKNOWN: Final = "unknown"


class ClientInformation(NamedTuple):
    """Name and version of the client's software; a connection's `context` once it told them."""

    name: str = UNKNOWN
    version: str = UNKNOWN

"""The command `fetch_sessions`: every incremental fetch session that lives now (KIP-227), in pieces."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping

from barnabas.base.dataclass import fields
from barnabas.base.hints import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from barnabas.handlers.local_commands import LocalServices

SESSIONS_PER_PIECE: Final = 100
"""Told in one turn of the loop, about 1 ms; a broker may be configured for 100,000 sessions."""


def fetch_sessions(local: LocalServices, _: Mapping[str, Any]) -> Iterator[bytes]:
    """Yield pieces of a JSON array, one object a session with the attributes of FetchSessionInfo.

    The sessions are those of the first turn; one that ends while others are told is still among them.
    """
    services = local.services
    found = list(services.fetch_sessions.sessions(services.clock.monotonic_ms()))
    yield b"["
    for start in range(0, len(found), SESSIONS_PER_PIECE):
        told = [
            {item.name: getattr(info, item.name) for item in fields(info)}
            for info in found[start : start + SESSIONS_PER_PIECE]
        ]
        yield (b"," if start else b"") + json.dumps(told).encode()[1:-1]
    yield b"]"

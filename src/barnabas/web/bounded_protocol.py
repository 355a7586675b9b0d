"""HTTP/1.1 as uvicorn speaks it, with an end for connections on which nothing comes to pass.

uvicorn waits for ever for the rest of a request and for a peer that does not read its answer. With a bound on
connections, a few dozen of those that died halfway would keep Prometheus and health probes out for good. A
proxy in front was rejected: a listener on the loopback should not need one.
"""

import asyncio

from uvicorn.protocols.http.h11_impl import H11Protocol

REQUEST_TIMEOUT_S = 30.0
"""From a connection's begin, or its last answer, to the end of the next answer."""


class BoundedProtocol(H11Protocol):
    """One connection."""

    _due: asyncio.TimerHandle

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self._due = self.loop.call_later(REQUEST_TIMEOUT_S, transport.abort)

    def on_response_complete(self) -> None:
        self._due.cancel()
        self._due = self.loop.call_later(REQUEST_TIMEOUT_S, self.transport.abort)
        super().on_response_complete()

    def connection_lost(self, exc: Exception | None) -> None:
        self._due.cancel()
        super().connection_lost(exc)

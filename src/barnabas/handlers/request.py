"""One request in hand: who asked, in which version, and the way its answer goes back.

A handler returns its response, or keeps the context and calls `respond` later. Either way the answer
passes through here, so that encoding, the response header and the request's times have one place.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from barnabas.base.logger import Logger
from barnabas.protocol import frames

if TYPE_CHECKING:
    from barnabas.handlers.services import Services
    from barnabas.net.connection import Connection
    from barnabas.net.contracts import Part
    from barnabas.protocol.messages import ApiSpec, Message

_log = Logger(__name__)


class RequestContext:
    """What is known of a request besides its body.

    Attributes:
        api_version: within the versions served.
        client_id: empty when the client sent none.
        received_us: monotonic time when the whole frame was there.
    """

    __slots__ = (
        "api_version",
        "client_id",
        "connection",
        "correlation_id",
        "received_us",
        "services",
        "spec",
    )

    def __init__(
        self,
        services: "Services",
        connection: "Connection",
        spec: "ApiSpec",
        header: frames.RequestHeader,
        received_us: int,
    ) -> None:
        self.services = services
        self.connection = connection
        self.spec = spec
        _, self.api_version, self.correlation_id, self.client_id, _ = header
        self.received_us = received_us

    def respond(self, response: "Message") -> None:
        """Encode and send; slices in the response belong to the connection from here on.

        A response that cannot be encoded is our fault: it is logged and costs its own connection only,
        since this is also called from within the wake-up of many waiting requests.
        """
        try:
            prefix = frames.response_prefix(self.spec.key, self.api_version, self.correlation_id)
            parts = response.encode_parts(self.api_version, prefix)
        except Exception:
            _log.exception("fault while encoding the answer to %s", self)
            self.connection.close("the answer could not be encoded")
            return
        self.connection.respond(parts)

    def response_prefix(self) -> bytes:
        """Return the response's header, for `respond_parts`."""
        return frames.response_prefix(self.spec.key, self.api_version, self.correlation_id)

    def respond_parts(self, parts: "Sequence[Part]") -> None:
        """Send a whole response that the handler has encoded itself, header first."""
        self.connection.respond(parts)

    def respond_encoded(self, body: bytes) -> None:
        """Send a response whose body the handler has made itself, in this request's version."""
        prefix = frames.response_prefix(self.spec.key, self.api_version, self.correlation_id)
        self.connection.respond([prefix, body])

    def respond_nothing(self) -> None:
        """End a request that gets no answer (acks=0)."""
        self.connection.complete_without_response()

    def __str__(self) -> str:
        return (
            f"{self.spec.name} v{self.api_version} correlation {self.correlation_id} "
            f"client {self.client_id!r} on {self.connection.id}"
        )

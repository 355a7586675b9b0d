"""One request in hand: who asked, in which version, and the way its answer goes back.

A handler returns its response, or keeps the context and calls `respond` later. Either way the answer
passes through here, so that encoding, the response header, the request's times and its line in the request
log have one place.
"""

from collections.abc import Sequence

from barnabas.base.hints import TYPE_CHECKING
from barnabas.base.logger import Logger
from barnabas.base.region import FileSlice
from barnabas.handlers.request_times import count_at_once, count_request
from barnabas.protocol import frames
from barnabas.protocol.structures import Struct

if TYPE_CHECKING:
    from barnabas.handlers.request_log import RequestLogEntry
    from barnabas.handlers.served_version import ServedVersion
    from barnabas.handlers.services import Services
    from barnabas.net.connection import Connection
    from barnabas.net.contracts import Part
    from barnabas.protocol.messages import ApiSpec, Message

_log = Logger(__name__)


def _release_slices(response: Struct) -> None:
    """Give back the slices of a response that will not be sent, however deep they lie."""
    left: list[object] = [response]
    while left:
        found = left.pop()
        if isinstance(found, FileSlice):
            found.release()
        elif isinstance(found, Struct):
            left += [getattr(found, name, None) for name in found.__slots__]
        elif isinstance(found, list):
            left += found


class RequestContext:
    """What is known of a request besides its body.

    Attributes:
        api_version: within the versions served.
        client_id: empty when the client sent none.
        received_us: monotonic time when the whole frame was there.
        parked_us: monotonic time when its handler was done with it for now; -1 when it answered at once.
        responded_us: monotonic time when its answer was there; not set before.
        served: its API and version.
        log_entry: what the request log will say of it; None unless that is on. A handler that encodes its
            answer itself leaves that be while it is not None, since the log shows messages.
    """

    __slots__ = (
        "api_version",
        "client_id",
        "connection",
        "correlation_id",
        "log_entry",
        "parked_us",
        "received_us",
        "responded_us",
        "served",
        "services",
    )

    def __init__(
        self,
        services: "Services",
        connection: "Connection",
        served: "ServedVersion",
        header: frames.RequestHeader,
        received_us: int,
    ) -> None:
        self.services = services
        self.connection = connection
        self.served = served
        _, self.api_version, self.correlation_id, self.client_id, _ = header
        self.received_us = received_us
        self.parked_us = -1
        self.log_entry: RequestLogEntry | None = None

    @property
    def spec(self) -> "ApiSpec":
        """The API in the catalogue."""
        return self.served.route.spec

    def respond(self, response: "Message") -> None:
        """Encode and send; slices in the response belong to the connection from here on.

        A response that cannot be encoded is our fault: it is logged and costs its own connection only,
        since this is also called from within the wake-up of many waiting requests.
        """
        try:
            if self.log_entry is not None:
                self.log_entry.answered(response)
            parts = response.encode_parts(self.api_version, self.served.pack_header(self.correlation_id))
        except Exception:
            _release_slices(response)
            _log.exception("fault while encoding the answer to %s", self)
            self.connection.close("the answer could not be encoded")
            return
        self.respond_parts(parts)

    def respond_parts(self, parts: "Sequence[Part]") -> None:
        """Send a whole response that the handler has encoded itself, header first."""
        self.responded_us = self.services.clock.monotonic_us()
        self.connection.respond(parts, self._is_sent)

    def respond_encoded(self, body: bytes) -> None:
        """Send a response whose body the handler has made itself, in this request's version."""
        if self.log_entry is not None:
            self.log_entry.answered_encoded(self.spec.response, body)
        self.respond_parts([self.served.pack_header(self.correlation_id), body])

    def respond_nothing(self) -> None:
        """End a request that gets no answer (acks=0)."""
        self.responded_us = self.services.clock.monotonic_us()
        self.connection.complete_without_response()
        self._ended(self.responded_us)

    def _is_sent(self) -> None:
        sent_us = self.services.clock.monotonic_us()
        if self.parked_us < 0 and self.log_entry is None:
            count_at_once(self.served.times, self.received_us, self.responded_us, sent_us)
        else:
            self._ended(sent_us)

    def _ended(self, sent_us: int) -> None:
        count_request(self.served.times, self.received_us, self.parked_us, self.responded_us, sent_us)
        if self.log_entry is not None:
            self.log_entry.write(self, self.responded_us, sent_us)

    def __str__(self) -> str:
        return (
            f"{self.spec.name} v{self.api_version} correlation {self.correlation_id} "
            f"client {self.client_id!r} on {self.connection.id}"
        )

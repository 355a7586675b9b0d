"""From a frame to the file that answers it, and the one place where errors are caught.

A request passes header, version check, decode and route. ApiError becomes an error response,
ProtocolError goes on to `net`, which closes the connection; anything else is a fault of ours: logged
with the request, answered with UNKNOWN_SERVER_ERROR. A table of routes instead of a class with a method
per API, so that each API is one file that can be read alone.
"""

from barnabas.base.errors import ApiError, ErrorCode, ProtocolError
from barnabas.base.hints import TYPE_CHECKING
from barnabas.base.logger import Logger
from barnabas.handlers import api_18_api_versions
from barnabas.handlers.api_01_fetch import closes_session
from barnabas.handlers.request import RequestContext
from barnabas.handlers.request_log import RequestLogEntry
from barnabas.handlers.request_times import RequestTimes, RequestTimesStatistics
from barnabas.handlers.routes import ROUTES, Route
from barnabas.handlers.services import Services
from barnabas.protocol import frames, messages
from barnabas.protocol.api_keys import ApiKey

if TYPE_CHECKING:
    from barnabas.net.connection import Connection

_log = Logger(__name__)


class Dispatcher:
    """Receives the requests of every connection (`net.contracts.ConnectionHandler`).

    Attributes:
        services: set once before the first request; listeners are bound earlier, since their ports are
            part of what the broker registers.
    """

    __slots__ = ("_complete_parked_fetches", "_times", "services")

    services: Services

    def __init__(self, *, complete_parked_fetches: bool = True) -> None:
        """
        Args:
            complete_parked_fetches: `connections.parked.fetch=complete`: a request behind a parked fetch
                has it answered at once (F33); False waits for it, as Apache Kafka does.
        """
        self._complete_parked_fetches = complete_parked_fetches
        self._times: dict[tuple[int, int], RequestTimes] = {}

    def connection_opened(self, connection: "Connection") -> None:  # noqa: ARG002
        """Nothing is kept here; what the client says of itself comes later (`client_information`)."""
        self.services.request_log.refresh()

    def connection_closed(self, connection: "Connection") -> None:
        """Drop what is parked for a connection that is gone (F31)."""
        self.services.replicas.connection_gone(connection)

    def request_received(self, connection: "Connection", frame: memoryview) -> None:
        """Answer one request, at once or later.

        Raises:
            ProtocolError: bytes that are no request, or an API or version that is not served.
        """
        services = self.services
        received_us = services.clock.monotonic_us()
        header = frames.decode_request_header(frame)
        api_key, api_version, _, _, body_offset = header
        route = ROUTES.get(api_key)
        if route is None:
            raise ProtocolError(f"api key {api_key} is not served")
        times = self._times.get((api_key, api_version)) or self._times_of(route, api_version)
        context = RequestContext(services, connection, route.spec, header, received_us, times)
        if api_version not in route.versions:
            if api_key != ApiKey.API_VERSIONS:
                raise ProtocolError(f"{route.spec.name} v{api_version} is not served")
            context.api_version = 0
            context.respond(api_18_api_versions.unsupported_version(context))
            return
        request = route.request.decode(frame, api_version, body_offset)
        if services.request_log.on:
            context.log_entry = RequestLogEntry(services.request_log, request, api_version)
        response = _answer(route, context, request)
        if response is not None:
            context.respond(response)
        elif connection.request_in_hand:
            context.parked_us = services.clock.monotonic_us()

    def statistics(self) -> list[RequestTimesStatistics]:
        """Return the times of all requests so far, by API and version."""
        return [times.statistics() for _, times in sorted(self._times.items())]

    def _times_of(self, route: Route, api_version: int) -> RequestTimes:
        """Make the counters of an API and version; those that are not served share one."""
        version = api_version if api_version in route.versions else -1
        return self._times.setdefault((route.spec.key, version), RequestTimes(route.spec.key, version))

    def request_waiting(self, connection: "Connection", frame: memoryview) -> None:
        """Another request arrived behind one in hand: answer a parked fetch, unless a fetch follows it.

        A fetch that follows leaves the parked one alone, since a client that pipelines fetches would
        spin otherwise; one that closes the session does not wait either (F33).
        """
        if not self._complete_parked_fetches:
            return
        header = frames.decode_request_header(frame)
        if header.api_key == ApiKey.FETCH:
            if header.api_version not in ROUTES[ApiKey.FETCH].versions:
                return
            request = messages.FetchRequest.decode(frame, header.api_version, header.body_offset)
            if not closes_session(request):
                return
        self.services.replicas.complete_parked_fetches(connection)


def _answer(route: Route, context: RequestContext, request: messages.Message) -> messages.Message | None:
    try:
        return route.handle(context, request)
    except ApiError as error:
        return _failed(route, context, request, error)
    except ProtocolError:
        raise
    except Exception:
        _log.exception("fault while answering %s", context)
        return _failed(route, context, request, ApiError(ErrorCode.UNKNOWN_SERVER_ERROR))


def _failed(
    route: Route, context: RequestContext, request: messages.Message, error: ApiError
) -> messages.Message | None:
    response = route.error_response(request, error, context.api_version)
    if response is None:
        context.connection.close(f"{context} failed: {error}")
    return response

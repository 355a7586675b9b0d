"""From a frame to the file that answers it, and the one place where errors are caught.

A request passes header, version check, decode and route. ApiError becomes an error response,
ProtocolError goes on to `net`, which closes the connection; anything else is a fault of ours: logged
with the request, answered with UNKNOWN_SERVER_ERROR. A table of routes instead of a class with a method
per API, so that each API is one file that can be read alone.
"""

from barnabas.base.errors import ApiError, ErrorCode, ProtocolError
from barnabas.base.hints import TYPE_CHECKING
from barnabas.base.limits import REQUEST_OBJECTS_MAX
from barnabas.base.logger import Logger
from barnabas.handlers import api_18_api_versions
from barnabas.handlers.fetch_session_cache import closes_session
from barnabas.handlers.request import RequestContext
from barnabas.handlers.request_log import RequestLogEntry
from barnabas.handlers.request_times import RequestTimesStatistics
from barnabas.handlers.routes import ROUTES, Route
from barnabas.handlers.served_version import ServedVersion
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

    __slots__ = ("_complete_parked_fetches", "_served", "services")

    services: Services

    def __init__(self, *, complete_parked_fetches: bool = True) -> None:
        """
        Args:
            complete_parked_fetches: `connections.parked.fetch=complete`: a request behind a parked fetch
                has it answered at once (F33); False waits for it, as Apache Kafka does.
        """
        self._complete_parked_fetches = complete_parked_fetches
        self._served: dict[tuple[int, int], ServedVersion] = {}

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
        served = self._served.get(header[:2]) or self._served_version(header.api_key, header.api_version)
        context = RequestContext(services, connection, served, header, received_us)
        if served.decode is None:
            context.api_version = 0
            context.respond(api_18_api_versions.unsupported_version(context))
            return
        request, _ = served.decode(frame, header.body_offset, REQUEST_OBJECTS_MAX)
        if services.request_log.on:
            context.log_entry = RequestLogEntry(services.request_log, request, header.api_version)
        response = _answer(served.route, context, request)
        if response is not None:
            context.respond(response)
        elif connection.request_in_hand:
            context.parked_us = services.clock.monotonic_us()

    def statistics(self) -> list[RequestTimesStatistics]:
        """Return the times of all requests so far, by API and version."""
        return [served.times.statistics() for _, served in sorted(self._served.items())]

    def _served_version(self, api_key: int, api_version: int) -> ServedVersion:
        """Return what a request's API and version stand for.

        Raises:
            ProtocolError: neither is served, and the API is not ApiVersions.
        """
        route = ROUTES.get(api_key)
        if route is None:
            raise ProtocolError(f"api key {api_key} is not served")
        if api_version not in route.versions:
            if api_key != ApiKey.API_VERSIONS:
                raise ProtocolError(f"{route.spec.name} v{api_version} is not served")
            api_version = -1  # a client may ask for 65,536 of them: one for all
        served = self._served.get((api_key, api_version))
        if served is None:
            served = self._served[api_key, api_version] = ServedVersion(route, api_version)
        return served

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

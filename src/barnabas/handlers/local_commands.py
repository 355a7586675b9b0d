"""Commands that tools on this machine give a running broker, by the socket in its data directory.

A question is a frame of JSON, {"command": name, "arguments": {...}}; the answer {"result": ...} or
{"error": text}. Each command is a function in a file of its own, imported when first asked for. A command
that walks many things yields its result in pieces of JSON and gives the loop back in between, so ten thousand
partitions hold up nobody; it sees the broker change meanwhile, which is in order for figures.

Rejected: an API of our own on the clients' listeners. Who may see and ask is then a matter of security
settings, here of the file's owner; and a broker that has no connection left for clients can still be asked.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from importlib import import_module

from barnabas.base.dataclass import dataclass
from barnabas.base.errors import ApiError, ProtocolError
from barnabas.base.hints import TYPE_CHECKING, Any, Final
from barnabas.base.logger import Logger

if TYPE_CHECKING:
    from barnabas.base.cold_reads import ColdReads
    from barnabas.handlers.dispatch import Dispatcher
    from barnabas.handlers.services import Services
    from barnabas.net.connection import Connection
    from barnabas.net.reactor import Reactor
    from barnabas.timing.timer_wheel import TimerWheel

_log = Logger(__name__)

COMMANDS: Final[Mapping[str, str]] = {
    "explain": "explain",
    "fetch_sessions": "fetch_sessions",
    "health": "health",
    "statistics": "statistics",
}
"""Command -> the file `local_NAME` of this folder whose function of that name carries it out."""


WAIT_MS: Final = 1
"""Until a command that had nothing to say, since it waits for the disk perhaps, is asked again."""


@dataclass(slots=True, kw_only=True)
class LocalServices:
    """What commands may look at."""

    services: Services
    reactor: Reactor
    timers: TimerWheel
    dispatcher: Dispatcher
    cold_reads: ColdReads | None


Command = Callable[[LocalServices, Mapping[str, Any]], "object | Iterator[bytes]"]
"""Carries out one question: returns what `json` can write, or yields pieces of JSON that make one value.

Raises:
    ApiError, ValueError: the arguments do not fit; the text is for the user.
"""


class LocalCommands:
    """Answers the questions of local connections (`net.contracts.ConnectionHandler`).

    Attributes:
        local: set once before the first question.
    """

    __slots__ = ("_commands", "answered", "failed", "local")

    local: LocalServices

    def __init__(self) -> None:
        self._commands: dict[str, Command] = {}
        self.answered = 0
        self.failed = 0

    def statistics(self) -> dict[str, int]:
        """Return how many questions were answered and refused."""
        return {"answered": self.answered, "failed": self.failed}

    def connection_opened(self, connection: Connection) -> None:
        """Nothing is kept per connection."""

    def connection_closed(self, connection: Connection) -> None:
        """A walk in progress finds the connection closed and ends."""

    def request_waiting(self, connection: Connection, frame: memoryview) -> None:
        """Questions of one connection are answered one after the other."""

    def request_received(self, connection: Connection, frame: memoryview) -> None:
        """Answer one question, at once or in pieces over the coming turns.

        Raises:
            ProtocolError: the frame is no question.
        """
        name, arguments = _parse(bytes(frame))
        try:
            result = self._command(name)(self.local, arguments)
        except Exception as error:
            self._refuse(connection, name, error)
            return
        if isinstance(result, Iterator):
            self._go_on(connection, name, result, [b'{"result":'])
        else:
            self._finish(connection, [b'{"result":', _encoded(result)])

    def _go_on(self, connection: Connection, name: str, pieces: Iterator[bytes], answer: list[bytes]) -> None:
        """Take the next piece; have the loop call again for the one after it."""
        if not connection.is_open:
            return
        try:
            piece = next(pieces, None)
        except Exception as error:
            self._refuse(connection, name, error)
            return
        if piece is None:
            self._finish(connection, answer)
            return
        if piece:
            answer.append(piece)
            self.local.reactor.call_soon(lambda: self._go_on(connection, name, pieces, answer))
        else:
            self.local.reactor.call_later(WAIT_MS, lambda: self._go_on(connection, name, pieces, answer))

    def _command(self, name: str) -> Command:
        found = self._commands.get(name)
        if found is None:
            if name not in COMMANDS:
                raise ValueError(f"there is no command {name!r}, only {', '.join(sorted(COMMANDS))}")
            module = import_module(f"barnabas.handlers.local_{COMMANDS[name]}")
            found = self._commands[name] = getattr(module, name)
        return found

    def _finish(self, connection: Connection, answer: list[bytes]) -> None:
        self.answered += 1
        connection.respond([b"".join((*answer, b"}"))])

    def _refuse(self, connection: Connection, name: str, error: Exception) -> None:
        self.failed += 1
        if not isinstance(error, ApiError | ValueError):
            _log.exception("fault in the command %s", name)
        connection.respond([b'{"error":', _encoded(str(error) or type(error).__name__), b"}"])


def _encoded(value: object) -> bytes:
    import json  # noqa: PLC0415 - no start needs it

    return json.dumps(value, separators=(",", ":")).encode()


def _parse(frame: bytes) -> tuple[str, Mapping[str, Any]]:
    import json  # noqa: PLC0415

    try:
        question = json.loads(frame)
    except (ValueError, RecursionError) as error:  # the latter of brackets in brackets
        raise ProtocolError(f"a question that is no JSON: {error}") from None
    if not isinstance(question, dict):
        raise ProtocolError("a question that is no JSON object")
    name, arguments = question.get("command"), question.get("arguments", {})
    if not isinstance(name, str) or not isinstance(arguments, dict):
        raise ProtocolError("a question without a command, or whose arguments are no object")
    return name, arguments

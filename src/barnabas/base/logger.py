"""Loggers that import `logging` when the first line is written: most starts write none, and it costs 12 ms.

A Logger stands for `logging.getLogger(name)`: handlers, levels and filters that a user sets on that name, or
on a parent, hold as ever. Lines that nobody could have asked for yet (debug, while no one has imported
logging) are dropped without importing it. Rejected: an importer that makes `import logging` itself lazy,
which surprises every other library in the process.
"""

import sys
from collections.abc import Callable

from barnabas.base.hints import TYPE_CHECKING, Final

if TYPE_CHECKING:
    import logging

_DEBUG: Final = 10
"""logging.DEBUG."""

_WAITING: Final[list[Callable[[], None]]] = []
"""What `before_first_line` was given. Of the process, as logging's own configuration is."""


def before_first_line(configure: Callable[[], None]) -> None:
    """Call `configure` once, before any line of ours reaches logging; at once when logging is loaded."""
    _WAITING.append(configure)
    if "logging" in sys.modules:
        _configure()


def _configure() -> None:
    while _WAITING:
        _WAITING.pop(0)()


class Logger:
    """`logging.getLogger(name)`, made on first use; methods take a format and its arguments as there."""

    __slots__ = ("_logger", "name")

    def __init__(self, name: str) -> None:
        self.name = name
        self._logger: logging.Logger | None = None

    def debug(self, message: str, *args: object) -> None:
        if self._logger is not None or "logging" in sys.modules:
            (self._logger or self._load()).debug(message, *args, stacklevel=2)

    def info(self, message: str, *args: object) -> None:
        (self._logger or self._load()).info(message, *args, stacklevel=2)

    def warning(self, message: str, *args: object) -> None:
        (self._logger or self._load()).warning(message, *args, stacklevel=2)

    def error(self, message: str, *args: object) -> None:
        (self._logger or self._load()).error(message, *args, stacklevel=2)

    def exception(self, message: str, *args: object) -> None:
        """Log at ERROR with the traceback of the exception being handled."""
        (self._logger or self._load()).exception(message, *args, stacklevel=2)

    def is_enabled_for_debug(self) -> bool:
        """Whether a debug line would be written; never imports logging."""
        if self._logger is None and "logging" not in sys.modules:
            return False
        return (self._logger or self._load()).isEnabledFor(_DEBUG)

    def set_level_debug(self) -> None:
        """Let debug lines through from now on."""
        (self._logger or self._load()).setLevel(_DEBUG)

    def _load(self) -> "logging.Logger":
        import logging  # noqa: PLC0415

        _configure()
        self._logger = logging.getLogger(self.name)
        return self._logger

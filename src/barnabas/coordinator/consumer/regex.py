"""Regular expressions that members subscribe with (KIP-848): checked, and matched against topic names.

The syntax is RE2's, as with Apache Kafka, which uses its Java port; `google-re2` is the original. It matches
in time linear to the name, whatever the expression: Python's own `re` backtracks, so that one request with
`(a+)+b` would stop the broker. Expressions are matched as sets of one, which is the fast way through that
library (4 us a name) and keeps one expression's memory apart from another's.

Matching many topics is done in steps, so that no other request waits for more than one of them.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import islice

from barnabas.base.dataclass import dataclass
from barnabas.base.errors import ApiError, ErrorCode
from barnabas.base.hints import Any, Final

NAMES_PER_STEP: Final = 2000
"""About 8 ms for one expression."""

RESOLVE_INTERVAL_MIN_MS: Final = 10_000
"""A group's expressions are not resolved again sooner, however often topics are created."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ResolvedRegex:
    """What an expression came to.

    Attributes:
        version: offset of the metadata log that the topics were of.
        resolved_at_ms: wall time.
    """

    topics: frozenset[str] = frozenset()
    version: int = 0
    resolved_at_ms: int = 0


def check_regex(regex: str) -> None:
    """Let an expression pass, or say what is wrong with it.

    Raises:
        ApiError: INVALID_REGULAR_EXPRESSION.
    """
    import re2  # noqa: PLC0415 - only groups with regular expressions pay for it

    try:
        re2.compile(regex, _quiet())  # says what is wrong, where a set does not
        _compiled(regex)
    except re2.error as error:
        reason = error.args[0]
        text = reason.decode("utf-8", "replace") if isinstance(reason, bytes) else str(reason)
        text = text.split(": ", 1)[0]
        raise ApiError(
            ErrorCode.INVALID_REGULAR_EXPRESSION,
            f"SubscribedTopicRegex `{regex}` is not a valid regular expression: {text}.",
        ) from None


class RegexResolution:
    """Expressions on their way through all topic names."""

    __slots__ = ("_names", "_sets", "found")

    def __init__(self, regexes: Iterable[str], names: Sequence[str]) -> None:
        """
        Args:
            regexes: those that are not valid match nothing.
        """
        import re2  # noqa: PLC0415

        self.found: dict[str, set[str]] = {regex: set() for regex in regexes}
        self._names = iter(names)
        self._sets: list[tuple[Any, set[str]]] = []
        for regex, topics in self.found.items():
            try:
                self._sets.append((_compiled(regex), topics))
            except re2.error:
                continue

    def step(self) -> bool:
        """Match some more names; True when all have been."""
        names = list(islice(self._names, NAMES_PER_STEP))
        for compiled, topics in self._sets:
            match = compiled.Match
            topics.update(name for name in names if match(name))
        return len(names) < NAMES_PER_STEP


def _compiled(regex: str) -> Any:
    import re2  # noqa: PLC0415

    made = re2.Set.FullMatchSet(_quiet())
    made.Add(regex)
    made.Compile()
    return made


def _quiet() -> Any:
    import re2  # noqa: PLC0415

    options = re2.Options()
    options.log_errors = False
    return options

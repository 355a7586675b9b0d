"""What an explanation of a Fetch is asked: the fields of a request, checked as its version carries them."""

from __future__ import annotations

from collections.abc import Mapping

from barnabas.base.dataclass import dataclass
from barnabas.base.hints import Any, Final
from barnabas.handlers.fetch_session import FINAL_EPOCH
from barnabas.handlers.fetch_session_cache import INVALID_SESSION_ID
from barnabas.protocol import messages
from barnabas.protocol.api_keys import ApiKey
from barnabas.replica.fetch import CONSUMER_REPLICA_ID

_SPEC: Final = messages.BY_KEY[ApiKey.FETCH]
OLDEST_VERSION: Final = _SPEC.valid_versions[0]
NEWEST_VERSION: Final = _SPEC.valid_versions[-1]

_FIRST_WITH_SESSIONS: Final = 7
_FIRST_WITH_CURRENT_LEADER_EPOCH: Final = 9
_FIRST_WITH_LAST_FETCHED_EPOCH: Final = 12
_INT32: Final = 2**31


@dataclass(frozen=True, slots=True, kw_only=True)
class FetchQuestion:
    """The Fetch to explain; the defaults are those of consumers, the limits in bytes.

    Attributes:
        session: id and epoch; (0, -1) wants none.
        leader_epoch, last_fetched_epoch: -1 tells none.
    """

    topic: str
    partition: int
    offset: int
    version: int = NEWEST_VERSION
    read_committed: bool = False
    max_bytes: int = 52_428_800
    partition_max_bytes: int = 1_048_576
    min_bytes: int = 1
    max_wait_ms: int = 500
    leader_epoch: int = -1
    last_fetched_epoch: int = -1
    replica_id: int = CONSUMER_REPLICA_ID
    session: tuple[int, int] = (INVALID_SESSION_ID, FINAL_EPOCH)

    def check(self) -> None:
        """Refuse what no request could carry.

        Raises:
            ValueError: a value out of its field's range, or a field that the version lacks.
        """
        if not OLDEST_VERSION <= self.version <= NEWEST_VERSION:
            raise ValueError(f"Fetch has versions {OLDEST_VERSION} to {NEWEST_VERSION}, not {self.version}")
        for name in ("partition", "max_bytes", "partition_max_bytes", "min_bytes", "max_wait_ms",
                     "leader_epoch", "last_fetched_epoch", "replica_id"):  # fmt: skip
            value = getattr(self, name)
            if not -_INT32 <= value < _INT32:
                raise ValueError(f"{name} {value} does not fit into 32 bits")
        if not -(2**63) <= self.offset < 2**63:
            raise ValueError(f"offset {self.offset} does not fit into 64 bits")
        for value in self.session:
            if not -_INT32 <= value < _INT32:
                raise ValueError(f"session {value} does not fit into 32 bits")
        wanted = {
            "a session": (self.session != (0, -1), _FIRST_WITH_SESSIONS),
            "the current leader epoch": (self.leader_epoch >= 0, _FIRST_WITH_CURRENT_LEADER_EPOCH),
            "the last fetched epoch": (self.last_fetched_epoch >= 0, _FIRST_WITH_LAST_FETCHED_EPOCH),
        }
        for what, (is_set, since) in wanted.items():
            if is_set and self.version < since:
                raise ValueError(f"Fetch carries {what} since version {since}, not in {self.version}")


def question_of(arguments: Mapping[str, Any]) -> FetchQuestion:
    """Return the question that a JSON object asks.

    Raises:
        ValueError: a name or a type that is none of a question's.
    """
    values = dict(arguments)
    session = values.get("session")
    if session is not None:
        if not isinstance(session, list) or len(session) != 2:
            raise ValueError("session is a list of id and epoch")
        values["session"] = tuple(session)
    kinds = {"topic": str, "read_committed": bool, "session": tuple}
    for name, value in values.items():
        kind = kinds.get(name, int)
        if not isinstance(value, kind) or (kind is int and isinstance(value, bool)):
            raise ValueError(f"{name} is not of type {kind.__name__}")
    if not all(isinstance(value, int) for value in values.get("session", ())):
        raise ValueError("session is a list of id and epoch")
    try:
        question = FetchQuestion(**values)
    except TypeError as error:
        raise ValueError(str(error)) from None
    question.check()
    return question

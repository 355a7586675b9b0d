"""What an operation of a coordinator comes to: records to append, an answer, and what follows.

A coordinator is a state machine that never writes: an operation reads its state and says which records would
bring it on. The runtime appends them, has them replayed, which alone changes what a restart must know again,
and sends the answer once they are committed. So a live coordinator and one that starts take one path, and an
append that fails leaves the state as it was.

What nobody needs after a restart (who waits for a rebalance, session timers) is changed in place.

Answering within the operation was rejected: a commit would be acknowledged before it is in the log.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence

from barnabas.base.dataclass import dataclass
from barnabas.base.errors import ApiError
from barnabas.base.hints import Generic, Protocol, TypeVar
from barnabas.protocol.structures import Message

Response = TypeVar("Response")

Reply = Callable[[Response], None]
"""How an operation that waits answers later; called at most once."""


@dataclass(frozen=True, slots=True)
class CoordinatorRecord:
    """One record of an internal topic: the key's message, and the value's or None for a tombstone.

    The key starts with its api key as an int16; a value starts with `value_version`.
    """

    key: Message
    value: Message | None
    value_version: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome(Generic[Response]):
    """What to append and what to answer.

    Attributes:
        records: appended as one batch, all or none, then replayed in order.
        response: sent when the records are committed; None when the operation has kept a Reply instead, or
            nobody waits.
        replayed: called once, right behind the replay of the records, before anything else runs: for what is
            not in them and may not lag behind them, such as deadlines. Commits may take long, and others see
            the state meanwhile. Not called when nothing was appended; only with `is_atomic`.
        appended: called once, before the response goes out: with None when the records are committed and
            replayed, with the error when they could not be appended or it is not known in time whether they
            are committed. For waiters that this outcome answers.
        producer: (producer id, producer epoch) of a transaction the records belong to.
        is_atomic: False lets records that do not fit one batch go into several, each appended or not on its
            own: for clean-ups that can be done again.
    """

    records: Sequence[CoordinatorRecord] = ()
    response: Response | None = None
    replayed: Callable[[], None] | None = None
    appended: Callable[[ApiError | None], None] | None = None
    producer: tuple[int, int] | None = None
    is_atomic: bool = True


class Timers(Protocol):
    """Deadlines of one shard. They end when it is unloaded; firing runs the operation as any other.

    An operation that fails to append when it fires is tried again after a while.
    """

    def schedule(self, key: Hashable, delay_ms: int, operation: Callable[[int], Outcome[None]]) -> None:
        """Call `operation(now_ms)` after a while; a timer with this key is replaced."""

    def cancel(self, key: Hashable) -> None:
        """Forget a timer; nothing happens when there is none."""

    def is_scheduled(self, key: Hashable) -> bool:
        """Whether a timer with this key waits."""

"""Where operations wait for a condition or a deadline, whichever comes first (F24-F32)."""

from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass

from barnabas.timing.timer_wheel import Timer, TimerWheel


@dataclass(frozen=True, slots=True, kw_only=True)
class PurgatoryStatistics:
    """Kafka's purgatory metrics, and where operations went.

    Attributes:
        num_delayed_operations: waiting now; exact.
        purgatory_size: watch entries now, one per operation and key. Kafka's runs ahead of the truth
            until a purge every `purge.interval.requests`; ours is exact, so there is nothing to purge.
        watched_keys: keys that have at least one watcher.
        completed: ended by their condition, or by `complete`.
        expired: ended by their deadline.
        cancelled: dropped without an answer.
        keys_to_check: keys whose watchers are still to be tried in this or later turns.
    """

    num_delayed_operations: int
    purgatory_size: int
    watched_keys: int
    completed: int
    expired: int
    cancelled: int
    keys_to_check: int


class DelayedOperation(Timer):
    """One waiting operation. A subclass tells its condition and what to do at the end."""

    __slots__ = ()

    def try_complete(self) -> bool:
        """Call `complete` and return True when the condition holds now."""
        raise NotImplementedError

    def on_expiration(self) -> None:
        """The deadline passed; called once, just before the `on_complete` that follows."""

    def on_complete(self) -> None:
        """Answer; called exactly once unless the operation was cancelled."""
        raise NotImplementedError

    def on_cancel(self) -> None:
        """Nobody waits any more; called exactly once instead of `on_complete`."""

    @property
    def is_done(self) -> bool:
        """Whether it was completed, expired or cancelled."""
        raise NotImplementedError

    def complete(self) -> bool:
        """End it and answer; True for the one call that did it."""
        raise NotImplementedError

    def cancel(self) -> bool:
        """End it without an answer; True for the one call that did it."""
        raise NotImplementedError


class Purgatory:
    """Operations that wait, by the keys that may satisfy them and by who owns them."""

    def __init__(
        self,
        name: str,
        wheel: TimerWheel,
        call_soon: Callable[[Callable[[], None]], None],
        *,
        tries_max: int = 64,
    ) -> None:
        """
        Args:
            call_soon: runs a function later in this turn of the loop or in the next, never at once.
            tries_max: watchers tried per turn.
        """

    def try_complete_else_watch(
        self, operation: DelayedOperation, keys: Sequence[Hashable], owner: Hashable | None = None
    ) -> bool:
        """Complete it now and return True, or let it wait until its own `deadline_ms` (F25)."""
        raise NotImplementedError

    def check(self, key: Hashable) -> int:
        """Try the watchers of a key now, at most `tries_max`, the others in later turns; return completions."""
        raise NotImplementedError

    def check_later(self, key: Hashable) -> None:
        """Have the watchers of a key tried at the end of this turn; many calls cost one pass."""
        raise NotImplementedError

    def cancel_owner(self, owner: Hashable) -> int:
        """Drop what an owner waits for, without answers (F31); return how many."""
        raise NotImplementedError

    def complete_owner(self, owner: Hashable) -> int:
        """Answer what an owner waits for, at once (F33); return how many."""
        raise NotImplementedError

    def complete_key(self, key: Hashable) -> int:
        """Answer whatever watches a key, at once and without a cap; return how many."""
        raise NotImplementedError

    def shutdown(self) -> int:
        """Answer everything; later operations complete instead of waiting. Return how many."""
        raise NotImplementedError

    def statistics(self) -> PurgatoryStatistics:
        raise NotImplementedError

"""Where operations wait for a condition or a deadline, whichever comes first (F24-F32).

An operation watches keys (for a fetch: its partitions); whoever changes what a key stands for has the
key checked, and each watcher tries whether it can complete. An operation ends exactly once: completed,
expired or cancelled, and is then out of every table at once, so the counts are exact. Apache Kafka
leaves ended operations in its watch lists until a purge every `purge.interval.requests`, because
its lists are shared by threads; on one loop there is nothing to purge.

Waking a watcher means answering, some 20 us; 10,000 of them would hold the loop for 200 ms. So a turn of
the loop tries a bounded number and the next turns go on where it stopped. Trying everybody within the append
that woke them was rejected for that, and because ten appends in one turn would try each watcher ten times.
The first turn over a crowd tries one only: what a turn answers goes out at its end, and the first operations
lie in none of the processor's caches, so four of them take half a millisecond.
Whoever was answered in such a turn asks again at once, which costs more than the answer did: as long as
others still wait for theirs, the loop is told to hold the answered ones back (`Held`). Not for longer than
it takes to try all who waited when the holding began, so nobody is held back by those who come later.

A turn takes the watchers from the front of their dict; who is answered leaves it, who is not goes to its end.
A copy of the dict at the start would touch every watcher, most of them not in the processor's caches, before
the first of them is answered.

A key with one watcher maps to the operation itself, with more to a dict in order of arrival: most keys
have one, and removal stays in constant time (a list's would not).
"""

from collections import deque
from collections.abc import Callable, Hashable, Sequence
from itertools import islice

from barnabas.base.dataclass import dataclass
from barnabas.base.enums import Enum
from barnabas.base.hints import Any, Final, Protocol
from barnabas.timing.timer_wheel import Timer, TimerWheel

TRIES_MAX_PER_TURN: Final = 64
"""Watchers tried in one turn of the loop: some 1.3 ms when all of them complete."""

FIRST_TRIES_MAX: Final = 1
"""Watchers tried in the first turn over a key that has more than a turn's: the first answer is soon out."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PurgatoryStatistics:
    """Kafka's purgatory metrics, and where operations went.

    Attributes:
        num_delayed_operations: NumDelayedOperations: waiting now; exact (F32).
        purgatory_size: PurgatorySize: watch entries now, one per operation and key. Kafka's runs ahead of
            the truth until a purge; ours is exact.
        watched_keys: keys that have at least one watcher.
        completed: ended by their condition or on demand.
        expired: ended by their deadline.
        cancelled: dropped without an answer.
        keys_to_check: keys whose watchers are still to be tried, in this turn or later ones.
    """

    num_delayed_operations: int
    purgatory_size: int
    watched_keys: int
    completed: int
    expired: int
    cancelled: int
    keys_to_check: int


class Held(Protocol):
    """Who can let owners wait that were answered, while others still wait for their answer."""

    def hold_back(self, owners: Sequence[Any], /) -> None:
        """Take nothing more from these, owners as `try_complete_else_watch` was given, until `let_go`."""

    def let_go(self) -> None:
        """Go on with all of them."""


class DelayedOperation(Timer):
    """One waiting operation. A subclass tells its condition and what to do at the end.

    Args:
        deadline_ms: of the wheel's clock; from then on it ends whatever the condition.
    """

    __slots__ = ("_keys", "_owner", "_purgatory", "is_done")

    is_done: bool
    """Whether it was completed, expired or cancelled."""

    def __init__(self, deadline_ms: int) -> None:
        self.deadline_ms = deadline_ms
        self._bucket = None
        self._purgatory: Purgatory | None = None
        self._keys: Sequence[Hashable] = ()
        self._owner: Hashable | None = None
        self.is_done = False

    def try_complete(self) -> bool:
        """Call `complete` with the reason and return True when the condition holds now."""
        raise NotImplementedError

    def on_complete(self, reason: Enum | None) -> None:
        """Answer; called exactly once, unless the operation is cancelled first.

        Args:
            reason: what `complete` was given; None when the deadline passed.
        """
        raise NotImplementedError

    def on_cancel(self) -> None:
        """Nobody waits any more; called exactly once instead of `on_complete`."""

    def complete(self, reason: Enum) -> bool:
        """End it and answer; True for the one call that did it (F28)."""
        if self.is_done:
            return False
        self.is_done = True
        if self._purgatory is not None:
            self._purgatory._completed += 1
            self._leave(self._purgatory)
        self.on_complete(reason)
        return True

    def cancel(self) -> bool:
        """End it without an answer; True for the one call that did it."""
        if self.is_done:
            return False
        self.is_done = True
        if self._purgatory is not None:
            self._purgatory._cancelled += 1
            self._leave(self._purgatory)
        self.on_cancel()
        return True

    def fire(self) -> None:
        """The deadline passed: end it and answer what there is (F30)."""
        if self.is_done:
            return
        self.is_done = True
        if self._purgatory is not None:
            self._purgatory._expired += 1
            self._leave(self._purgatory)
        self.on_complete(None)

    def _leave(self, purgatory: "Purgatory") -> None:
        Timer.cancel(self)
        purgatory._forget(self)
        self._purgatory = None
        self._keys = ()
        self._owner = None


_Operations = DelayedOperation | dict[DelayedOperation, None]


def _link(table: dict[Hashable, _Operations], key: Hashable, operation: DelayedOperation) -> None:
    present = table.get(key)
    if present is None:
        table[key] = operation
    elif isinstance(present, dict):
        present[operation] = None
    else:
        table[key] = {present: None, operation: None}


def _unlink(table: dict[Hashable, _Operations], key: Hashable, operation: DelayedOperation) -> None:
    present = table[key]
    if isinstance(present, dict):
        del present[operation]
        if not present:
            del table[key]
    else:
        assert present is operation, "another operation stands where this one was linked"
        del table[key]


def _snapshot(operations: _Operations) -> list[DelayedOperation]:
    return list(operations) if isinstance(operations, dict) else [operations]


class Purgatory:
    """Operations that wait, by the keys that may satisfy them and by who owns them.

    Args:
        name: Kafka's, for metrics: Fetch, Produce, DeleteRecords.
        wheel: keeps the deadlines; its owner advances it.
        call_soon: runs a function at the end of this turn of the loop or in the next, never at once.
            What is called while such functions run must wait for the next turn.
        tries_max: watchers tried per turn.
        held: holds back those who were answered, when a turn could not try everybody; None: nobody does.
    """

    __slots__ = (
        "_call_soon",
        "_cancelled",
        "_completed",
        "_drain_is_due",
        "_expired",
        "_held",
        "_holding_turns",
        "_keys_to_check",
        "_keys_to_check_set",
        "_owned",
        "_pass_key",
        "_pass_tries",
        "_stop_reason",
        "_tries_max",
        "_waiting",
        "_watch_entries",
        "_watchers",
        "_wheel",
        "name",
    )

    def __init__(
        self,
        name: str,
        wheel: TimerWheel,
        call_soon: Callable[[Callable[[], None]], None],
        *,
        tries_max: int = TRIES_MAX_PER_TURN,
        held: Held | None = None,
    ) -> None:
        self.name = name
        self._wheel = wheel
        self._call_soon = call_soon
        self._tries_max = tries_max
        self._watchers: dict[Hashable, _Operations] = {}
        self._owned: dict[Hashable, _Operations] = {}
        self._waiting = 0
        self._watch_entries = 0
        self._completed = 0
        self._expired = 0
        self._cancelled = 0
        self._keys_to_check: deque[Hashable] = deque()
        self._keys_to_check_set: set[Hashable] = set()
        self._pass_key: Hashable = None  # whose watchers are being tried
        self._pass_tries = 0  # how many of them are left; one too many when some ended otherwise
        self._held = held
        self._holding_turns = 0  # for how many more turns answered owners are held back; 0: nobody is
        self._drain_is_due = False
        self._stop_reason: Enum | None = None

    def try_complete_else_watch(
        self, operation: DelayedOperation, keys: Sequence[Hashable], owner: Hashable | None = None
    ) -> bool:
        """End it now and return True, or let it wait until its deadline (F25).

        Tries, watches every key, and tries again: a change between the first try and the watching cannot
        get lost.

        Args:
            keys: one at least, whose `check` may complete it; kept, not copied, and must not change.
                Equal keys count once.
            owner: on whose behalf it waits; see `cancel_owner`.
        """
        if self._stop_reason is not None:
            operation.complete(self._stop_reason)
            return True
        if operation.try_complete():
            return True
        if len(keys) > 1:
            keys = tuple(dict.fromkeys(keys))
        operation._purgatory = self
        operation._keys = keys
        operation._owner = owner
        watchers = self._watchers
        for key in keys:
            _link(watchers, key, operation)
        self._watch_entries += len(keys)
        if owner is not None:
            _link(self._owned, owner, operation)
        self._waiting += 1
        if operation.try_complete():
            return True
        self._wheel.add_timer(operation)
        return False

    def watch_also(self, operation: DelayedOperation, keys: Sequence[Hashable]) -> None:
        """Have an operation that waits here watch more keys, none of which it watches already."""
        if operation._purgatory is not self:
            return
        for key in keys:
            _link(self._watchers, key, operation)
        operation._keys = (*operation._keys, *keys)
        self._watch_entries += len(keys)

    def check(self, key: Hashable) -> int:
        """Try the watchers of a key now and return how many completed.

        At most `tries_max` are tried; when there are more, later turns try them all again.
        """
        operations = self._watchers.get(key)
        if operations is None:
            return 0
        if isinstance(operations, dict):
            if len(operations) > self._tries_max:
                self.check_later(key)
            tried = list(islice(operations, self._tries_max))
        else:
            tried = [operations]
        completed = 0
        for operation in tried:
            # An operation may end while another one answers: its connection closed, say.
            if not operation.is_done and operation.try_complete():
                completed += 1
        return completed

    def check_later(self, key: Hashable) -> None:
        """Have the watchers of a key tried from the end of this turn on; many calls cost one pass.

        Watchers that a pass in progress has tried already are tried again after it, so no wakeup is lost.
        """
        if key in self._watchers and key not in self._keys_to_check_set:
            self._keys_to_check_set.add(key)
            self._keys_to_check.append(key)
            if not self._drain_is_due:
                self._drain_is_due = True
                self._call_soon(self._drain)

    def cancel_owner(self, owner: Hashable) -> int:
        """Drop what an owner waits for, without answers (F31); return how many there were."""
        operations = self._owned.get(owner)
        if operations is None:
            return 0
        return sum([operation.cancel() for operation in _snapshot(operations)])

    def complete_owner(self, owner: Hashable, reason: Enum) -> int:
        """Answer what an owner waits for, at once (F33); return how many there were."""
        operations = self._owned.get(owner)
        if operations is None:
            return 0
        return sum([operation.complete(reason) for operation in _snapshot(operations)])

    def shutdown(self, reason: Enum) -> int:
        """Answer everything that waits and whatever comes later, at once; return how many waited."""
        self._stop_reason = reason
        everybody = dict.fromkeys(
            operation for operations in list(self._watchers.values()) for operation in _snapshot(operations)
        )
        return sum([operation.complete(reason) for operation in everybody])

    def is_watched(self, key: Hashable) -> bool:
        """Whether anybody waits for a key."""
        return key in self._watchers

    @property
    def has_more_to_try(self) -> bool:
        """Whether watchers are left to be tried, in this turn or later ones."""
        return self._pass_tries > 0 or bool(self._keys_to_check)

    def statistics(self) -> PurgatoryStatistics:
        return PurgatoryStatistics(
            num_delayed_operations=self._waiting,
            purgatory_size=self._watch_entries,
            watched_keys=len(self._watchers),
            completed=self._completed,
            expired=self._expired,
            cancelled=self._cancelled,
            keys_to_check=len(self._keys_to_check) + (self._pass_tries > 0),
        )

    def _forget(self, operation: DelayedOperation) -> None:
        watchers = self._watchers
        for key in operation._keys:
            present = watchers[key]
            if present.__class__ is dict and len(present) > 1:
                del present[operation]
            else:
                _unlink(watchers, key, operation)
        self._watch_entries -= len(operation._keys)
        owner = operation._owner
        if owner is not None:
            if self._owned[owner] is operation:
                del self._owned[owner]
            else:
                _unlink(self._owned, owner, operation)
        self._waiting -= 1

    def _drain(self) -> None:
        """Spend one turn's tries; have the loop call again when there is more to do."""
        self._drain_is_due = False
        tries = self._tries_max
        answered: list[Hashable] = []
        try:
            while tries > 0:
                if self._pass_tries == 0:
                    if not self._begin_pass():
                        break
                    if self._pass_tries > self._tries_max:
                        tries = min(tries, FIRST_TRIES_MAX)
                tries -= self._go_on_with_pass(tries, answered)
        finally:
            # Also when an operation raised: that is for the loop to report, the others still wake.
            is_more = self._pass_tries > 0 or bool(self._keys_to_check)
            if is_more and not self._drain_is_due:
                self._drain_is_due = True
                self._call_soon(self._drain)
            if self._held is not None and (is_more or self._holding_turns):
                self._hold_back(self._held, answered, is_more)

    def _begin_pass(self) -> bool:
        """Begin with the next key that has watchers; False when there is none."""
        while self._keys_to_check:
            key = self._keys_to_check.popleft()
            self._keys_to_check_set.discard(key)
            operations = self._watchers.get(key)
            if operations is not None:
                self._pass_key = key
                self._pass_tries = len(operations) if isinstance(operations, dict) else 1
                return True
        self._pass_key = None
        return False

    def _go_on_with_pass(self, tries: int, answered: list[Hashable]) -> int:
        """Try some watchers of the pass's key and return how many were tried.

        Args:
            answered: gets the owners of those that completed.
        """
        key = self._pass_key
        operations = self._watchers.get(key)
        if operations is None:
            self._pass_tries = 0
            return 0
        if not isinstance(operations, dict):
            self._pass_tries = 1
            batch = [operations]
        else:
            batch = list(islice(operations, min(tries, self._pass_tries)))
        tried = 0
        for operation in batch:
            self._pass_tries -= 1
            if operation.is_done:  # since another one answered: its connection closed, say
                continue
            tried += 1
            owner = operation._owner
            completed = False
            try:
                completed = operation.try_complete()
            finally:
                if completed:
                    answered.append(owner)
                else:
                    _move_to_end(self._watchers, key, operation)
        return tried

    def _hold_back(self, held: Held, answered: Sequence[Hashable], is_more: bool) -> None:
        if self._holding_turns == 0:
            self._holding_turns = self._waiting // self._tries_max + 1
        else:
            self._holding_turns -= 1
        if is_more and self._holding_turns:
            held.hold_back([owner for owner in answered if owner is not None])
        else:
            self._holding_turns = 0
            held.let_go()


def _move_to_end(table: dict[Hashable, _Operations], key: Hashable, operation: DelayedOperation) -> None:
    """Have a watcher tried after the others, if it still is one."""
    present = table.get(key)
    if isinstance(present, dict) and operation in present:
        del present[operation]
        present[operation] = None

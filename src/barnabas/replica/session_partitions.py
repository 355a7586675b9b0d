"""The partitions of a fetch session, as fetches read them: those there may be news of, and the quiet ones.

A fetch of a session costs by what changed, not by what the session holds. So a partition that was read to its
end, and whose client was told, is left alone until something changes:

Invariant: to read a quiet partition would give what reading it gave last: no error, no records, a fetch
offset that is the bound itself, and the very offsets its client was told.

It holds because nothing but `settle` makes a partition quiet, from such a result; because whatever the result
depends on marks it again. That is
- the log and its partition: every change of an end, a start, a bound, an epoch, a state or a leader goes
  through the ChangeWatch of the log, where those for whom it is quiet are entered (`QuietReaders`);
- what the request says of it: the session marks what a request names;
- what there is at all: the session starts over when topics or partitions come and go (`replace`);
- how it is read: a fetch of another isolation marks all (`read_as`), and one whose result depends on more,
  as a follower's or a redirected consumer's does, has all of them read each time.

A quiet partition that changes while a fetch of the session is parked wakes it (F25, F29). Ten thousand
sessions may wait for one partition: they are marked over some turns of the loop, whoever reads before first.

Rejected: comparing each partition with what was told, which Apache Kafka does: 3 us for each of a thousand.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from itertools import islice
from operator import attrgetter

from barnabas.base.errors import ErrorCode
from barnabas.base.hints import TYPE_CHECKING, Final, cast
from barnabas.replica.fetch import FetchIsolation, FetchPartition, FetchPartitionResult
from barnabas.storage.offset_metadata import UNKNOWN_OFFSET_METADATA, LogOffsetMetadata

if TYPE_CHECKING:
    from barnabas.replica.partition import Partition

_NONE: Final = ErrorCode.NONE
_TXN_COMMITTED: Final = FetchIsolation.TXN_COMMITTED

MARKED_AT_ONCE_MAX = 16
MARKED_PER_TURN = 256
"""Sessions marked in one turn of the loop: some 0.1 ms."""

_turn_of = attrgetter("turn")


class SessionPartition(FetchPartition):
    """A partition that a session reads. Its attributes are those of its SessionPartitions.

    Attributes:
        turn: the lower is read first.
        hosted: as which it was last quiet; None when it never was.
        position: where its fetch offset lay then.
        readers: where it is entered while it is quiet.
    """

    __slots__ = ("_reads", "_session", "hosted", "position", "readers", "turn")

    turn: int
    hosted: Partition | None
    position: LogOffsetMetadata
    readers: QuietReaders
    _session: SessionPartitions
    _reads: int

    @property
    def reads_spared(self) -> int:
        """How often it would have been read since it fell quiet; only of one that is."""
        return self._session._reads - self._reads


class QuietReaders:
    """The sessions for which a partition is quiet, until it changes.

    Attributes:
        by_session: a session reads a partition once.
        told: whether it has changed: those that are still here are to be marked.
        before: those of the time before the last change, while some of them are still to be marked.
    """

    __slots__ = ("_changes", "before", "by_session", "told")

    def __init__(self, changes: QuietChanges, before: QuietReaders | None) -> None:
        self._changes = changes
        self.before = before
        self.by_session: dict[SessionPartitions, SessionPartition] = {}
        self.told = False

    def reads_spared(self) -> int:
        """How often the partition was not read for all of them."""
        spared = sum([partition.reads_spared for partition in self.by_session.values()])
        return spared if self.before is None else spared + self.before.reads_spared()

    def changed(self) -> None:
        self.told = True
        self._changes.tell(self)


class QuietChanges:
    """Marks what is not quiet any more: few at once, many over the next turns of the loop.

    Args:
        call_soon: runs a function at the end of this turn of the loop or in the next, never at once.
    """

    __slots__ = ("_call_soon", "_scan", "_waiting")

    def __init__(self, call_soon: Callable[[Callable[[], None]], None]) -> None:
        self._call_soon = call_soon
        self._waiting: deque[QuietReaders] = deque()
        self._scan: Iterator[SessionPartitions] | None = None

    def readers_of(self, partition: Partition) -> QuietReaders:
        """Return where those are entered for whom a partition is quiet now."""
        readers = partition.quiet_readers
        if readers is None or readers.told:
            before = readers if readers is not None and readers.by_session else None
            readers = partition.quiet_readers = QuietReaders(self, before)
            partition.log.watch.add(readers)
        return readers

    def tell(self, readers: QuietReaders) -> None:
        """Mark the partition for all that are entered."""
        if len(readers.by_session) <= MARKED_AT_ONCE_MAX:
            for session, partition in readers.by_session.items():
                session._changed(partition)
            readers.by_session.clear()
            return
        if not self._waiting:
            self._call_soon(self._mark_some)
        self._waiting.append(readers)

    def catch_up(self, session: SessionPartitions) -> None:
        """Mark now what is still to be marked for one session: it is going to read."""
        for readers in self._waiting:
            partition = readers.by_session.pop(session, None)
            if partition is not None:
                session._changed(partition)

    def _mark_some(self) -> None:
        readers = self._waiting[0]
        if self._scan is None:
            self._scan = iter(list(readers.by_session))
        for session in islice(self._scan, MARKED_PER_TURN):
            partition = readers.by_session.pop(session, None)
            if partition is not None:  # else it was marked for another reason
                session._changed(partition)
        if not readers.by_session:
            self._waiting.popleft()
            self._scan = None
        if self._waiting:
            self._call_soon(self._mark_some)


def _nobody_waits(_: Hashable) -> None:
    """There is no fetch to wake yet."""


class SessionPartitions:
    """What the fetches of one session read; iterating yields what has to be read, in turn.

    Attributes:
        marks: counts partitions that were quiet and are not any more.
        wake: called with this object when that happens; whoever parks fetches sets it.
    """

    __slots__ = (
        "_changes",
        "_how",
        "_is_closed",
        "_marked",
        "_next_turn",
        "_quiet",
        "_reads",
        "marks",
        "wake",
    )

    def __init__(self) -> None:
        self._changes: QuietChanges | None = None
        self._marked: dict[SessionPartition, None] = {}
        self._quiet: dict[SessionPartition, None] = {}
        self._next_turn = 0
        self._reads = 0
        self._how: FetchIsolation | None = None
        self._is_closed = False
        self.marks = 0
        self.wake: Callable[[Hashable], None] = _nobody_waits

    def __len__(self) -> int:
        """How many there are, quiet or not."""
        return len(self._marked) + len(self._quiet)

    def __iter__(self) -> Iterator[SessionPartition]:
        marked = self._marked
        return iter(marked if len(marked) <= 1 else sorted(marked, key=_turn_of))

    # What there is

    def add(self, partition: SessionPartition) -> None:
        """Read it too, behind all others."""
        partition.turn = self._next_turn
        self._next_turn += 1
        partition.hosted = None
        partition._session = self
        self._marked[partition] = None

    def replace(self, partitions: Sequence[SessionPartition]) -> None:
        """Read these and no others, in this order, and each of them next time."""
        self.mark_all()
        self._marked.clear()
        for partition in partitions:
            self.add(partition)

    def discard(self, partition: SessionPartition) -> bool:
        """Read it no more; return whether it was to be read at all."""
        self.mark(partition)
        if partition not in self._marked:
            return False
        del self._marked[partition]
        return True

    def move_behind(self, partition: SessionPartition) -> None:
        """Read it after all others from now on."""
        partition.turn = self._next_turn
        self._next_turn += 1

    # What has to be read

    def mark(self, partition: SessionPartition) -> None:
        """Have a partition read next time."""
        if partition in self._quiet:
            del partition.readers.by_session[self]
            self._changed(partition)

    def mark_all(self) -> None:
        """Have all of them read next time."""
        for partition in list(self._quiet):
            self.mark(partition)

    def read_as(self, isolation: FetchIsolation | None) -> None:
        """A fetch begins.

        Args:
            isolation: None when its results depend on more than that: all partitions are read then.
        """
        if isolation is None or isolation is not self._how:
            self._how = isolation
            self.mark_all()

    def close(self) -> None:
        """The session is gone. A fetch that is parked still reads what it was to read."""
        self._is_closed = True
        self.mark_all()

    def to_read(self) -> list[SessionPartition]:
        """Return what has to be read now, in turn; the others count as read."""
        if self._changes is not None:
            self._changes.catch_up(self)
        self._reads += 1
        return list(self)

    def settle(
        self,
        partitions: Sequence[FetchPartition],
        results: Sequence[FetchPartitionResult],
        hosted: Mapping[tuple[str, int], Partition],
        changes: QuietChanges,
    ) -> None:
        """Take what `to_read` returned for quiet where these results allow it; the client was told of them.

        To be called in the same turn as the read.
        """
        how = self._how
        if how is None or self._is_closed:
            return
        self._changes = changes
        read = cast("Sequence[SessionPartition]", partitions)
        for partition, result in zip(read, results, strict=True):
            bound = result.last_stable_offset if how is _TXN_COMMITTED else result.high_watermark
            if (
                result.records is None
                and partition.fetch_offset == bound  # beyond it, no fetch waits (F27, case F)
                and result.error_code is _NONE
                and result.offset_metadata is not UNKNOWN_OFFSET_METADATA
            ):
                found = hosted[partition.topic, partition.partition]
                partition.hosted = found
                partition.position = result.offset_metadata
                partition._reads = self._reads
                del self._marked[partition]
                self._quiet[partition] = None
                partition.readers = changes.readers_of(found)
                partition.readers.by_session[self] = partition

    def _changed(self, partition: SessionPartition) -> None:
        del self._quiet[partition]
        self._marked[partition] = None
        assert partition.hosted is not None
        partition.hosted.traffic.fetches += partition.reads_spared
        self.marks += 1
        self.wake(self)

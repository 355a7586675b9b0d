"""Reads of what is not in memory, kept off the loop (F44, KAFKA-7504).

Before a range is sent or read, its owner asks `is_ready`, which costs a system call or two and never waits.
What is cold goes to a helper thread by `read`; the owner does something else until its callback comes. A
helper gets an open file and a range, and nothing else of the broker; the range's lease is held here until the
helper is back, so that a connection may die meanwhile.

A reader that goes through a file in order would stop at every range. So its ranges are remembered as a
stream, and further helpers read ahead of it, in steps that double up to `cold.read.ahead.bytes`. Only a
second range in a row makes a stream: whoever reads here and there costs the disk no more than was asked for.
Half the helpers at most read ahead; the other half is for those who wait.

Rejected: asking for every range whether it is cold and leaving read-ahead to the kernel. Its read-ahead is
started by whoever touches a marked page, which would be the loop.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from barnabas.base.clock import Clock
from barnabas.base.dataclass import dataclass
from barnabas.base.limits import COLD_STREAM_FILES_MAX
from barnabas.base.region import LeasedFile
from barnabas.base.worker import Done, Work

BACK_BYTES_MAX = 1024 * 1024
"""How far behind its last range a stream may go on: a slice may end inside a batch, and the next one then
begins with that batch."""

AHEAD_BYTES_MIN = 256 * 1024
"""The first step of a stream; smaller ones would be used up before they are there."""

STREAMS_PER_FILE_MAX = 8

Ready = Callable[[OSError | None], None]


class ColdReadError(Exception):
    """Going on would wait for the disk: bring `ranges` in, then try again. Not a failure of anything.

    Whoever catches it calls `release` when the ranges are in, or are not wanted.

    Attributes:
        ranges: (file, position, length, work); each file is held open. `work` is what a helper does in place
            of only bringing the range in; it may read the file, keep what it finds, and touch nothing else.
    """

    def __init__(self, leased: LeasedFile, position: int, length: int, work: Work | None = None) -> None:
        super().__init__(f"{leased.file.path} at {position}: {length} bytes are not in memory")
        leased.acquire()
        self.ranges = [(leased, position, length, work)]

    def joined(self, other: ColdReadError) -> ColdReadError:
        """Take over another one's ranges; return this one."""
        self.ranges += other.ranges
        other.ranges = []
        return self

    def release(self) -> None:
        """Hold the files open no longer; calling twice is harmless."""
        ranges, self.ranges = self.ranges, []
        for leased, *_ in ranges:
            leased.release()


@dataclass(frozen=True, slots=True, kw_only=True)
class ColdReadStatistics:
    """What was cold.

    Attributes:
        hits: ranges that were in memory when they were to be sent or read.
        misses: ranges that were not.
        waits: reads that somebody waited for, and are over.
        waiting: the same, now. At most one per connection, since a connection has one request in hand.
        wait_us: time that was waited, in all.
        wait_us_max: the longest wait.
        failures: reads that the disk refused.
        read_bytes: brought in for somebody who waited.
        ahead_bytes: brought in ahead of a sequential reader.
        ahead_now: reads ahead that are under way.
        ahead_max: bound of `ahead_now`.
        streams: sequential readers that are remembered.
    """

    hits: int
    misses: int
    waits: int
    waiting: int
    wait_us: int
    wait_us_max: int
    failures: int
    read_bytes: int
    ahead_bytes: int
    ahead_now: int
    ahead_max: int
    streams: int


class _Stream:
    """One reader's way through a file."""

    __slots__ = ("ahead_end", "is_ahead", "read_end", "step")

    def __init__(self, read_end: int) -> None:
        self.read_end = read_end  # where the last range ended
        self.ahead_end = read_end  # up to where helpers have been sent
        self.step = 0
        self.is_ahead = False  # a helper is on its way


class ColdReads:
    """Asks for ranges, has them brought in, and reads ahead. For the loop's thread.

    Args:
        run: runs work on some thread and hands its outcome back on the loop; `WorkerPool.run`.
        threads: how many works `run` runs at once.
        ahead_bytes_max: `cold.read.ahead.bytes`; 0 reads nothing ahead.

    Attributes:
        hits: see ColdReadStatistics.
        misses: the same; counted also by who finds out by trying.
    """

    __slots__ = (
        "_ahead_bytes",
        "_ahead_bytes_max",
        "_ahead_max",
        "_ahead_now",
        "_clock",
        "_failures",
        "_held",
        "_is_closed",
        "_read_bytes",
        "_run",
        "_streams",
        "_wait_us",
        "_wait_us_max",
        "_waiting",
        "_waits",
        "hits",
        "misses",
    )

    def __init__(
        self, run: Callable[[Work, Done], None], *, clock: Clock, threads: int, ahead_bytes_max: int
    ) -> None:
        self._run = run
        self._clock = clock
        self._ahead_max = max(1, threads // 2)
        self._ahead_bytes_max = ahead_bytes_max
        self._streams: dict[LeasedFile, list[_Stream]] = {}  # the longest unseen first
        self._held: set[_Ticket] = set()  # whose files are held open
        self._is_closed = False
        self.hits = 0
        self.misses = 0
        self._waits = 0
        self._waiting = 0
        self._wait_us = 0
        self._wait_us_max = 0
        self._failures = 0
        self._read_bytes = 0
        self._ahead_bytes = 0
        self._ahead_now = 0

    def is_ready(self, leased: LeasedFile, position: int, length: int) -> bool:
        """Tell whether a range can be sent without waiting for the disk; keeps the read-ahead going.

        Raises:
            OSError: the file cannot be asked at all.
        """
        if not leased.file.is_cached(position, length):
            self.misses += 1
            return False
        self.was_ready(leased, position, length)
        return True

    def was_ready(self, leased: LeasedFile, position: int, length: int) -> None:
        """Take note of a range that was found in memory, also by trying to read it."""
        self.hits += 1
        if leased in self._streams:
            stream = self._find_stream(leased, position, length)
            if stream is not None:
                self._read_ahead(leased, stream, position + length)

    def read(self, leased: LeasedFile, position: int, length: int, ready: Ready) -> None:
        """Bring a range in; call `ready` on the loop when it is there, or with the error that hindered it.

        Never calls `ready` before it returns. The file is held open meanwhile.
        """
        self._wait_for(leased, position, length, ready)
        stream = self._find_stream(leased, position, length)
        if stream is None:
            self._add_stream(leased, position + length)
        else:
            self._read_ahead(leased, stream, position + length)

    def read_all(self, cold: ColdReadError, ready: Callable[[], None]) -> None:
        """Bring in what a look-up met, and let go of it; call `ready` when all is there or has failed.

        Whoever tries again meets what failed.
        """
        ranges = list(cold.ranges)
        left = len(ranges)

        def one_is_there(_: OSError | None) -> None:
            nonlocal left
            left -= 1
            if left == 0:
                ready()

        assert ranges, "nothing to wait for"
        for leased, position, length, work in ranges:
            self._wait_for(leased, position, length, one_is_there, work)
        cold.release()

    def close(self) -> None:
        """Let go of the files of reads whose helpers are gone. Call when `run` runs nothing any more."""
        self._is_closed = True
        while self._held:
            self._held.pop().leased.release()
        self._streams.clear()

    def statistics(self) -> ColdReadStatistics:
        """Return what was cold, and what is under way."""
        return ColdReadStatistics(
            hits=self.hits,
            misses=self.misses,
            waits=self._waits,
            waiting=self._waiting,
            wait_us=self._wait_us,
            wait_us_max=self._wait_us_max,
            failures=self._failures,
            read_bytes=self._read_bytes,
            ahead_bytes=self._ahead_bytes,
            ahead_now=self._ahead_now,
            ahead_max=self._ahead_max,
            streams=sum(map(len, self._streams.values())),
        )

    # Helpers go and come back

    def _wait_for(
        self, leased: LeasedFile, position: int, length: int, ready: Ready, work: Work | None = None
    ) -> None:
        self._waiting += 1
        ticket = _Ticket(leased, position, length, work)
        begun_us = self._clock.monotonic_us()
        self._start(ticket, partial(self._is_read, ticket, ready, begun_us))

    def _start(self, ticket: _Ticket, done: Done) -> None:
        ticket.leased.acquire()
        self._held.add(ticket)
        self._run(ticket.bring_in, done)

    def _is_back(self, ticket: _Ticket, error: OSError | None) -> bool:
        """Let go of a ticket's file; False when `close` has done that."""
        if ticket not in self._held:
            return False
        self._held.remove(ticket)
        ticket.leased.release()
        if error is not None:
            self._failures += 1
        return True

    def _is_read(self, ticket: _Ticket, ready: Ready, begun_us: int, error: OSError | None) -> None:
        if not self._is_back(ticket, error):
            return
        waited_us = self._clock.monotonic_us() - begun_us
        self._waiting -= 1
        self._waits += 1
        self._wait_us += waited_us
        self._wait_us_max = max(self._wait_us_max, waited_us)
        self._read_bytes += ticket.got
        ready(error)

    def _is_read_ahead(self, ticket: _Ticket, stream: _Stream, error: OSError | None) -> None:
        self._ahead_now -= 1
        stream.is_ahead = False
        if not self._is_back(ticket, error):
            return
        self._ahead_bytes += ticket.got
        if error is not None or ticket.got < ticket.length:
            # The end of the file, or a disk that fails: the reader will find out by itself.
            self._forget_stream(ticket.leased, stream)

    # Streams

    def _read_ahead(self, leased: LeasedFile, stream: _Stream, read_end: int) -> None:
        """Note how far a stream's reader is; send a helper on when half of what lies ahead is used up."""
        stream.read_end = read_end
        stream.ahead_end = max(stream.ahead_end, read_end)
        if (
            stream.is_ahead
            or stream.ahead_end - read_end > stream.step // 2
            or self._ahead_now >= self._ahead_max
            or self._ahead_bytes_max == 0
            or self._is_closed
        ):
            return
        stream.step = min(max(2 * stream.step, AHEAD_BYTES_MIN), self._ahead_bytes_max)
        ticket = _Ticket(leased, stream.ahead_end, stream.step)
        stream.ahead_end += stream.step
        stream.is_ahead = True
        self._ahead_now += 1
        self._start(ticket, partial(self._is_read_ahead, ticket, stream))

    def _find_stream(self, leased: LeasedFile, position: int, length: int) -> _Stream | None:
        """Return the stream that a range goes on with."""
        for stream in self._streams.get(leased, ()):
            if stream.read_end - BACK_BYTES_MAX <= position <= stream.ahead_end and (
                position + length > stream.read_end
            ):
                return stream
        return None

    def _add_stream(self, leased: LeasedFile, read_end: int) -> None:
        streams = self._streams.pop(leased, [])
        self._streams[leased] = streams  # the latest seen is the last
        if len(streams) >= STREAMS_PER_FILE_MAX:
            del streams[0]
        streams.append(_Stream(read_end))
        while len(self._streams) > COLD_STREAM_FILES_MAX:
            del self._streams[next(iter(self._streams))]

    def _forget_stream(self, leased: LeasedFile, stream: _Stream) -> None:
        streams = self._streams.get(leased)
        if streams is not None and stream in streams:
            streams.remove(stream)
            if not streams:
                del self._streams[leased]


class _Ticket:
    """What a helper gets, and what it brings back."""

    __slots__ = ("_work", "got", "leased", "length", "position")

    def __init__(self, leased: LeasedFile, position: int, length: int, work: Work | None = None) -> None:
        self.leased = leased
        self.position = position
        self.length = length
        self.got = 0
        self._work = work

    def bring_in(self) -> None:
        """Run by a helper thread."""
        if self._work is not None:
            self._work()
            self.got = self.length
        else:
            self.got = self.leased.file.bring_in(self.position, self.length)

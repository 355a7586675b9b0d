"""F44 at the connection: a slice that is not in memory makes its own connection wait, and no other."""

from collections.abc import Callable
from select import EPOLLERR, EPOLLHUP, EPOLLOUT, EPOLLRDHUP

import pytest

from barnabas.base.cold_reads import ColdReads
from barnabas.base.region import FileSlice, LeasedFile
from barnabas.net.connection import Connection, ConnectionState
from barnabas.net.listener_config import FetchMode, ListenerConfig
from barnabas.net.output import SHARED_TURN_BYTES
from barnabas.sim.clock import ManualClock
from tests.unit.net.doubles import RESET, Bench, MemoryFile

CONTENT = bytes(range(256)) * 12_000
"""About 3 MiB: more than a turn sends."""

REQUEST = b"\0\0\0\4read"
SMALL_BYTES = 1000

Helper = tuple[Callable[[], None], Callable[[OSError | None], None]]


class ColdFile(MemoryFile):
    """What is in memory is scripted; reading anything else fails the test."""

    def __init__(self, content: bytes) -> None:
        super().__init__(content)
        self.warm = [False] * len(content)
        self.questions = 0

    def heat(self, position: int, length: int) -> None:
        self.warm[position : position + length] = [True] * len(self.warm[position : position + length])

    def evict(self) -> None:
        self.warm = [False] * len(self.warm)

    def read_at(self, position: int, length: int) -> bytes:
        assert self.error is not None or self.is_cached(position, length), "the loop waits for the disk"
        return super().read_at(position, length)

    def try_read_at(self, position: int, length: int) -> bytes | None:
        self.questions += 1
        if self.error is None and not self.is_cached(position, length):
            return None
        return super().read_at(position, length)

    def try_read_into(self, position: int, buffer: memoryview) -> int | None:
        data = self.try_read_at(position, len(buffer))
        if data is None:
            return None
        buffer[: len(data)] = data
        return len(data)

    def is_cached(self, position: int, length: int) -> bool:
        return all(self.warm[position : position + length])

    def bring_in(self, position: int, length: int) -> int:
        if self.error is not None:
            raise self.error
        self.heat(position, length)
        return max(0, min(length, len(self.content) - position))


class ColdBench(Bench):
    """A connection that answers with a slice of a cold file; `help_out` is the helper thread."""

    def __init__(
        self, length: int = len(CONTENT), *, mode: FetchMode = FetchMode.AUTO, ahead_bytes_max: int = 0
    ) -> None:
        super().__init__(self.answer_with_slice, config=ListenerConfig(fetch_mode=mode))
        self.file = ColdFile(CONTENT)
        self.leased = LeasedFile(self.file)  # type: ignore[arg-type]
        self.transport.file = self.file
        self.length = length
        self.helpers: list[Helper] = []
        self.loop.cold_reads = self.reads = ColdReads(
            lambda work, done: self.helpers.append((work, done)),
            clock=ManualClock(),
            threads=4,
            ahead_bytes_max=ahead_bytes_max,
        )

    def answer_with_slice(self, connection: Connection, _frame: bytes) -> None:
        connection.respond([b"head", FileSlice(self.leased, 0, self.length), b"tail"])

    def help_out(self) -> None:
        """Let the longest waiting helper finish, and the connection go on."""
        work, done = self.helpers.pop(0)
        error: OSError | None = None
        try:
            work()
        except OSError as raised:
            error = raised
        done(error)
        self.run()

    def help_until_out(self) -> int:
        """Help until nothing is asked for any more; return how often that was."""
        for count in range(100):
            if not self.helpers:
                return count
            self.help_out()
        raise AssertionError("the connection asks for reads for ever")

    @property
    def whole_answer(self) -> bytes:
        return b"head" + CONTENT[: self.length] + b"tail"


@pytest.fixture(params=list(FetchMode))
def bench(request: pytest.FixtureRequest) -> ColdBench:
    return ColdBench(mode=request.param)


def test_f44_a_cold_slice_is_brought_in_by_a_helper_and_then_sent_whole(bench: ColdBench) -> None:
    bench.arrive(REQUEST)
    bench.run()
    assert len(bench.helpers) == 1
    assert len(bench.transport.outgoing) == 8, "the head went out, and the loop went on"
    assert bench.help_until_out() == 3, "a megabyte at a time"
    assert bench.answers == [bench.whole_answer]
    assert bench.leased.holders == 1
    assert bench.reads.statistics().waits == 3


def test_f44_a_small_cold_slice_waits_too(bench: ColdBench) -> None:
    bench.length = SMALL_BYTES
    bench.arrive(REQUEST)
    bench.run()
    assert len(bench.transport.outgoing) == 8
    assert bench.help_until_out() == 1
    assert bench.answers == [bench.whole_answer]
    assert bench.leased.holders == 1


def test_f44_a_warm_slice_asks_no_helper(bench: ColdBench) -> None:
    bench.file.heat(0, len(CONTENT))
    bench.arrive(REQUEST)
    bench.run()
    assert bench.helpers == []
    assert bench.answers == [bench.whole_answer]
    assert bench.reads.statistics().misses == 0


def test_f44_a_small_warm_slice_is_asked_for_once_and_not_queued() -> None:
    bench = ColdBench(SMALL_BYTES)
    bench.file.heat(0, SMALL_BYTES)
    bench.arrive(REQUEST)
    assert bench.answers == [bench.whole_answer]
    assert bench.file.questions == 1
    assert bench.transport.calls == ["send"]
    assert bench.traffic.output.staged_bytes == SMALL_BYTES


def test_f44_others_go_on_while_one_connection_waits_for_the_disk() -> None:
    cold, warm = ColdBench(), ColdBench()
    cold.arrive(REQUEST)
    warm.file.heat(0, len(CONTENT))
    for _ in range(3):
        cold.run()  # nothing happens on the waiting one, and no turn is asked for
        warm.arrive(REQUEST)
        warm.run()
    assert len(warm.answers) == 3
    assert len(cold.transport.outgoing) == 8
    assert cold.loop.advancing == []
    assert cold.loop.interest == EPOLLRDHUP, "a writable socket would wake the loop for nothing"


def test_f44_a_turn_in_between_neither_sends_nor_asks_again(bench: ColdBench) -> None:
    bench.arrive(REQUEST)
    bench.run()
    bench.connection.advance()
    assert len(bench.transport.outgoing) == 8
    assert len(bench.helpers) == 1
    assert bench.reads.statistics().misses == 1


def test_f44_the_peer_is_written_to_again_when_the_disk_has_answered() -> None:
    bench = ColdBench()
    bench.arrive(REQUEST)
    bench.transport.rooms.append(1000)
    bench.help_out()
    assert bench.loop.interest & EPOLLOUT
    bench.connection.handle_events(EPOLLOUT)
    bench.run()
    bench.help_until_out()
    assert bench.answers == [bench.whole_answer]


def test_f44_what_was_found_in_memory_is_not_asked_for_again() -> None:
    bench = ColdBench(SHARED_TURN_BYTES)
    bench.file.heat(0, SHARED_TURN_BYTES)
    bench.transport.rooms.extend([4 + 4, 1000])
    bench.arrive(REQUEST)
    bench.file.evict()
    for _ in range(3):
        bench.transport.rooms.append(1000)
        bench.connection.handle_events(EPOLLOUT)
    assert bench.reads.statistics().hits == 1
    assert bench.reads.statistics().misses == 0


def test_f44_a_peer_that_was_slow_has_its_slice_looked_at_again() -> None:
    bench = ColdBench(SHARED_TURN_BYTES)
    bench.file.heat(0, SHARED_TURN_BYTES)
    bench.transport.rooms.extend([4 + 4, 1000])
    bench.arrive(REQUEST)
    bench.file.evict()
    bench.loop.now_ms += 60_000
    bench.connection.handle_events(EPOLLOUT)
    assert len(bench.helpers) == 1
    bench.help_until_out()
    assert bench.answers == [bench.whole_answer]


@pytest.mark.parametrize("event", [EPOLLERR, EPOLLHUP | EPOLLRDHUP])
def test_f44_a_peer_that_resets_while_the_disk_is_waited_for_frees_its_slice(event: int) -> None:
    bench = ColdBench()
    bench.arrive(REQUEST)
    bench.transport.incoming.append(RESET)
    bench.connection.handle_events(event)
    assert bench.connection.state is ConnectionState.CLOSED
    assert bench.leased.holders == 2, "the helper still reads"
    work, done = bench.helpers.pop()
    work()
    done(None)
    assert bench.loop.advancing == [], "nobody is there to go on"
    assert bench.leased.holders == 1
    assert bench.handler.closed == 1
    assert bench.helpers == []


def test_f44_the_file_stays_open_for_the_helper_when_segment_and_connection_are_gone() -> None:
    bench = ColdBench()
    bench.arrive(REQUEST)
    bench.leased.release()  # the segment was deleted
    bench.connection.close("gone")
    assert not bench.file.is_closed
    bench.help_out()
    assert bench.file.is_closed


def test_f44_a_half_closed_peer_still_gets_its_cold_answer() -> None:
    bench = ColdBench()
    bench.arrive(REQUEST)
    bench.connection.handle_events(EPOLLRDHUP)
    assert bench.connection.is_open
    assert bench.loop.interest == 0
    bench.help_until_out()
    assert bench.answers == [bench.whole_answer]


def test_f44_a_stop_waits_for_the_disk_and_then_closes() -> None:
    bench = ColdBench()
    bench.arrive(REQUEST)
    bench.loop.is_stopping = True
    bench.connection.begin_stopping()
    assert bench.connection.state is ConnectionState.DRAINING
    bench.help_until_out()
    assert bench.answers == [bench.whole_answer]
    assert not bench.connection.is_open
    assert bench.leased.holders == 1


def test_f44_a_stop_whose_deadline_comes_waits_no_longer() -> None:
    bench = ColdBench()
    bench.arrive(REQUEST)
    bench.loop.is_stopping = True
    bench.connection.begin_stopping()
    bench.connection.close("the deadline has come")
    bench.reads.close()
    assert bench.leased.holders == 1
    bench.help_out()
    assert bench.leased.holders == 1


def test_f44_a_file_cut_while_it_is_read_closes_the_connection_once(bench: ColdBench) -> None:
    bench.arrive(REQUEST)
    bench.file.content = CONTENT[:5000]
    bench.help_until_out()
    if bench.connection.is_open:
        bench.connection.handle_events(EPOLLOUT)  # sendfile had sent what was left
    assert bench.connection.state is ConnectionState.CLOSED
    assert bench.leased.holders == 1
    assert bench.loop.failed_slices == []


def test_f44_an_error_of_the_disk_is_the_files_fault_and_told(bench: ColdBench) -> None:
    bench.arrive(REQUEST)
    bench.file.error = OSError(5, "the disk is dying")
    bench.help_until_out()
    assert bench.connection.state is ConnectionState.CLOSED
    assert [cause.errno for _, cause in bench.loop.failed_slices] == [5]
    assert bench.leased.holders == 1


def test_f44_requests_behind_a_cold_answer_are_answered_in_order() -> None:
    bench = ColdBench(SMALL_BYTES)
    bench.arrive(REQUEST + REQUEST + REQUEST)
    bench.run()
    bench.help_until_out()
    assert bench.answers == [bench.whole_answer] * 3
    assert bench.reads.statistics().misses == 1


def test_f44_waiting_for_our_disk_is_not_idleness() -> None:
    bench = ColdBench(SMALL_BYTES)
    bench.arrive(REQUEST)
    bench.loop.now_ms += 700_000
    bench.transport.rooms.append(0)
    bench.help_until_out()
    assert bench.answers == [b"head"], "the peer has taken nothing since"
    assert bench.connection.active_ms == bench.loop.now_ms


def test_f44_without_cold_reads_the_loop_reads_by_itself(bench: ColdBench) -> None:
    bench.loop.cold_reads = None
    bench.file.heat(0, len(CONTENT))
    bench.arrive(REQUEST)
    bench.run()
    assert bench.answers == [bench.whole_answer]
    assert bench.file.questions == 0

"""One connection without sockets: order, pausing, partial sends, ends, leases."""

import errno
import logging
import random
from select import EPOLLHUP, EPOLLIN, EPOLLOUT, EPOLLRDHUP

import pytest

from barnabas.base.errors import ProtocolError
from barnabas.base.limits import OUTPUT_QUEUE_BYTES_MAX
from barnabas.base.region import FileSlice
from barnabas.net.connection import (
    READ_INTEREST,
    REQUESTS_PER_TURN_MAX,
    SMALL_ANSWERS_MS,
    Connection,
    ConnectionState,
)
from barnabas.net.listener_config import FetchMode, ListenerConfig
from barnabas.net.output import BULK_TURN_BYTES, SHARED_TURN_BYTES

from .doubles import RESET, Bench, echo, leased
from .test_frame_reader import framed


def test_a_request_costs_one_receive_and_one_send() -> None:
    bench = Bench(echo)
    bench.arrive(framed(b"hello"))
    assert bench.answers == [b"hello"]
    assert bench.transport.calls == ["send"]
    assert bench.traffic.reads == 1
    assert not bench.connection.request_in_hand


def test_every_split_of_pipelined_requests_is_answered_in_order() -> None:
    bodies = [b"a", b"bb", b"ccc", b"dddd"]
    stream = framed(*bodies)
    for first in range(1, len(stream)):
        for second in range(first + 1, len(stream)):
            bench = Bench(echo)
            bench.arrive(stream[:first], stream[first:second], stream[second:])
            bench.run()
            assert bench.answers == bodies


def test_pipelined_answers_share_a_send() -> None:
    bench = Bench(echo)
    bench.arrive(framed(*[b"x"] * 10))
    assert len(bench.answers) == 10
    assert bench.transport.calls == ["send_parts"]


def test_a_pipelining_client_leaves_the_others_their_turn() -> None:
    bench = Bench(echo)
    bench.arrive(framed(*[b"x"] * (REQUESTS_PER_TURN_MAX + 5)))
    assert len(bench.handler.received) == REQUESTS_PER_TURN_MAX
    assert bench.loop.advancing == [bench.connection]
    bench.run()
    assert len(bench.answers) == REQUESTS_PER_TURN_MAX + 5


def test_f33_one_request_is_in_hand_and_the_next_is_shown_once() -> None:
    bench = Bench()
    bench.arrive(framed(b"parked", b"next", b"later"))
    assert bench.handler.received == [b"parked"]
    assert bench.handler.waiting == [b"next"]
    assert bench.loop.interest == EPOLLRDHUP  # reading pauses, the end is still noticed
    bench.poll(EPOLLIN)
    bench.connection.respond([b"1"])
    assert bench.handler.received == [b"parked"], "not within respond: the caller may be answering many"
    bench.run()
    assert bench.handler.received == [b"parked", b"next"]
    assert bench.handler.waiting == [b"next", b"later"]
    bench.connection.respond([b"2"])
    bench.run()
    bench.connection.respond([b"3"])
    assert bench.answers == [b"1", b"2", b"3"]
    assert bench.loop.interest == READ_INTEREST


def test_f33_the_handler_may_answer_the_parked_one_when_another_waits() -> None:
    bench = Bench()
    bench.handler.on_waiting = lambda connection, frame: connection.respond([b"early"])
    bench.arrive(framed(b"parked"))
    bench.arrive(framed(b"next"))
    assert bench.handler.received == [b"parked", b"next"]
    assert bench.answers == [b"early"]


def test_f33_a_partial_request_behind_the_one_in_hand_is_still_read() -> None:
    bench = Bench()
    bench.arrive(framed(b"parked"), framed(b"next")[:5])
    assert bench.loop.interest == READ_INTEREST
    assert bench.handler.waiting == []
    bench.arrive(framed(b"next")[5:])
    assert bench.handler.waiting == [b"next"]


def test_f31_fin_while_parked_closes_at_once() -> None:
    bench = Bench()
    bench.arrive(framed(b"parked"), b"")
    assert bench.connection.state is ConnectionState.CLOSED
    assert bench.handler.closed == 1
    assert bench.transport.is_closed


def test_f31_fin_while_parked_and_not_reading_closes_at_once() -> None:
    bench = Bench()
    bench.arrive(framed(b"parked", b"next"))
    bench.poll(EPOLLRDHUP)
    assert bench.handler.closed == 1


@pytest.mark.parametrize("mask", [EPOLLHUP, EPOLLHUP | EPOLLIN | EPOLLRDHUP])
def test_f31_reset_while_parked_closes_at_once(mask: int) -> None:
    bench = Bench()
    bench.arrive(framed(b"parked"))
    bench.poll(mask)
    assert bench.handler.closed == 1


def test_requests_before_the_end_are_handled_before_it() -> None:
    bench = Bench(lambda connection, frame: connection.complete_without_response())
    bench.transport.incoming.extend([framed(b"1", b"2"), framed(b"3"), b""])
    for _ in range(3):
        bench.poll(EPOLLIN | EPOLLRDHUP)
    assert bench.handler.received == [b"1", b"2", b"3"]
    assert bench.handler.closed == 1
    assert not bench.transport.outgoing


def test_an_answer_that_fails_loses_no_request_that_wants_none() -> None:
    def answer(connection: Connection, frame: bytes) -> None:
        if frame == b"metadata":
            connection.respond([b"cluster"])
        else:
            connection.complete_without_response()

    bench = Bench(answer)
    bench.transport.send_error = BrokenPipeError(errno.EPIPE, "pipe")
    bench.transport.incoming.extend([framed(b"metadata"), framed(b"acks=0", b"metadata", b"acks=0"), RESET])
    bench.poll(EPOLLIN)
    for _ in range(2):
        bench.poll(EPOLLHUP)
    assert bench.handler.received == [b"metadata", b"acks=0", b"metadata", b"acks=0"]
    assert bench.handler.closed == 1


def test_a_request_parked_for_a_peer_that_is_gone_is_dropped() -> None:
    bench = Bench(lambda connection, frame: connection.respond([b"x"]) if frame == b"1" else None)
    bench.transport.send_error = BrokenPipeError(errno.EPIPE, "pipe")
    bench.arrive(framed(b"1", b"2"))
    bench.run()
    assert bench.handler.closed == 1


def test_f42_partial_sends_end_with_the_same_bytes() -> None:
    _, file = leased(bytes(range(256)) * 2000)
    for seed in range(50):
        rng = random.Random(seed)
        mode = rng.choice(list(FetchMode))
        bench = Bench(config=ListenerConfig(fetch_mode=mode))
        bench.transport.file = file.file  # type: ignore[assignment]
        bench.transport.rooms.extend(rng.choice([0, 1, 3, 1000, 70_000, 400_000]) for _ in range(40))
        parts = [b"head", FileSlice(file, 10, 200_000), b"mid", b"", FileSlice(file, 5, 50), b"t" * 90_000]
        expected = b"".join(part.read() if isinstance(part, FileSlice) else part for part in parts)
        bench.arrive(framed(b"fetch"))
        bench.connection.respond(parts)
        for _ in range(200):
            if bench.loop.interest & EPOLLOUT:
                bench.poll(EPOLLOUT)
            bench.loop.turn()
        assert bench.answers == [expected]
        assert file.holders == 1, f"seed {seed}: a slice was not released"
        assert bench.loop.interest == READ_INTEREST
        assert not bench.transport.is_corked


def test_f41_identical_bytes_whatever_the_mode_and_counters_tell_the_way() -> None:
    outputs = []
    for mode in FetchMode:
        _, file = leased(bytes(range(256)) * 1000)
        bench = Bench(config=ListenerConfig(fetch_mode=mode, zero_copy_min_bytes=1000))
        bench.transport.file = file.file  # type: ignore[assignment]
        bench.arrive(framed(b"fetch"))
        bench.connection.respond([b"h", FileSlice(file, 0, 100), b"m", FileSlice(file, 100, 5000), b"t"])
        outputs.append(bytes(bench.transport.outgoing))
        counters = bench.traffic.output
        ways = (counters.zero_copy_bytes, counters.staged_bytes)
        assert ways == {"auto": (5000, 100), "zero_copy": (5100, 0), "heap": (0, 5100)}[mode.value]
        assert file.holders == 1
    assert outputs[0] == outputs[1] == outputs[2]


def test_f41_small_slices_go_out_with_one_send() -> None:
    _, file = leased(b"r" * 1024)
    bench = Bench()
    bench.arrive(framed(b"fetch"))
    bench.connection.respond([b"head", FileSlice(file, 0, 1024), b"tail"])
    assert bench.transport.calls == ["send"]


@pytest.mark.parametrize("mode", list(FetchMode))
@pytest.mark.parametrize("small_answer_age_ms", [0, SMALL_ANSWERS_MS, SMALL_ANSWERS_MS + 1])
def test_a_long_answer_leaves_the_others_their_turn(mode: FetchMode, small_answer_age_ms: int) -> None:
    turn_bytes = SHARED_TURN_BYTES if small_answer_age_ms <= SMALL_ANSWERS_MS else BULK_TURN_BYTES
    memory, file = leased(bytes(5 * turn_bytes))
    bench = Bench(config=ListenerConfig(fetch_mode=mode))
    bench.loop.small_answer_ms = bench.loop.now_ms - small_answer_age_ms
    bench.transport.file = memory
    bench.arrive(framed(b"fetch"))
    bench.connection.respond([FileSlice(file, 0, 5 * turn_bytes)])
    for turn in range(1, 6):
        assert (turn - 0.1) * turn_bytes <= len(bench.transport.outgoing) <= (turn + 0.2) * turn_bytes
        assert bench.loop.interest == READ_INTEREST, "no system calls to wait for what is writable"
        bench.loop.turn()
    bench.run()
    assert len(bench.answers[0]) == 5 * turn_bytes


def test_a_small_answer_makes_the_turns_of_large_ones_small() -> None:
    bench = Bench(lambda connection, _: connection.respond([b"small"]))
    bench.arrive(framed(b"fetch"))
    assert bench.loop.small_answer_ms == bench.loop.now_ms


def test_a_slow_reader_is_neither_read_nor_given_more() -> None:
    bench = Bench(lambda connection, frame: connection.respond([bytes(300_000)]))
    bench.transport.rooms.extend([100_000])
    bench.arrive(framed(b"1"))
    assert bench.loop.interest == EPOLLOUT | EPOLLRDHUP
    bench.arrive(framed(b"2"))
    assert bench.handler.received == [b"1"]
    bench.poll(EPOLLOUT)
    bench.poll(EPOLLIN)
    assert bench.handler.received == [b"1", b"2"]


def test_a_peer_that_closed_its_sending_half_gets_its_answer_first() -> None:
    bench = Bench(lambda connection, frame: connection.respond([bytes(300_000)]))
    bench.transport.rooms.extend([100_000])
    bench.arrive(framed(b"1"))
    bench.poll(EPOLLRDHUP)
    assert bench.loop.interest == EPOLLOUT  # or the level-triggered end would spin
    bench.poll(EPOLLOUT)
    assert len(bench.answers) == 1
    bench.arrive(b"")
    assert bench.handler.closed == 1


@pytest.mark.parametrize("mode", list(FetchMode))
def test_f42_a_file_cut_under_its_slice_closes_with_the_cause(
    mode: FetchMode, caplog: pytest.LogCaptureFixture
) -> None:
    memory, file = leased(bytes(500_000))
    bench = Bench(config=ListenerConfig(fetch_mode=mode))
    bench.transport.file = memory
    bench.transport.rooms.extend([70_000])
    bench.arrive(framed(b"fetch"))
    memory.content = bytes(90_000)
    bench.connection.respond([b"h", FileSlice(file, 0, 500_000), b"t"])
    for _ in range(10):
        if bench.connection.is_open:
            bench.poll(EPOLLOUT)
            bench.loop.turn()
    assert bench.handler.closed == 1
    assert file.holders == 1
    assert "ends" in caplog.text


@pytest.mark.parametrize("length", [1000, 500_000])
@pytest.mark.parametrize("mode", list(FetchMode))
def test_f43_a_read_error_is_the_files_and_is_told(mode: FetchMode, length: int) -> None:
    memory, file = leased(bytes(500_000))
    memory.error = OSError(errno.EIO, "disk")
    bench = Bench(config=ListenerConfig(fetch_mode=mode))
    bench.transport.file = memory
    bench.arrive(framed(b"fetch"))
    bench.connection.respond([b"h", FileSlice(file, 0, length), b"t"])
    assert [cause.errno for _, cause in bench.loop.failed_slices] == [errno.EIO]
    assert bench.handler.closed == 1
    assert file.holders == 1


def test_f43_a_dead_socket_is_not_the_files_fault() -> None:
    memory, file = leased(bytes(500_000))
    memory.error = RESET  # what sendfile raises for the socket
    bench = Bench(config=ListenerConfig(fetch_mode=FetchMode.ZERO_COPY))
    bench.transport.file = memory
    bench.arrive(framed(b"fetch"))
    bench.connection.respond([b"h", FileSlice(file, 0, 500_000)])
    assert bench.loop.failed_slices == []
    assert file.holders == 1


def test_f22_slices_are_released_when_the_connection_is_gone() -> None:
    memory, file = leased(bytes(500_000))
    bench = Bench()
    bench.transport.file = memory
    bench.transport.rooms.extend([100_000, 0])
    bench.arrive(framed(b"fetch"))
    bench.connection.respond([FileSlice(file, 0, 200_000), FileSlice(file, 0, 200_000)])
    assert file.holders == 3
    bench.connection.close("test")
    assert file.holders == 1
    bench.connection.respond([FileSlice(file, 0, 10)])
    assert file.holders == 1


def test_answering_twice_is_our_fault_and_releases() -> None:
    _, file = leased(bytes(10))
    bench = Bench(echo)
    bench.arrive(framed(b"x"))
    with pytest.raises(RuntimeError):
        bench.connection.respond([FileSlice(file, 0, 10)])
    assert file.holders == 1
    with pytest.raises(RuntimeError):
        bench.connection.complete_without_response()


@pytest.mark.parametrize("length", [0, -1, 2**31 - 1])
def test_a_bad_length_closes_after_what_came_before_it(length: int, caplog: pytest.LogCaptureFixture) -> None:
    bench = Bench(echo)
    bench.arrive(framed(b"good") + length.to_bytes(4, "big", signed=True) + b"junk")
    assert bench.answers == [b"good"]
    assert bench.handler.closed == 1
    assert bench.connection.id in caplog.text


def test_a_frame_at_the_limit_passes_and_one_byte_more_does_not() -> None:
    for size, closed in ((100, 0), (101, 1)):
        bench = Bench(echo, config=ListenerConfig(socket_request_max_bytes=100))
        bench.arrive(framed(bytes(size)))
        assert bench.handler.closed == closed


@pytest.mark.parametrize(
    ("error", "level"), [(ProtocolError("nonsense"), logging.WARNING), (KeyError("bug"), logging.ERROR)]
)
@pytest.mark.parametrize("pipelined", [False, True])
def test_what_a_handler_raises_closes_its_connection_only(
    error: Exception, level: int, pipelined: bool, caplog: pytest.LogCaptureFixture
) -> None:
    def answer(connection: Connection, frame: bytes) -> None:
        raise error

    bench = Bench(answer)
    bench.arrive(framed(b"x", b"y") if pipelined else framed(b"x"))
    assert bench.handler.closed == 1
    assert bench.handler.received == [b"x"]
    assert [record.levelno for record in caplog.records] == [level]


def test_hostile_peers_do_not_flood_the_log(caplog: pytest.LogCaptureFixture) -> None:
    bench = Bench()
    for _ in range(500):
        other = Bench()
        other.loop.throttle = bench.loop.throttle
        other.arrive(b"\xff\xff\xff\xff\xff")
    assert len(caplog.records) <= 20


def test_close_after_flush_sends_first() -> None:
    def answer(connection: Connection, frame: bytes) -> None:
        connection.respond([bytes(200_000)])
        connection.close_after_flush("authentication failed")

    bench = Bench(answer)
    bench.transport.rooms.extend([50_000])
    bench.arrive(framed(b"1"))
    assert bench.connection.state is ConnectionState.DRAINING
    bench.poll(EPOLLOUT)
    assert len(bench.answers) == 1
    assert bench.transport.has_finished
    assert bench.handler.closed == 1


def test_close_after_flush_among_pipelined_requests_delivers_no_more() -> None:
    def answer(connection: Connection, frame: bytes) -> None:
        connection.respond([frame])
        connection.close_after_flush("enough")

    bench = Bench(answer)
    bench.arrive(framed(b"1", b"2", b"3"))
    bench.run()
    assert bench.answers == [b"1"]
    assert bench.handler.closed == 1


def test_stopping_answers_what_is_in_hand_and_delivers_no_more() -> None:
    bench = Bench()
    bench.arrive(framed(b"parked", b"next"))
    bench.loop.is_stopping = True
    bench.connection.begin_stopping()
    assert bench.connection.is_open
    bench.connection.respond([b"done"])
    bench.run()
    assert bench.answers == [b"done"]
    assert bench.handler.received == [b"parked"]
    assert bench.handler.closed == 1


def test_a_handler_may_close_from_any_callback() -> None:
    for pieces in ([framed(b"x")], [framed(b"x", b"y", b"z")]):
        bench = Bench(lambda connection, frame: connection.close("no"))
        bench.arrive(*pieces)
        assert bench.handler.received == [b"x"]
        assert bench.handler.closed == 1
    bench = Bench()
    bench.handler.on_waiting = lambda connection, frame: connection.close("no")
    bench.arrive(framed(b"x", b"y"))
    assert bench.handler.closed == 1


@pytest.mark.parametrize("seed", range(100))
def test_any_order_of_events_keeps_order_and_leases(seed: int) -> None:
    """Random requests, cuts, rooms, delays and an end: answers are a prefix of what was asked, in order."""
    rng = random.Random(seed)
    memory, file = leased(bytes(400_000))
    config = ListenerConfig(fetch_mode=rng.choice(list(FetchMode)), zero_copy_min_bytes=2000)

    def respond(connection: Connection, frame: bytes) -> None:
        size = int.from_bytes(frame[:4], "big")
        connection.respond([frame[:4], FileSlice(file, 0, size), frame[4:8]])

    def answer(connection: Connection, frame: bytes) -> None:
        if rng.random() < 0.6:
            respond(connection, frame)
        else:
            parked.append((connection, frame))

    parked: list[tuple[Connection, bytes]] = []
    bench = Bench(answer, config=config)
    bench.transport.file = memory
    sizes = [rng.choice([0, 10, 3000, 150_000]) for _ in range(30)]
    stream = framed(*[s.to_bytes(4, "big") + bytes(rng.choice([4, 50, 80_000])) for s in sizes])
    while stream:
        cut = rng.randrange(1, 60_000)
        bench.transport.incoming.append(stream[:cut])
        stream = stream[cut:]
    bench.transport.rooms.extend(rng.choice([0, 7, 5000, 200_000, 10**7]) for _ in range(100))
    for _ in range(3000):
        choice = rng.random()
        if not bench.connection.is_open:
            break
        if parked and choice < 0.3:
            respond(*parked.pop())
        elif choice < 0.6 and bench.loop.interest & EPOLLIN:
            bench.poll(EPOLLIN)
        elif choice < 0.8 and bench.loop.interest & EPOLLOUT:
            bench.poll(EPOLLOUT)
        else:
            bench.loop.turn()
        if seed % 5 == 0 and rng.random() < 0.002:
            bench.poll(EPOLLHUP)
    if bench.connection.is_open:
        assert [int.from_bytes(a[:4], "big") for a in bench.answers] == sizes
        assert all(len(a) == s + 8 for a, s in zip(bench.answers, sizes, strict=True))
        bench.connection.close("end of the test")
    for connection, frame in parked:
        respond(connection, frame)
    assert file.holders == 1
    assert bench.handler.closed == 1


def test_a_peer_that_pipelines_and_does_not_read_is_bounded() -> None:
    answer = bytes(100_000)
    bench = Bench(lambda connection, frame: connection.respond([answer]))
    bench.transport.rooms.extend([0] * 10_000)
    bench.arrive(b"".join(framed(b"%d" % number) for number in range(200)))
    for _ in range(50):
        bench.loop.turn()
        bench.poll(bench.loop.interest)
    waiting_bytes = bench.connection.statistics().output_bytes_waiting
    assert waiting_bytes < OUTPUT_QUEUE_BYTES_MAX + 2 * len(answer)
    bench.transport.rooms.clear()
    for _ in range(200):
        bench.poll(bench.loop.interest)
        bench.loop.turn()
    assert len(bench.transport.outgoing) == 200 * (4 + len(answer))

"""Who is told when an answer is out, and listeners for this machine's tools beside the limits."""

from select import EPOLLHUP, EPOLLOUT

from barnabas.net.connection_counts import LOCAL_PEER, ConnectionCounts
from barnabas.net.listener_config import ConnectionLimits

from .doubles import Bench
from .test_frame_reader import framed


def answered(bench: Bench, size: int) -> list[int]:
    """Answer the request in hand; return where it is told that all is out, as the bytes sent by then."""
    told: list[int] = []
    bench.connection.respond([bytes(size)], lambda: told.append(len(bench.transport.outgoing)))
    return told


def test_a_small_answer_is_out_at_once() -> None:
    bench = Bench()
    bench.arrive(framed(b"1"))
    assert answered(bench, 10) == [14]


def test_an_answer_that_the_socket_did_not_take_is_told_of_when_it_is_out() -> None:
    bench = Bench()
    bench.transport.rooms.extend([100, 200])
    bench.arrive(framed(b"1"))
    told = answered(bench, 1_000)
    bench.connection.handle_events(EPOLLOUT)
    assert told == []
    bench.connection.handle_events(EPOLLOUT)
    bench.run()
    assert told == [1_004], "once, with the last byte"


def test_of_an_answer_that_dies_with_its_connection_nothing_is_told() -> None:
    bench = Bench()
    bench.transport.rooms.extend([100])
    bench.arrive(framed(b"1"))
    told = answered(bench, 1_000)
    bench.connection.handle_events(EPOLLHUP)
    assert not bench.connection.is_open
    assert told == []


def test_tools_on_this_machine_do_not_count_as_clients() -> None:
    counts = ConnectionCounts(ConnectionLimits(max_connections=1, max_connections_per_ip=1))
    assert counts.admit("10.0.0.1")
    assert counts.is_full
    assert counts.admit(LOCAL_PEER)
    assert counts.admit(LOCAL_PEER)
    counts.release(LOCAL_PEER)
    assert counts.total == 1

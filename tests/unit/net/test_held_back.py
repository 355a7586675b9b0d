"""Connections of a crowd that an append wakes: held back once they are answered, and sent the same bytes."""

from select import EPOLLOUT, EPOLLRDHUP

from barnabas.base.region import FileSlice
from barnabas.net.connection import READ_INTEREST, ConnectionState
from barnabas.net.listener_config import FetchMode, ListenerConfig
from barnabas.net.output import JOIN_BYTES_MAX

from .doubles import Bench, echo, leased
from .test_frame_reader import framed


def test_a_connection_that_is_held_back_is_not_read_from_and_goes_on_later() -> None:
    bench = Bench(echo)
    bench.arrive(framed(b"first"))
    bench.connection.hold_back()
    assert bench.loop.interest == EPOLLRDHUP
    bench.connection.let_go()
    assert bench.loop.interest == READ_INTEREST
    bench.arrive(framed(b"second"))
    assert bench.answers == [b"first", b"second"]


def test_f31_a_peer_that_finishes_while_it_is_held_back_is_read_to_its_end() -> None:
    bench = Bench(echo)
    bench.arrive(framed(b"first"))
    bench.connection.hold_back()
    bench.poll(EPOLLRDHUP)
    assert bench.loop.interest == READ_INTEREST
    bench.arrive(framed(b"last"), b"")
    assert bench.answers == [b"first", b"last"]
    assert bench.connection.state is ConnectionState.CLOSED
    bench.connection.let_go()


def test_only_idle_connections_are_held_back() -> None:
    in_hand = Bench()
    in_hand.arrive(framed(b"parked"))
    in_hand.connection.hold_back()
    assert in_hand.loop.interest == READ_INTEREST
    slow = Bench(echo)
    slow.transport.rooms.append(3)
    slow.arrive(framed(b"answer"))
    interest = slow.loop.interest
    assert interest & EPOLLOUT
    slow.connection.hold_back()
    assert slow.loop.interest == interest
    gone = Bench(echo)
    gone.arrive(b"")
    gone.connection.hold_back()
    gone.connection.let_go()
    assert gone.loop.interest == READ_INTEREST


def test_an_answer_for_many_is_copied_once_where_its_slices_would_be_copied() -> None:
    _, file = leased(bytes(range(256)) * 1024)
    for mode, is_copied in ((FetchMode.AUTO, True), (FetchMode.HEAP, True), (FetchMode.ZERO_COPY, False)):
        bench = Bench(config=ListenerConfig(fetch_mode=mode))
        records = FileSlice(file, 10, 5000)
        copied = bench.connection.copied([b"head", records, b"tail"])
        assert copied == (b"head" + records.read() + b"tail" if is_copied else None)
        assert bench.traffic.output.staged_bytes == (5000 if is_copied else 0)
        records.release()
    bench = Bench(config=ListenerConfig(fetch_mode=FetchMode.HEAP))
    for length in (JOIN_BYTES_MAX, 300_000):
        records = FileSlice(file, 0, length)
        assert bench.connection.copied([b"head", records]) is None, "too large, or cut"
        records.release()
    assert file.holders == 1

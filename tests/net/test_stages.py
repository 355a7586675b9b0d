"""Turns in stages: requests received, then handled, then answered; what breaks one breaks no other.

A reactor is stepped turn by turn, so that all that the clients have sent by then is one turn's.
"""

import socket
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager

from barnabas.base.clock import SystemClock
from barnabas.net.connection import STAGE_ANSWERS_MAX, Connection
from barnabas.net.listener_config import ListenerConfig
from barnabas.net.reactor import LET_GO_PER_TURN, STAGE_REQUESTS_MAX, Reactor
from barnabas.timing.timer_wheel import TimerWheel

from .running import TIMEOUT_S, Client, Handler, echo


class Stepped:
    """A reactor, and clients of it in the order in which they connected."""

    def __init__(self, clients: int, answer: Callable[[Connection, bytes], None] | None) -> None:
        self.reactor = Reactor(timers=TimerWheel(SystemClock().monotonic_ms()))
        self.handler = Handler(answer)
        self.listener = self.reactor.listen(ListenerConfig(host="127.0.0.1", port=0), self.handler)
        self.clients = []
        for number in range(clients):
            self.clients.append(Client(self.listener))
            while len(self.handler.opened) <= number:
                self.reactor.run_turn()

    @property
    def sends(self) -> int:
        """How often heap bytes were sent."""
        return self.listener.traffic.output.sends

    def all_ask(self, *requests: bytes) -> None:
        """Let each client send one, and wait until all are there, in their order."""
        for client, request in zip(self.clients, requests, strict=True):
            client.send(request)
            self._wait_for(self.handler.opened[self.clients.index(client)].fd)

    @staticmethod
    def _wait_for(fd: int) -> None:
        with socket.socket(fileno=socket.dup(fd)) as received:
            received.settimeout(TIMEOUT_S)
            assert received.recv(1, socket.MSG_PEEK)
            received.setblocking(False)


@contextmanager
def stepped(clients: int, answer: Callable[[Connection, bytes], None] | None = echo) -> Iterator[Stepped]:
    with ExitStack() as left:
        made = Stepped(clients, answer)
        left.callback(made.reactor.close)
        for client in made.clients:
            left.callback(client.socket.close)
        yield made


def test_requests_of_a_turn_are_handled_before_the_first_answer_is_sent() -> None:
    reads: list[int] = []
    sends: list[int] = []

    def answer(connection: Connection, frame: bytes) -> None:
        reads.append(made.listener.traffic.reads)
        sends.append(made.sends)
        connection.respond([frame])

    count = STAGE_REQUESTS_MAX + 4
    with stepped(count, answer) as made:
        made.all_ask(*[b"%d" % number for number in range(count)])
        made.reactor.run_turn()
        assert reads == [STAGE_REQUESTS_MAX] * STAGE_REQUESTS_MAX + [count] * 4
        assert sends == [0] * STAGE_REQUESTS_MAX + [STAGE_REQUESTS_MAX] * 4
        for number, client in enumerate(made.clients):
            assert client.receive() == b"%d" % number


def test_who_was_closed_meanwhile_is_delivered_nothing() -> None:
    def answer(connection: Connection, frame: bytes) -> None:
        if frame == b"closes":
            made.handler.opened[1].close("by the first")
            made.handler.opened[2].close_after_flush("by the first")
        connection.respond([frame])

    with stepped(4, answer) as made:
        made.all_ask(b"closes", b"closed", b"drained", b"last")
        made.reactor.run_turn()
        assert made.handler.received == [b"closes", b"last"]
        assert made.clients[0].receive() == b"closes"
        assert made.clients[3].receive() == b"last"
        assert made.clients[1].is_closed()
        assert made.clients[2].is_closed()


def test_an_answer_goes_out_before_what_its_handler_does_next() -> None:
    def answer(connection: Connection, frame: bytes) -> None:
        connection.respond([frame])
        if frame == b"close":
            connection.close("answered")
        if frame == b"drain":
            connection.close_after_flush("answered")
        if frame == b"bug":
            raise KeyError("bug")

    requests = (b"close", b"drain", b"bug", b"stay")
    with stepped(4, answer) as made:
        made.all_ask(*requests)
        made.reactor.run_turn()
        assert [client.receive() for client in made.clients] == list(requests)
        assert [connection.is_open for connection in made.handler.opened] == [False, False, False, True]


def test_a_small_answer_does_not_wait_for_a_large_one() -> None:
    large = bytes(8_000_000)
    sends: list[int] = []

    def answer(connection: Connection, frame: bytes) -> None:
        connection.respond([large if frame == b"large" else frame])
        sends.append(made.sends)

    with stepped(3, answer) as made:
        made.all_ask(b"small", b"large", b"after")
        made.reactor.run_turn()
        assert sends[0] == 0
        assert sends[1] >= 2, "the small one, then what the socket took of the large one"
        assert sends[2] == sends[1]
        assert made.clients[0].receive() == b"small"
        assert made.clients[2].receive() == b"after"


def test_a_peer_that_is_gone_does_not_keep_the_others_from_their_answers() -> None:
    def answer(connection: Connection, frame: bytes) -> None:
        if frame == b"first":
            leaving.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0\0\0\0\0")
            leaving.close()  # with a reset
        connection.respond([frame])

    with stepped(3, answer) as made:
        leaving = made.clients[1].socket
        made.all_ask(b"first", b"gone", b"third")
        made.reactor.run_turn()
        assert made.clients[0].receive() == b"first"
        assert made.clients[2].receive() == b"third"
        made.reactor.run_turn()
        assert not made.handler.opened[1].is_open


def test_what_came_before_pipelined_requests_is_handled_before_them() -> None:
    with stepped(3) as made:
        made.all_ask(b"1", b"2", b"4")
        made.clients[1].send(b"3")
        time.sleep(0.05)  # both are read at once, or the order is the same anyway
        while len(made.handler.received) < 4:
            made.reactor.run_turn()
        assert made.handler.received.index(b"1") < made.handler.received.index(b"2")
        assert [made.clients[1].receive(), made.clients[1].receive()] == [b"2", b"3"]


def test_answers_that_a_call_makes_go_out_sixteen_at_a_time() -> None:
    sends: list[int] = []
    with stepped(STAGE_ANSWERS_MAX + 3, None) as made:
        made.all_ask(*[b"%d" % number for number in range(len(made.clients))])
        made.reactor.run_turn()

        def answer_all() -> None:
            for connection in made.handler.opened:
                connection.respond([b"woken"])
                sends.append(made.sends)

        made.reactor.call_soon(answer_all)
        made.reactor.run_turn()
        assert sends == [0] * (STAGE_ANSWERS_MAX - 1) + [STAGE_ANSWERS_MAX] * 4
        assert [client.receive() for client in made.clients] == [b"woken"] * len(made.clients)


def test_that_an_answer_is_out_is_told_when_its_stage_was_sent() -> None:
    told: list[tuple[str, int]] = []

    def answer(connection: Connection, frame: bytes) -> None:
        connection.respond([frame], lambda: told.append((frame.decode(), made.sends)))
        assert told == []

    with stepped(2, answer) as made:
        made.all_ask(b"a", b"b")
        made.reactor.run_turn()
        assert told == [("a", 1), ("b", 2)]


def test_who_is_held_back_waits_while_others_go_on_and_comes_back_some_each_turn() -> None:
    count = LET_GO_PER_TURN + 3
    with stepped(count + 1) as made:
        others = made.handler.opened[:count]
        made.reactor.hold_back(others)
        made.all_ask(*[b"%d" % number for number in range(count + 1)])
        while not made.handler.received:
            made.reactor.run_turn()
        assert made.handler.received == [b"%d" % count]
        assert made.clients[count].receive() == b"%d" % count
        made.reactor.let_go()
        made.reactor.run_turn()  # lets the first ones go at its end
        made.reactor.run_turn()
        assert len(made.handler.received) == 1 + LET_GO_PER_TURN
        made.reactor.run_turn()
        for number in range(count):
            assert made.clients[number].receive() == b"%d" % number

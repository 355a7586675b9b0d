"""Limits on connections, with real sockets on loopback: their number, their age, and descriptors."""

import errno
import gc
import os
import resource
import select
import socket
import time
from contextlib import ExitStack

import pytest

from barnabas.net.connection import Connection
from barnabas.net.creation_rate import UNLIMITED
from barnabas.net.listener_config import ConnectionLimits
from tests.waiting import wait_until

from .running import Handler, Running, client_of, echo

MIB = 1024 * 1024


def test_max_connections_leaves_the_next_in_the_backlog_until_one_closes() -> None:
    for limits, own in ((ConnectionLimits(max_connections=2), {}), (None, {"max_connections": 2})):
        running = Running(limits=limits)
        handler = Handler(echo)
        listener = running.listen(handler, **own)
        with (
            running,
            client_of(listener) as first,
            client_of(listener) as second,
            client_of(listener) as third,
        ):
            first.ask(b"1")
            second.ask(b"2")
            third.send(b"3")
            assert running.on_loop(running.reactor.statistics).connections == 2
            first.close()
            assert third.receive() == b"3"


def test_max_connections_per_ip_closes_the_next_at_once() -> None:
    running = Running(limits=ConnectionLimits(max_connections_per_ip=1))
    listener = running.listen(Handler(echo))
    with running, client_of(listener) as first:
        first.ask(b"1")
        with client_of(listener) as second:
            assert second.is_closed()
        assert first.ask(b"still here") == b"still here"
        assert running.on_loop(running.reactor.statistics).refused_per_ip == 1


@pytest.mark.parametrize("where", ["broker", "listener"])
def test_connections_that_come_too_fast_wait(where: str) -> None:
    """The window's worth at once, the next when there is room for it; who is there is not disturbed."""
    rate = {"connection_creation_rate": 10}
    limits = ConnectionLimits(creation_window_ms=200, **(rate if where == "broker" else {}))
    running = Running(limits=limits)
    listener = running.listen(Handler(echo), **(rate if where == "listener" else {}))
    running.reactor.limit_listener(listener, 100, 10 if where == "listener" else UNLIMITED)
    with running, ExitStack() as clients:
        started = time.monotonic()
        opened = [clients.enter_context(client_of(listener)) for _ in range(6)]
        for client in opened:
            assert client.ask(b"x") == b"x"
            assert opened[0].ask(b"y") == b"y"
        # Two at once, four more at ten a second.
        assert time.monotonic() - started > 0.35
        turns = running.on_loop(running.reactor.statistics).turns
        assert turns < 200, "it spins"


def test_a_new_rate_ends_a_wait() -> None:
    running = Running(limits=ConnectionLimits(connection_creation_rate=0))
    listener = running.listen(Handler(echo))
    with running, client_of(listener) as client:
        client.send(b"x")
        assert running.on_loop(listener.statistics).connections == 0
        running.on_loop(lambda: running.reactor.limit_connections(ConnectionLimits()))
        assert client.receive() == b"x"


def test_idle_connections_are_closed_and_busy_or_waiting_ones_are_not() -> None:
    running = Running(limits=ConnectionLimits(connections_max_idle_ms=200))
    parked: list[Connection] = []

    def answer(connection: Connection, frame: bytes) -> None:
        if frame == b"park":
            parked.append(connection)
        else:
            connection.respond([frame])

    listener = running.listen(Handler(answer))
    with running, client_of(listener) as idle, client_of(listener) as waiting:
        waiting.send(b"park")
        started = time.monotonic()
        assert idle.is_closed()
        assert time.monotonic() - started >= 0.19
        running.on_loop(lambda: parked[0].respond([b"late"]))
        assert waiting.receive() == b"late"
        assert running.on_loop(running.reactor.statistics).closed_idle == 1


def test_without_descriptors_accepting_pauses_and_goes_on() -> None:
    running = Running()
    listener = running.listen(Handler(echo))
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    with running, client_of(listener) as first:
        first.ask(b"x")
        second = socket.socket()
        highest = max(int(name) for name in os.listdir("/proc/self/fd"))
        resource.setrlimit(resource.RLIMIT_NOFILE, (highest + 1, hard))
        fillers = _fill_descriptors()  # free numbers below the limit, which accept would take
        try:
            second.connect(("127.0.0.1", listener.port))
            wait_until(
                lambda: running.on_loop(running.reactor.statistics).accept_failures > 0, "accepting fails"
            )
            turns = running.on_loop(running.reactor.statistics).turns
            assert first.ask(b"y") == b"y"
            select.select([], [], [], 0.1)
            assert running.on_loop(running.reactor.statistics).turns - turns < 20, "it spins"
        finally:
            for filler in fillers:
                os.close(filler)
            resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
        second.settimeout(10)
        second.sendall(b"\0\0\0\1z")
        assert second.recv(5) == b"\0\0\0\1z"
        second.close()


def _fill_descriptors() -> list[int]:
    """Takes every descriptor number still free below the limit."""
    gc.collect()  # a descriptor that garbage still holds would come free later
    taken: list[int] = []
    while True:
        try:
            taken.append(os.dup(2))
        except OSError as error:
            if error.errno != errno.EMFILE:
                raise
            return taken

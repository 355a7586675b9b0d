"""The loop with real sockets on loopback. Nothing sleeps: tests wait for what they expect."""

import errno
import os
import random
import select
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from barnabas.base.disk import OsDisk
from barnabas.base.region import FileSlice, LeasedFile
from barnabas.net.connection import Connection
from barnabas.net.listener import ListenError
from barnabas.net.listener_config import FetchMode, ListenerConfig
from barnabas.net.reactor import Reactor
from barnabas.timing.timer_wheel import TimerWheel

from .running import Client, Handler, Running, client_of, echo

MIB = 1024 * 1024


def test_small_large_and_pipelined_requests_are_echoed() -> None:
    rng = random.Random(7)
    running = Running()
    listener = running.listen(Handler(echo))
    with running, client_of(listener) as client:
        for size in (1, 100, 65_532, 65_536, 200_000, 3 * MIB):
            body = rng.randbytes(size)
            assert client.ask(body) == body
        bodies = [rng.randbytes(rng.randrange(1, 3000)) for _ in range(500)]
        sender = threading.Thread(target=client.send, args=bodies)
        sender.start()
        assert [client.receive() for _ in bodies] == bodies
        sender.join()


def test_several_listeners_ipv6_and_the_wildcard() -> None:
    running = Running()
    first = running.listen(Handler(echo))
    second = running.listen(Handler(lambda connection, frame: connection.respond([b"second"])))
    everywhere = running.listen(Handler(echo), host="")
    with running:
        with client_of(first) as one, client_of(second) as two, client_of(everywhere) as three:
            assert (one.ask(b"a"), two.ask(b"a"), three.ask(b"a")) == (b"a", b"second", b"a")
        if (
            socket.has_ipv6
            and os.path.exists("/proc/net/if_inet6")
            and Path("/proc/net/if_inet6").read_text()
        ):
            sixth = running.on_loop(lambda: running.listen(Handler(echo), host="::1"))
            with client_of(sixth) as six:
                assert six.ask(b"six") == b"six"


def test_the_connection_knows_its_addresses() -> None:
    running = Running()
    handler = Handler(echo)
    listener = running.listen(handler, name="EXTERNAL")
    with running, client_of(listener) as client:
        client.ask(b"x")
        (connection,) = handler.opened
        port = client.socket.getsockname()[1]
        assert connection.id == f"127.0.0.1:{listener.port}-127.0.0.1:{port}-0"
        assert (connection.peer_host, connection.local_port) == ("127.0.0.1", listener.port)
        assert connection.listener_name == "EXTERNAL"
        statistics = running.on_loop(running.reactor.statistics)
        assert statistics.listeners[0].bytes_received == statistics.listeners[0].bytes_sent == 5
        assert running.on_loop(running.reactor.connection_statistics)[0].requests_received == 1


@pytest.mark.parametrize(
    ("config", "words"),
    [
        ({"host": "203.0.113.77"}, "no interface has this address"),
        ({"host": "no.such.host.invalid"}, "does not resolve"),
    ],
)
def test_what_cannot_be_bound_is_told_clearly(config: dict[str, str], words: str) -> None:
    running = Running()
    with pytest.raises(ListenError, match=words):
        running.listen(Handler(), **config)
    with running:
        pass


def test_a_port_in_use_is_told_and_a_restart_finds_it_free() -> None:
    running = Running()
    listener = running.listen(Handler(echo))
    other = Running()
    with pytest.raises(
        ListenError, match=rf"listener PLAINTEXT cannot bind 127.0.0.1:{listener.port}: .*in use"
    ):
        other.listen(Handler(), port=listener.port)
    client = Client(listener)
    with running:
        client.ask(b"x")
    again = other.listen(Handler(echo), port=listener.port)
    with other, client_of(again) as second:
        assert second.ask(b"y") == b"y"


@pytest.mark.parametrize("mode", list(FetchMode))
def test_f40_slices_between_headers_reach_a_slow_reader_whole(mode: FetchMode, tmp_path: Path) -> None:
    content = random.Random(3).randbytes(3 * MIB)
    (tmp_path / "log").write_bytes(content)
    leased = LeasedFile(OsDisk().open_readonly(str(tmp_path / "log")))

    def fetch(connection: Connection, frame: bytes) -> None:
        connection.respond(
            [b"one", FileSlice(leased, 5, 2 * MIB), b"two", FileSlice(leased, 0, 1000), b"", b"three"]
        )

    running = Running()
    listener = running.listen(Handler(fetch), fetch_mode=mode)
    with running, client_of(listener, receive_buffer_bytes=4096) as slow, client_of(listener) as quick:
        for client in (slow, slow, quick):
            expected = b"one" + content[5 : 5 + 2 * MIB] + b"two" + content[:1000] + b"three"
            assert client.ask(b"fetch") == expected
        statistics = running.on_loop(listener.statistics)
        assert (statistics.zero_copy_bytes > 0) == (mode is not FetchMode.HEAP)
        assert statistics.partial_sends > 0
        assert running.on_loop(lambda: leased.holders) == 1


def test_f22_f42_a_reset_in_mid_slice_releases_it(tmp_path: Path) -> None:
    (tmp_path / "log").write_bytes(bytes(32 * MIB))
    leased = LeasedFile(OsDisk().open_readonly(str(tmp_path / "log")))
    handler = Handler(lambda connection, frame: connection.respond([FileSlice(leased, 0, 32 * MIB)]))
    running = Running()
    listener = running.listen(handler)
    with running:
        client = Client(listener, receive_buffer_bytes=4096)
        client.send(b"fetch")
        client.receive_exactly(1000)
        client.reset()
        handler.wait(lambda seen: len(seen.closed) == 1)
        assert running.on_loop(lambda: leased.holders) == 1
        with client_of(listener) as other:
            other.send(b"fetch")
            assert int.from_bytes(other.receive_exactly(4), "big") == 32 * MIB


@pytest.mark.parametrize("mode", list(FetchMode))
def test_f42_a_file_truncated_in_mid_slice_closes_and_never_spins(mode: FetchMode, tmp_path: Path) -> None:
    path = tmp_path / "log"
    path.write_bytes(bytes(32 * MIB))
    leased = LeasedFile(OsDisk().open(str(path)))
    handler = Handler(lambda connection, frame: connection.respond([FileSlice(leased, 0, 32 * MIB)]))
    running = Running()
    listener = running.listen(handler, fetch_mode=mode)
    with running, client_of(listener, receive_buffer_bytes=4096) as client:
        client.send(b"fetch")
        client.receive_exactly(1000)
        os.truncate(path, MIB)
        with pytest.raises((EOFError, ConnectionResetError)):
            client.receive_exactly(32 * MIB)
        handler.wait(lambda seen: len(seen.closed) == 1)
        assert running.on_loop(lambda: leased.holders) == 1


@pytest.mark.parametrize("how", ["close", "reset", "shutdown"])
@pytest.mark.parametrize("behind", [False, True])
def test_f31_a_client_that_leaves_while_parked_is_noticed_at_once(how: str, behind: bool) -> None:
    running = Running()
    handler = Handler()
    listener = running.listen(handler)
    with running:
        client = Client(listener)
        client.send(b"parked")
        if behind:
            client.send(b"next")
            client.send(b"later")
            handler.wait(lambda seen: seen.waiting == [b"next"])
        handler.wait(lambda seen: len(seen.received) == 1)
        if how == "reset":
            client.reset()
        elif how == "close":
            client.close()
        else:
            client.socket.shutdown(socket.SHUT_WR)
        handler.wait(lambda seen: len(seen.closed) == 1)
        client.close()


def test_requests_without_answers_sent_before_leaving_are_all_handled() -> None:
    handler = Handler(lambda connection, frame: connection.complete_without_response())
    running = Running()
    listener = running.listen(handler)
    with running:
        client = Client(listener)
        bodies = [b"%d" % number for number in range(20_000)]
        client.send(*bodies)
        client.close()
        handler.wait(lambda seen: len(seen.closed) == 1)
        assert handler.received == bodies


def test_one_busy_connection_does_not_starve_the_others() -> None:
    served: list[int] = []

    def answer(connection: Connection, frame: bytes) -> None:
        served.append(frame[0])
        connection.respond([frame])

    running = Running()
    listener = running.listen(Handler(answer))
    busy, other = Client(listener), Client(listener)
    busy.send(*[b"\x00"] * 10_000)  # both wait in the kernel when the loop starts
    other.send(b"\x01")
    with running:
        other.receive()
        assert served.index(1) < 500
        for _ in range(10_000):
            busy.receive()
    busy.close()
    other.close()


def test_many_calls_do_not_starve_connections() -> None:
    order: list[str] = []
    running = Running()
    listener = running.listen(
        Handler(lambda connection, frame: (order.append("request"), echo(connection, frame)))
    )
    client = Client(listener)
    client.send(b"x")
    for _ in range(10_000):
        running.reactor.call_soon(lambda: order.append("call"))
    with running:
        client.receive()
        running.on_loop(lambda: None)
        assert order.count("call") == 10_000
        assert order.index("request") < 1000
    client.close()


def test_calls_timers_and_turn_ends() -> None:
    running = Running()
    seen: list[str] = []
    done = threading.Event()
    with running:
        reactor = running.reactor

        def start() -> None:
            reactor.call_later(20, lambda: (seen.append("late"), done.set()))
            reactor.call_later(10, lambda: seen.append("never")).cancel()
            reactor.call_soon(lambda: 1 / 0)
            reactor.call_at_turn_end(lambda: seen.append("end of turn"))
            seen.append("soon")

        running.on_loop(start)
        assert done.wait(10)
    assert seen == ["soon", "end of turn", "late"]


def test_calls_from_many_threads_all_run_in_each_threads_order() -> None:
    running = Running()
    seen: list[tuple[int, int]] = []

    def call(thread: int) -> None:
        for number in range(2000):
            running.reactor.call_soon_threadsafe(lambda number=number: seen.append((thread, number)))

    threads = [threading.Thread(target=call, args=(number,)) for number in range(4)]
    with running:
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        while running.on_loop(lambda: len(seen)) < 8000:
            pass
    for thread in range(4):
        assert [number for owner, number in seen if owner == thread] == list(range(2000))


def test_stopping_answers_what_is_in_hand_and_is_quick() -> None:
    running = Running()
    parked: list[Connection] = []
    handler = Handler(lambda connection, frame: parked.append(connection))
    listener = running.listen(handler)
    running.reactor.add_stopping_hook(lambda: parked[0].respond([b"what there is"]))
    idle, waiting = Client(listener), Client(listener)
    running.__enter__()
    waiting.send(b"park")
    handler.wait(lambda seen: len(seen.received) == 1 and len(seen.opened) == 2)
    started = time.monotonic()
    running.stop()
    assert time.monotonic() - started < 0.5
    assert waiting.receive() == b"what there is"
    assert waiting.is_closed()
    assert idle.is_closed()
    with pytest.raises(ConnectionRefusedError):
        Client(listener)
    assert len(handler.closed) == 2
    running.reactor.stop()
    running.reactor.call_soon_threadsafe(lambda: None)


@contextmanager
def slow_reader(tmp_path: Path) -> Iterator[Running]:
    """A running loop with a peer that does not read its 32 MiB; who stops it finds the file's lease ended."""
    (tmp_path / "log").write_bytes(bytes(32 * MIB))
    leased = LeasedFile(OsDisk().open_readonly(str(tmp_path / "log")))
    handler = Handler(lambda connection, frame: connection.respond([FileSlice(leased, 0, 32 * MIB)]))
    running = Running()
    listener = running.listen(handler)
    running.__enter__()
    with client_of(listener, receive_buffer_bytes=4096) as slow:
        slow.send(b"fetch")
        handler.wait(lambda seen: len(seen.received) == 1)
        yield running
    assert leased.holders == 1


def test_stopping_cuts_slow_readers_at_the_deadline(tmp_path: Path) -> None:
    with slow_reader(tmp_path) as running:
        started = time.monotonic()
        running.stop(deadline_ms=150)
        assert 0.14 < time.monotonic() - started < 2


def test_another_stop_does_not_wait_for_the_deadline_of_the_first(tmp_path: Path) -> None:
    with slow_reader(tmp_path) as running:
        started = time.monotonic()
        running.reactor.stop(deadline_ms=60_000)
        running.stop(deadline_ms=0)
        assert time.monotonic() - started < 30


def test_a_fault_in_a_handler_closes_its_connection_only() -> None:
    def answer(connection: Connection, frame: bytes) -> None:
        if frame == b"bug":
            raise KeyError("bug")
        connection.respond([frame])

    running = Running()
    listener = running.listen(Handler(answer))
    with running, client_of(listener) as good, client_of(listener) as bad:
        good.ask(b"x")
        bad.send(b"bug")
        assert bad.is_closed()
        assert good.ask(b"y") == b"y"


def test_an_answer_that_cannot_be_sent_closes_its_connection_only(caplog: pytest.LogCaptureFixture) -> None:
    def answer(connection: Connection, frame: bytes) -> None:
        connection.respond([["no bytes"]] if frame == b"bug" else [frame])  # type: ignore[list-item]

    running = Running()
    listener = running.listen(Handler(answer))
    with running, client_of(listener) as good, client_of(listener) as bad:
        bad.send(b"bug", b"x")  # two, so that the answer waits in the queue
        assert bad.is_closed()
        assert good.ask(b"y") == b"y"
    assert "unexpected error" in caplog.text


def test_hostile_bytes_disturb_nobody_and_hold_no_memory() -> None:
    rng = random.Random(11)
    running = Running()
    handler = Handler(echo)
    listener = running.listen(handler)
    with running, client_of(listener) as good:
        for round_number in range(60):
            bad = Client(listener)
            kind = round_number % 4
            if kind == 0:
                bad.socket.sendall(rng.randbytes(rng.randrange(1, 300)))
            elif kind == 1:
                bad.socket.sendall(rng.choice([b"\xff\xff\xff\xff", b"\x7f\xff\xff\xff", b"\0\0\0\0"]) + b"x")
                assert bad.is_closed()
            elif kind == 2:
                bad.socket.sendall((99 * MIB).to_bytes(4, "big") + rng.randbytes(rng.randrange(100)))
            else:
                bad.socket.sendall(b"GET / HTTP/1.1\r\nHost: x\r\n\r\n")
                assert bad.is_closed()
            (bad.reset if rng.random() < 0.5 else bad.close)()
            assert good.ask(b"still") == b"still"
        handler.wait(lambda seen: len(seen.closed) == 60)
        assert running.on_loop(running.reactor.statistics).connections == 1


def test_half_frames_held_open_are_small() -> None:
    running = Running()
    handler = Handler(echo)
    listener = running.listen(handler)
    with running, client_of(listener) as good:
        clients = [Client(listener) for _ in range(200)]
        for client in clients:
            client.socket.sendall((99 * MIB).to_bytes(4, "big") + bytes(1000))
        while (
            sum(c.input_bytes_held for c in running.on_loop(running.reactor.connection_statistics)) < 200_000
        ):
            pass
        held = sum(c.input_bytes_held for c in running.on_loop(running.reactor.connection_statistics))
        assert held <= 200 * 1000
        assert good.ask(b"x") == b"x"
        for client in clients:
            client.close()


CONNECTS = """
import socket, sys
for number in range(10_000):
    client = socket.create_connection(("127.0.0.1", int(sys.argv[1])))
    if number % 3 == 0:
        client.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\\x01\\0\\0\\0\\0\\0\\0\\0")
    elif number % 3 == 1:
        client.sendall(b"\\0\\0\\0\\x09half")
    client.close()
"""


def test_ten_thousand_connects_one_after_another() -> None:
    running = Running()
    handler = Handler(echo)
    listener = running.listen(handler, socket_listen_backlog_size=1024)
    with running, client_of(listener) as good:
        # In a process of its own: here it would wait for the loop's thread at every step.
        subprocess.run([sys.executable, "-S", "-c", CONNECTS, str(listener.port)], check=True, timeout=60)
        handler.wait(lambda seen: len(seen.closed) == len(seen.opened) - 1 and len(seen.opened) >= 6000)
        assert good.ask(b"x") == b"x"
        assert running.on_loop(running.reactor.statistics).connections == 1


def test_an_idle_loop_turns_no_more() -> None:
    running = Running()
    listener = running.listen(Handler(echo))
    with running, client_of(listener) as client:
        client.ask(b"x")
        before = running.on_loop(running.reactor.statistics).turns
        select.select([], [], [], 0.1)
        assert running.on_loop(running.reactor.statistics).turns - before <= 2


def test_several_loops_in_one_process_share_nothing() -> None:
    first, second = Running(), Running()
    one = first.listen(Handler(lambda connection, frame: connection.respond([b"1"])))
    two = second.listen(Handler(lambda connection, frame: connection.respond([b"2"])))
    with first, second, client_of(one) as a, client_of(two) as b:
        assert (a.ask(b"?"), b.ask(b"?")) == (b"1", b"2")


def test_an_unused_loop_gives_everything_back() -> None:
    before = len(os.listdir("/proc/self/fd"))
    reactor = Reactor(timers=TimerWheel(0))
    listener = reactor.listen(ListenerConfig(host="127.0.0.1", port=0), Handler())
    reactor.stop()
    reactor.run()
    assert len(os.listdir("/proc/self/fd")) == before
    with pytest.raises(OSError, match=os.strerror(errno.ECONNREFUSED)):
        Client(listener)

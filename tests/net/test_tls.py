"""TLS on real sockets: the same bytes as in plain, handshakes that fail and whom they leave alone."""

import logging
import random
import select
import socket
import ssl
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest

from barnabas.base.disk import OsDisk
from barnabas.base.region import FileSlice, LeasedFile
from barnabas.net.connection import Connection
from barnabas.net.listener import Listener
from barnabas.net.listener_config import FetchMode
from barnabas.net.tls_config import ClientAuth
from barnabas.net.tls_context import make_context
from barnabas.net.tls_transport import HandshakeProgress, TlsTransport
from tests.certificates import Certificates
from tests.waiting import wait_until

from .running import TIMEOUT_S, Client, Handler, Running, client_of, echo

MIB = 1024 * 1024


@pytest.fixture(scope="module")
def certificates(tmp_path_factory: pytest.TempPathFactory) -> Certificates:
    return Certificates(tmp_path_factory.mktemp("certificates"))


class TlsClient(Client):
    """A blocking client of frames in TLS."""

    def __init__(self, listener: Listener, context: ssl.SSLContext, **options: int) -> None:
        super().__init__(listener, **options)
        self.secured = self.socket = context.wrap_socket(self.socket, server_hostname="localhost")

    def exchange(self, bodies: Sequence[bytes]) -> list[bytes]:
        """Send all and receive as many; in one thread, since OpenSSL does not let two share a connection."""
        data = memoryview(b"".join(len(body).to_bytes(4, "big") + body for body in bodies))
        sent, answers = 0, bytearray()
        self.secured.setblocking(False)
        while len(answers) < len(data):
            with suppress(ssl.SSLWantReadError):
                if not (more := self.secured.recv(1 << 16)):
                    raise EOFError(f"{len(answers)} of {len(data)} bytes")
                answers += more
                continue
            if sent < len(data):
                with suppress(ssl.SSLWantWriteError):
                    sent += self.secured.send(data[sent : sent + 16_384])
                    continue
            writing = [self.secured] if sent < len(data) else []
            assert any(select.select([self.secured], writing, [], TIMEOUT_S)), "nothing comes"
        self.secured.settimeout(TIMEOUT_S)
        found, position = [], 0
        while position < len(answers):
            end = position + 4 + int.from_bytes(answers[position : position + 4], "big")
            found.append(bytes(answers[position + 4 : end]))
            position = end
        return found


@contextmanager
def tls_client(listener: Listener, context: ssl.SSLContext, **options: int) -> Iterator[TlsClient]:
    client = TlsClient(listener, context, **options)
    try:
        yield client
    finally:
        client.close()


@pytest.mark.parametrize("version", [ssl.TLSVersion.TLSv1_2, ssl.TLSVersion.TLSv1_3])
def test_small_large_and_pipelined_requests_are_echoed(
    certificates: Certificates, version: ssl.TLSVersion
) -> None:
    rng = random.Random(7)
    context = certificates.client_context()
    context.minimum_version = context.maximum_version = version
    running = Running()
    listener = running.listen(Handler(echo), tls=certificates.config())
    with running, tls_client(listener, context) as client:
        for size in (1, 100, 16_380, 16_381, 65_532, 65_536, 200_000, 3 * MIB):
            body = rng.randbytes(size)
            assert client.ask(body) == body
        bodies = [rng.randbytes(rng.choice((1, 3_000, 40_000, 70_000, 140_000))) for _ in range(150)]
        assert client.exchange(bodies) == bodies


def test_bytes_that_openssl_holds_are_not_forgotten(certificates: Certificates) -> None:
    """A record brings the end of a large frame and whole ones behind it: epoll tells of none of them."""
    rng = random.Random(8)
    running = Running()
    listener = running.listen(Handler(echo), tls=certificates.config())
    with running, tls_client(listener, certificates.client_context()) as client:
        for rest in (1, 100, 5_000, 16_000):
            large = rng.randbytes(40 * 1024 + 9 * 16_384 + rest)
            small = [rng.randbytes(size) for size in (1, 40, 300)]
            client.send(large, *small)
            assert [client.receive() for _ in range(4)] == [large, *small]


@pytest.mark.parametrize("mode", FetchMode)
@pytest.mark.parametrize("receive_buffer_bytes", [4_096, MIB])
def test_f41_slices_are_the_same_bytes_whatever_the_mode(
    certificates: Certificates, tmp_path: Path, mode: FetchMode, receive_buffer_bytes: int
) -> None:
    rng = random.Random(9)
    content = rng.randbytes(3 * MIB)
    (tmp_path / "log").write_bytes(content)
    leased = LeasedFile(OsDisk().open_readonly(str(tmp_path / "log")))
    cuts = [
        (0, 3 * MIB),
        (17, 100),
        (5, 65_536),
        *((rng.randrange(MIB), rng.randrange(2, 2 * MIB)) for _ in range(5)),
    ]

    def answer(connection: Connection, frame: bytes) -> None:
        position, length = cuts[frame[0]]
        half = length // 2
        connection.respond(
            [
                b"head",
                FileSlice(leased, position, half),
                b"between",
                FileSlice(leased, position + half, length - half),
            ]
        )

    running = Running()
    listener = running.listen(
        Handler(answer), tls=certificates.config(), fetch_mode=mode, socket_send_buffer_bytes=20_000
    )
    options = {"receive_buffer_bytes": receive_buffer_bytes}
    with running, tls_client(listener, certificates.client_context(), **options) as client:
        client.send(*(bytes([number]) for number in range(len(cuts))))
        for position, length in cuts:
            half = position + length // 2
            whole = b"head" + content[position:half] + b"between" + content[half : position + length]
            assert client.receive() == whole
        counted = running.on_loop(listener.statistics)
        assert counted.zero_copy_bytes == counted.send_files == 0
        assert counted.staged_bytes == sum(length for _, length in cuts)
    assert leased.holders == 1


def test_a_record_that_was_begun_is_finished_with_the_same_bytes(certificates: Certificates) -> None:
    """What is brought behind a full socket may be cut otherwise than before, and shorter."""
    ours, theirs = socket.socketpair()
    ours.setblocking(False)
    transport = TlsTransport(ours, make_context(certificates.config()))
    client = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    certificates.authority.configure_trust(client)
    received = bytearray()

    def read() -> None:
        with client.wrap_socket(theirs, server_hostname="localhost") as reader:
            can_read.wait(TIMEOUT_S)
            while data := reader.recv(100_000):
                received.extend(data)

    can_read = threading.Event()
    reading = threading.Thread(target=read)
    reading.start()
    while transport.handshake() is not HandshakeProgress.DONE:
        select.select([transport], [], [], TIMEOUT_S)
    content = random.Random(10).randbytes(2 * MIB)
    sent = transport.send(content)
    assert 0 < sent < len(content), "the socket took everything"
    with pytest.raises(BlockingIOError):
        transport.send(content[sent:])
    can_read.set()
    while sent < len(content):
        select.select([], [transport], [], TIMEOUT_S)
        try:
            sent += transport.send(content[sent : sent + 10])
        except BlockingIOError:
            continue
    transport.finish_sending()
    reading.join(TIMEOUT_S)
    transport.close()
    assert received == content


def plain_text(listener: Listener, certificates: Certificates) -> None:
    with client_of(listener) as client:
        client.send(b"I speak no TLS")
        assert client.is_closed()


def http(listener: Listener, certificates: Certificates) -> None:
    with client_of(listener) as client:
        client.socket.sendall(b"GET / HTTP/1.1\r\n\r\n")
        while client.socket.recv(1000):
            pass


def other_authority(listener: Listener, certificates: Certificates) -> None:
    with pytest.raises(ssl.SSLCertVerificationError), client_of(listener) as client:
        ssl.create_default_context().wrap_socket(client.socket, server_hostname="localhost")


def no_certificate(listener: Listener, certificates: Certificates) -> None:
    with pytest.raises(ssl.SSLError, match="CERTIFICATE_REQUIRED"):  # noqa: SIM117
        with tls_client(listener, certificates.client_context()) as client:
            client.ask(b"let me in")


def strangers_certificate(listener: Listener, certificates: Certificates) -> None:
    context = certificates.client_context()
    Certificates(certificates.keystore.parent / "stranger").client.configure_cert(context)
    with pytest.raises(ssl.SSLError, match="UNKNOWN_CA"), tls_client(listener, context) as client:
        client.ask(b"let me in")


def old_version(listener: Listener, certificates: Certificates) -> None:
    context = certificates.client_context()
    context.maximum_version = ssl.TLSVersion.TLSv1_2
    with pytest.raises(ssl.SSLError), tls_client(listener, context):
        pass


def gone_at_once(listener: Listener, certificates: Certificates) -> None:
    Client(listener).reset()


@pytest.mark.parametrize(
    ("misbehave", "reason"),
    [
        (plain_text, "does not speak TLS"),
        (http, "speaks HTTP"),
        (other_authority, "does not trust our certificate"),
        (no_certificate, "shows no certificate"),
        (strangers_certificate, "the client's certificate is refused"),
        (old_version, "no version of TLS"),
        (gone_at_once, ""),
    ],
)
def test_a_failed_handshake_is_logged_once_and_disturbs_nobody(
    certificates: Certificates,
    misbehave: Callable[[Listener, Certificates], None],
    reason: str,
    caplog: pytest.LogCaptureFixture,
) -> None:
    running = Running()
    handler = Handler(echo)
    config = certificates.config(ClientAuth.REQUIRED, enabled_protocols=("TLSv1.3",))
    listener = running.listen(handler, tls=config)
    context = certificates.client_context(with_certificate=True)
    with caplog.at_level(logging.WARNING), running, tls_client(listener, context) as calm:
        assert calm.ask(b"before") == b"before"
        misbehave(listener, certificates)
        assert calm.ask(b"after") == b"after"
        wait_until(lambda: running.on_loop(listener.statistics).connections == 1, "the other one is gone")
        if reason:
            wait_until(lambda: running.on_loop(listener.statistics).handshakes_failed == 1, "it failed")
        assert running.on_loop(running.reactor.statistics).connections == 1
    lines = [record.getMessage() for record in caplog.records if "TLS handshake" in record.getMessage()]
    assert len(lines) == (1 if reason else len(lines))
    assert all(f":{listener.port}-127.0.0.1:" in line and reason in line for line in lines), lines
    assert len(handler.opened) == len(handler.closed) == 1


@pytest.mark.parametrize("begun", [b"", b"\x16\x03\x01\x02\x00\x01\x00"])
def test_a_handshake_that_is_not_finished_in_time_is_hung_up_on(
    certificates: Certificates, begun: bytes
) -> None:
    running = Running()
    listener = running.listen(
        Handler(echo), tls=certificates.config(handshake_timeout_ms=100), max_connections=2
    )
    with running, client_of(listener) as lazy:
        lazy.socket.sendall(begun)
        wait_until(lambda: listener.traffic.handshaking == 1, "the handshake is waited for")
        with tls_client(listener, certificates.client_context()) as calm:
            assert calm.ask(b"x") == b"x"
            assert lazy.is_closed()
            assert calm.ask(b"y") == b"y"
        counted = running.on_loop(running.reactor.statistics)
        assert counted.listeners[0].handshakes_failed == 1
        assert listener.traffic.handshaking == 0


def test_handshakes_under_way_do_not_hold_up_a_stop(certificates: Certificates) -> None:
    running = Running()
    listener = running.listen(Handler(echo), tls=certificates.config())
    with running, client_of(listener) as lazy:
        wait_until(lambda: listener.traffic.handshaking == 1, "the handshake is waited for")
        running.stop()
        assert lazy.is_closed()


@pytest.mark.parametrize("client_auth", [ClientAuth.REQUESTED, ClientAuth.REQUIRED])
def test_a_client_is_known_by_its_certificate(certificates: Certificates, client_auth: ClientAuth) -> None:
    running = Running()
    handler = Handler(
        lambda connection, _: connection.respond([str(connection.peer_distinguished_name).encode()])
    )
    listener = running.listen(handler, tls=certificates.config(client_auth))
    with running:
        with tls_client(listener, certificates.client_context(with_certificate=True)) as client:
            name = client.ask(b"who am I?").decode()
            assert name.startswith("CN=a client\\, of sorts,OU=Testing cert ")
            assert ",O=trustme v" in name
        if client_auth is ClientAuth.REQUESTED:
            with tls_client(listener, certificates.client_context()) as client:
                assert client.ask(b"who am I?") == b"None"


def test_new_connections_get_a_new_certificate_and_old_ones_go_on(
    certificates: Certificates, tmp_path: Path
) -> None:
    def shown(client: TlsClient) -> str:
        subject = client.secured.getpeercert()["subject"]
        return next(value for part in subject for key, value in part if key == "commonName")

    running = Running()
    listener = running.listen(Handler(echo), tls=certificates.config())
    newer = Certificates(tmp_path, name="newer")
    tls = listener.traffic.tls
    assert tls is not None
    with running, tls_client(listener, certificates.client_context()) as old:
        assert shown(old) == "broker"
        assert not running.on_loop(lambda: tls.renew(certificates.config()))
        assert running.on_loop(lambda: tls.renew(newer.config()))
        with tls_client(listener, newer.client_context()) as client:
            assert shown(client) == "newer"
            assert client.ask(b"new") == b"new"
        assert old.ask(b"old") == b"old"
        # The same names, other files behind them.
        newest = Certificates(tmp_path / "again", name="newest")
        newest.keystore.replace(newer.keystore)
        assert running.on_loop(lambda: tls.renew(newer.config()))
        with tls_client(listener, newest.client_context()) as client:
            assert shown(client) == "newest"


@pytest.mark.parametrize("goodbye", ["close_notify", "fin", "reset"])
def test_a_peer_that_leaves_is_gone(certificates: Certificates, goodbye: str) -> None:
    running = Running()
    handler = Handler(lambda connection, frame: None)  # parks everything
    listener = running.listen(handler, tls=certificates.config())
    with running, tls_client(listener, certificates.client_context()) as client:
        client.send(b"park")
        handler.wait(lambda seen: len(seen.received) == 1)
        if goodbye == "close_notify":
            client.secured.setblocking(False)
            with suppress(ssl.SSLWantReadError):  # unless the answer is there already
                client.secured.unwrap()
        elif goodbye == "fin":
            socket.socket.shutdown(client.socket, socket.SHUT_WR)
        else:
            client.reset()
        handler.wait(lambda seen: len(seen.closed) == 1)


def test_the_last_answer_arrives_before_the_goodbye(certificates: Certificates) -> None:
    def answer(connection: Connection, frame: bytes) -> None:
        connection.respond([bytes(2 * MIB)])
        connection.close_after_flush("that was all")

    running = Running()
    listener = running.listen(Handler(answer), tls=certificates.config())
    with running, tls_client(listener, certificates.client_context()) as client:
        client.secured.suppress_ragged_eofs = False
        client.send(b"x", b"y", b"z")
        assert client.receive() == bytes(2 * MIB)
        assert client.socket.recv(1) == b"", "TLS was not closed in good order"

"""Running watch.c: waiting consumers, in steps, with a look at the server in between."""

import contextlib
import json
import subprocess
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from barnabas.protocol.api_keys import ApiKey
from barnabas.protocol.messages import ApiVersionsRequest
from benchmarks.asking import OFFSET_MARK, AnsweredError, Asker, Topic, batch, place_of
from benchmarks.brokers.server import Server
from benchmarks.generators import GRACE_S, Figures, LoadError
from benchmarks.processes import descriptors, fine_cpu_s
from benchmarks.programs import program
from tests.net.wire import Wire

PARKED_MS = 600_000
FLEXIBLE_FETCH = 12
_SAMPLE_BYTES = 1 << 20
CALM_S = 0.5
CALM_SHARE = 0.02
CALM_S_MAX = 10
LET_GO_S_MAX = 30
LET_GO_POLL_S = 0.1
DESCRIPTORS_KEPT = 100


@dataclass(frozen=True, slots=True, kw_only=True)
class Layout:
    """Where things lie in the fetches of one topic and in their answers.

    Attributes:
        fetch: a request for the offset OFFSET_MARK.
        length_at: place of the records' length in an answer's body.
    """

    fetch: bytes
    offset_at: int
    length_at: int
    is_flexible: bool


def layout(asker: Asker, topic: Topic, *, offset: int, partition_max_bytes: int, max_wait_ms: int) -> Layout:
    """Find out by a fetch of an offset that holds a record.

    Raises:
        AnsweredError: it brought no records.
    """
    sample, version = asker.fetch_frame(topic, offset=offset, partition_max_bytes=_SAMPLE_BYTES)
    answer, body = asker.ask_frame(ApiKey.FETCH, version, sample)
    if answer.error_code or not answer.responses or not answer.responses[0].partitions[0].records:
        raise AnsweredError(f"Fetch v{version} of {topic.name} at {offset} brought no records")
    records = bytes(answer.responses[0].partitions[0].records)
    at = body.index(records)
    is_flexible = version >= FLEXIBLE_FETCH
    if is_flexible:
        at -= 1  # the last byte of the varint; those before it have their highest bit set
        while body[at - 1] & 0x80 and varint(body, at - 1) == len(records) + 1:
            at -= 1
    else:
        at -= 4
    fetch, _ = asker.fetch_frame(
        topic, offset=OFFSET_MARK, partition_max_bytes=partition_max_bytes, max_wait_ms=max_wait_ms
    )
    offset_at = place_of(fetch, OFFSET_MARK, 8)
    return Layout(fetch=fetch, offset_at=offset_at, length_at=at, is_flexible=is_flexible)


def varint(data: bytes, at: int) -> int:
    """Return the unsigned varint at a place."""
    value = shift = 0
    while True:
        value |= (data[at] & 0x7F) << shift
        shift += 7
        if not data[at] & 0x80:
            return value
        at += 1


class Watch:
    """A run of watch.c; as a context it is ended, however far it came."""

    def __init__(self, port: int, folder: Path, seconds: float) -> None:
        self._command: list[str] = [str(program("watch")), "-s", str(seconds)]
        self._port = port
        self._folder = folder
        self._seconds = seconds
        self._process: subprocess.Popen[str] | None = None
        with Wire(port):  # a broker that refuses connections is told by its error, not by the program's
            pass

    def _file(self, option: str, body: bytes) -> None:
        path = self._folder / f"watch-{self._port}-{option}"
        path.write_bytes(body)
        self._command += [f"-{option}", str(path)]

    def greet(self, asker: Asker) -> None:
        """Let each connection ask for ApiVersions first."""
        self._file("c", asker.frame(ApiKey.API_VERSIONS, 0, ApiVersionsRequest()))

    def park(self, count: int, fetch: bytes) -> None:
        """Let connections wait for what does not come."""
        self._command += ["-P", str(count)]
        self._file("p", fetch)

    def watch(self, count: int, found: Layout, first_offset: int) -> None:
        """Let connections wait for what is appended."""
        self._command += ["-W", str(count), "-o", str(found.offset_at), "-O", str(first_offset)]
        self._command += ["-l", str(found.length_at), *(["-f"] if found.is_flexible else [])]
        self._file("w", found.fetch)

    def append(self, frame: bytes, rate: float) -> None:
        """Let records be appended by the clock."""
        self._command += ["-r", str(rate)]
        self._file("a", frame)

    def until_empty(self) -> None:
        """Let one watcher read to the end instead."""
        self._command.append("-E")

    def connect(self) -> None:
        """Start; return when all connections are made."""
        self._process = subprocess.Popen(
            [*self._command, "127.0.0.1", str(self._port)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        self._expect("connected")

    def park_all(self) -> None:
        """Send the fetches that stay parked."""
        self._go_on()
        self._expect("parked")

    def finish(self) -> Figures:
        """Run the rest; return what it told.

        Raises:
            LoadError: it ended with an error.
        """
        assert self._process is not None
        self._go_on()
        try:
            told, errors = self._process.communicate(timeout=self._seconds + GRACE_S)
        except subprocess.TimeoutExpired:
            raise LoadError("watch did not end in time") from None
        if self._process.returncode != 0:
            raise LoadError(f"watch ended with {self._process.returncode}: {errors.strip()}")
        found: Figures = json.loads(told)
        return found

    def run(self) -> Figures:
        """Take all steps at once."""
        self.connect()
        self.park_all()
        return self.finish()

    def _go_on(self) -> None:
        assert self._process is not None
        assert self._process.stdin is not None
        try:
            self._process.stdin.write("\n")
            self._process.stdin.flush()
        except BrokenPipeError:
            raise LoadError(f"watch ended early: {self._errors()}") from None

    def _expect(self, word: str) -> None:
        assert self._process is not None
        assert self._process.stdout is not None
        if self._process.stdout.readline().strip() != word:
            raise LoadError(f"watch ended early: {self._errors()}")

    def _errors(self) -> str:
        assert self._process is not None
        assert self._process.stderr is not None
        return self._process.stderr.read().strip()

    def __enter__(self) -> "Watch":
        return self

    def __exit__(self, *_: object) -> None:
        if self._process is not None:
            if self._process.poll() is None:
                self._process.kill()
            self._process.wait()
            for pipe in (self._process.stdin, self._process.stdout, self._process.stderr):
                if pipe is not None:
                    pipe.close()


def watch_appends(
    asker: Asker, topic: Topic, watch: Watch, *, watchers: int, value_bytes: int, rate: float
) -> None:
    """Set a watch up for records appended to a topic that nobody else writes to."""
    first = asker.produce(topic, batch(value_bytes))
    found = layout(asker, topic, offset=first, partition_max_bytes=_SAMPLE_BYTES, max_wait_ms=PARKED_MS)
    watch.greet(asker)
    watch.watch(watchers, found, first + 1)
    frame, _ = asker.produce_frame(topic, batch(value_bytes), acks=1)
    watch.append(frame, rate)


def check_whole(found: Figures) -> None:
    """Raise LoadError when records did not arrive: such latencies tell of those that did."""
    if found["missing"]:
        raise LoadError(
            f"{found['missing']} of {found['missing'] + found['deliveries']} records did not arrive"
        )


@contextlib.contextmanager
def letting_go(asker: Asker, topic: Topic, server: Server) -> Iterator[None]:
    """Afterwards have a server answer the fetches that wait at a topic's end though their clients are gone.

    Apache Kafka reads nothing from a connection whose fetch waits, so it learns only by answering that the
    client has hung up. Without this the next turn's ten thousand come on top and pass its file limit.

    Raises:
        LoadError: it keeps the connections all the same.
    """
    before = descriptors(server.pids())
    yield
    asker.produce(topic, batch(1))
    deadline = time.monotonic() + LET_GO_S_MAX
    while (kept := descriptors(server.pids()) - before) > DESCRIPTORS_KEPT:
        if time.monotonic() > deadline:
            raise LoadError(f"{kept} more descriptors are open than before its clients came and went")
        time.sleep(LET_GO_POLL_S)


def settle(seconds: float) -> None:
    """Let a server come to rest."""
    time.sleep(seconds)


def settle_calm(server: Server) -> None:
    """Let a server come to rest: until it has done next to nothing for a while, or for CALM_S_MAX."""
    deadline = time.monotonic() + CALM_S_MAX
    pids = server.pids()
    before = fine_cpu_s(pids)
    while time.monotonic() < deadline:
        time.sleep(CALM_S)
        after = fine_cpu_s(pids)
        if after - before < CALM_SHARE * CALM_S:
            return
        before = after

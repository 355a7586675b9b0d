"""Three published experiments on how a log broker serves reads, over the wire and from outside.

A study of Apache Kafka's read path measured them with raw requests and the broker's own request log:

E1  what a Fetch of one small batch gets by default, with a high min.bytes, and at the end of the log;
E2  what a Fetch that waits costs while it waits;
E3  whether the bytes of a large Fetch pass through the broker's process, over plaintext and over TLS.

Each function runs one of them against a running broker, checks what must hold, and returns its steps with
the study's figures beside the measured ones. Times scale (`Pace`), so that tests need not wait as long.
"""

import ssl
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple, Protocol

from barnabas.protocol import messages
from tools.fetch_client import Answer, FetchClient, batch_of, fetch_request
from tools.process_counters import ProcessCounters, Strace, read_counters

RECORDS = 10
VALUE_BYTES = 20
MIB = 1 << 20
SLICE_BATCHES = 48
SLICE_VALUE_BYTES = 1_000_000
OWN_READS_BYTES_MAX = 128 * 1024
"""What the broker may read of its files for a Fetch besides the records: an index entry's stretch of batch
headers and, after a start, the index; and what else a broker reads and writes in that moment."""


THREADS_QUIET_S = 1.5
THREADS_TIMEOUT_S = 20.0


class _Target(NamedTuple):
    address: str
    topic: str
    topic_id: bytes


class ExperimentError(AssertionError):
    """Something is not as it must be."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Pace:
    """How long things wait and how late an answer may be.

    Attributes:
        wait_ms: max.wait.ms of E1 (b), which is waited for.
        woken_wait_ms: of E1 (c), which a record ends.
        record_after_ms: when that record comes.
        behind_wait_ms: of a fetch that another request may end.
        parked_ms: E2's max.wait.ms.
        late_ms: how much later than it could come an answer still counts as prompt.
    """

    wait_ms: int = 3000
    woken_wait_ms: int = 3000
    record_after_ms: int = 1500
    behind_wait_ms: int = 3000
    parked_ms: int = 15_000
    late_ms: float = 1000.0


PUBLISHED = Pace()


@dataclass(frozen=True, slots=True, kw_only=True)
class BrokerTimes:
    """A request's times as the broker logged them."""

    local_ms: float
    remote_ms: float


class Side(Protocol):
    """The broker's own view."""

    pid: int

    def times_of(self, answer: Answer) -> BrokerTimes | None:
        """Return an answer's times from the request log; None when they are not there."""

    def delayed_fetches(self) -> int:
        """Ask how many fetches are parked."""

    def sent_bytes(self) -> "SentBytes":
        """Ask how the slices of all answers went out."""


TimesOf = Callable[[Answer], BrokerTimes | None]


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """One row of the table.

    Attributes:
        published: what the study saw with Apache Kafka.
        ours: what was seen here.
    """

    experiment: str
    what: str
    published: str
    ours: str
    took_ms: float | None = None
    times: BrokerTimes | None = None


def expect(condition: bool, what: str) -> None:
    """Refuse the run unless a condition holds.

    Raises:
        ExperimentError: it does not.
    """
    if not condition:
        raise ExperimentError(what)


def _seen(answer: Answer) -> str:
    if answer.partitions == 0:
        return f"no partitions, session {'kept' if answer.session_id else 'id 0'}"
    return f"{answer.record_count} records, HW {answer.high_watermark}"


def _step(
    experiment: str, what: str, published: str, answer: Answer, times_of: TimesOf, *, ours: str | None = None
) -> Step:
    expect(answer.error_code == 0, f"{experiment}: error {answer.error_code}")
    expect(answer.partition_error == 0, f"{experiment}: partition error {answer.partition_error}")
    times = times_of(answer)
    return Step(
        experiment=experiment, what=what, published=published, ours=ours or _seen(answer),
        took_ms=answer.took_ms, times=times,
    )  # fmt: skip


def _expect_prompt(answer: Answer, pace: Pace, what: str) -> None:
    expect(answer.took_ms < pace.late_ms, f"{what}: {answer.took_ms:.1f} ms is not at once")


def _expect_waited(answer: Answer, wait_ms: int, pace: Pace, what: str) -> None:
    # The wheel's tick is 1 ms, and the two clocks are read at different moments.
    expect(answer.took_ms >= wait_ms - 5, f"{what}: answered after {answer.took_ms:.1f} of {wait_ms} ms")
    expect(answer.took_ms < wait_ms + pace.late_ms, f"{what}: {answer.took_ms:.1f} ms for {wait_ms} ms")


def long_poll(address: str, topic: str, pace: Pace, times_of: TimesOf) -> list[Step]:
    """E1: defaults, a min.bytes that is out of reach, and a record that comes while waiting."""
    with FetchClient(address, f"{topic}-setup") as setup:
        topic_id = setup.create_topic(topic)
        setup.produce(topic, batch_of(RECORDS, VALUE_BYTES))
        setup.fetch(fetch_request(topic_id))  # a broker loads its code for an API with the first request
        target = _Target(address, topic, topic_id)
        return [
            _at_once(target, pace, times_of),
            *_out_of_reach(target, pace, times_of),
            _woken(setup, target, pace, times_of),
        ]


def _at_once(target: _Target, pace: Pace, times_of: TimesOf) -> Step:
    with FetchClient(target.address, f"{target.topic}-a") as client:
        answer = client.fetch(fetch_request(target.topic_id))
    expect(answer.record_count == RECORDS, f"E1 (a): {answer.record_count} records")
    _expect_prompt(answer, pace, "E1 (a)")
    what = "defaults: min.bytes 1, max.wait 500"
    return _step("E1 (a)", what, f"at once, {RECORDS} records", answer, times_of)


def _out_of_reach(target: _Target, pace: Pace, times_of: TimesOf) -> list[Step]:
    wait_ms, topic_id = pace.wait_ms, target.topic_id
    with FetchClient(target.address, f"{target.topic}-b") as client:
        first = client.fetch(fetch_request(topic_id, min_bytes=MIB, max_wait_ms=wait_ms, session=(0, 0)))
        expect(first.record_count == RECORDS, f"E1 (b): {first.record_count} records")
        expect(first.session_id != 0, "E1 (b): no session was made")
        _expect_waited(first, wait_ms, pace, "E1 (b)")
        session_id = first.session_id
        then = client.fetch(
            fetch_request(
                topic_id, offset=RECORDS, min_bytes=MIB, max_wait_ms=wait_ms, session=(session_id, 1)
            )
        )
        expect(then.partitions == 0, f"E1 (b): {then.partitions} partitions for nothing new")
        expect(then.session_id == session_id, f"E1 (b): session {then.session_id}, not {session_id}")
        _expect_waited(then, wait_ms, pace, "E1 (b), next fetch")
        closed = client.fetch(fetch_request(min_bytes=MIB, max_wait_ms=wait_ms, session=(session_id, -1)))
        expect(closed.session_id == 0, f"E1 (b): session {closed.session_id} after its end")
        _expect_prompt(closed, pace, "E1 (b), close")
    seconds = f"~{wait_ms / 1000:g} s"
    return [
        _step(
            "E1 (b)", f"min.bytes 1 MiB, max.wait {wait_ms}",
            f"{seconds}, the same {RECORDS} records; local ~ms, remote ~{wait_ms} ms", first, times_of,
        ),
        _step("E1 (b)", f"then in its session, at {RECORDS}", f"{seconds}, no partitions", then, times_of),
        _step("E1 (b)", "session epoch -1", "session id 0", closed, times_of),
    ]  # fmt: skip


def _woken(producer: FetchClient, target: _Target, pace: Pace, times_of: TimesOf) -> Step:
    with FetchClient(target.address, f"{target.topic}-c") as client:
        request = fetch_request(target.topic_id, offset=RECORDS, max_wait_ms=pace.woken_wait_ms)
        client.send_fetch(request)
        time.sleep(pace.record_after_ms / 1000)
        producer.produce(target.topic, batch_of(1, VALUE_BYTES))
        appended_s = time.perf_counter()
        answer = client.receive_fetch(request)
        behind_ms = (time.perf_counter() - appended_s) * 1000
    expect(answer.record_count == 1, f"E1 (c): {answer.record_count} records")
    expect(answer.high_watermark == RECORDS + 1, f"E1 (c): HW {answer.high_watermark}")
    expect(answer.took_ms >= pace.record_after_ms - 5, "E1 (c): answered before the record came")
    expect(behind_ms < pace.late_ms, f"E1 (c): {behind_ms:.1f} ms after the append")
    return _step(
        "E1 (c)", f"waiting at the end; a record comes after {pace.record_after_ms / 1000:g} s",
        f"within ms of the append, HW {RECORDS + 1}", answer, times_of,
        ours=f"{_seen(answer)}, {behind_ms:.1f} ms after the producer's answer",
    )  # fmt: skip


def request_behind(address: str, topic: str, pace: Pace, *, mute: bool) -> Step:
    """What a request behind a parked fetch of its connection gets: where the two settings differ (F33)."""
    with FetchClient(address, f"{topic}-behind") as client:
        topic_id = client.create_topic(topic)
        fetch = fetch_request(topic_id, max_wait_ms=pace.behind_wait_ms)
        ask = messages.ApiVersionsRequest()
        client.ask(ask, 0)
        client.send_fetch(fetch)
        client.send(ask, 0)
        took_ms = client.receive_fetch(fetch).took_ms
        client.receive(ask, 0)
    if mute:
        expect(took_ms >= pace.behind_wait_ms - 5, f"muted, but answered after {took_ms:.1f} ms")
    else:
        expect(took_ms < pace.late_ms, f"{took_ms:.1f} ms behind a parked fetch")
    return Step(
        experiment="F33",
        what="another request behind a parked fetch",
        published=f"waits its turn: ~{pace.behind_wait_ms / 1000:g} s",
        ours="waits its turn, as in Kafka" if mute else "ends the wait",
        took_ms=took_ms,
    )


def _let_threads_start(pid: int) -> None:
    """Wait until no thread came for a while: the first flush of a new topic starts a helper, for example."""
    quiet_since, known = time.monotonic(), 0
    deadline = quiet_since + THREADS_TIMEOUT_S
    while time.monotonic() < min(quiet_since + THREADS_QUIET_S, deadline):
        threads = read_counters(pid).threads
        if threads != known:
            quiet_since, known = time.monotonic(), threads
        time.sleep(0.05)


def parked(address: str, topic: str, pace: Pace, side: Side) -> Step:
    """E2: one delayed operation, no thread, no CPU."""
    pid = side.pid
    with FetchClient(address, f"{topic}-parked") as client:
        topic_id = client.create_topic(topic)
        expect(side.delayed_fetches() == 0, "E2: something is parked already")
        _let_threads_start(pid)
        request = fetch_request(topic_id, max_wait_ms=pace.parked_ms)
        before = read_counters(pid)
        client.send_fetch(request)
        time.sleep(pace.parked_ms / 2000)
        waiting, during = side.delayed_fetches(), read_counters(pid).since(before)
        answer = client.receive_fetch(request)
    expect(waiting == 1, f"E2: {waiting} delayed operations")
    expect(side.delayed_fetches() == 0, "E2: a delayed operation is left behind")
    expect(during.threads == before.threads, f"E2: {during.threads - before.threads} more threads")
    expect(answer.record_count == 0, "E2: records out of nowhere")
    _expect_waited(answer, pace.parked_ms, pace, "E2")
    return _step(
        "E2", f"a fetch parked for {pace.parked_ms / 1000:g} s",
        "1 delayed operation, no thread blocked, empty; local < 1 ms", answer, side.times_of,
        ours=f"1 delayed operation, {during.threads - before.threads} more threads, "
        f"{during.cpu_s * 1000:.0f} ms of CPU in {pace.parked_ms / 2000:g} s, empty",
    )  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class SentBytes:
    """How the broker says it sent what its listeners were asked for."""

    zero_copy: int
    staged: int


@dataclass(frozen=True, slots=True, kw_only=True)
class LargeRead:
    """E3's facts.

    Attributes:
        slice_bytes: of the records in the answer.
        counted: what the kernel counted of the process meanwhile.
        sent: what the broker counted itself.
        traced: bytes by system call in a second run; empty without strace.
    """

    slice_bytes: int
    counted: ProcessCounters
    sent: SentBytes
    traced: dict[str, int]
    step: Step


def fill(address: str, topic: str) -> bytes:
    """Write E3's 48 MB, one record a batch, and return the topic's id."""
    batch = batch_of(1, SLICE_VALUE_BYTES)
    with FetchClient(address, f"{topic}-fill") as client:
        topic_id = client.create_topic(topic)
        for _ in range(SLICE_BATCHES):
            client.produce(topic, batch)
    return topic_id


def warm_up(address: str, topic: str, tls: ssl.SSLContext | None = None) -> None:
    """Fetch from a new topic, so that the broker has loaded its code for it."""
    with FetchClient(address, topic, tls) as client:
        topic_id = client.create_topic(topic)
        client.fetch(fetch_request(topic_id, max_wait_ms=1))


def large_read(
    address: str,
    topic_id: bytes,
    log_file: Path,
    side: Side,
    *,
    strace_output: Path,
    tls: ssl.SSLContext | None = None,
) -> LargeRead:
    """E3: read all of a topic by one Fetch, over plaintext (sendfile) or TLS (read, encrypt, send).

    Args:
        address: of a listener with fetch.mode=zero_copy, which TLS makes no use of.
        log_file: the partition's one segment, to compare with.
    """
    protocol = "plaintext" if tls is None else "TLS"
    pid, sent_bytes = side.pid, side.sent_bytes
    request = fetch_request(topic_id, max_wait_ms=0, max_bytes=54 * MIB, partition_max_bytes=54 * MIB)
    with FetchClient(address, f"e3-{protocol}", tls) as client:
        sent, before = sent_bytes(), read_counters(pid)
        answer = client.fetch(request)
        counted, now = read_counters(pid).since(before), sent_bytes()
    written = log_file.read_bytes()
    expect(len(answer.records) == len(written), f"E3: {len(answer.records)} of {len(written)} bytes came")
    expect(answer.records == written, "E3: other bytes than the log's")
    with Strace(pid, strace_output) as strace, FetchClient(address, f"e3-{protocol}-traced", tls) as client:
        traced = client.fetch(request)
    expect(traced.records == written, "E3: other bytes than the log's, traced")
    own = SentBytes(zero_copy=now.zero_copy - sent.zero_copy, staged=now.staged - sent.staged)
    slice_bytes = len(written)
    # What went by sendfile counts as read as well as written; OpenSSL writes what it has encrypted.
    copied = counted.read_bytes - (counted.written_bytes if tls is None else 0)
    if tls is None:
        expect(own == SentBytes(zero_copy=slice_bytes, staged=0), f"E3: the broker counted {own}")
        expect(abs(copied) < OWN_READS_BYTES_MAX, f"E3: the process read {copied} bytes itself")
        published = "sendfile = slice, no record body read"
    else:
        expect(own == SentBytes(zero_copy=0, staged=slice_bytes), f"E3: the broker counted {own}")
        expect(copied >= slice_bytes, f"E3: only {copied} bytes were read")
        expect(counted.written_bytes > slice_bytes, f"E3: {counted.written_bytes} bytes were encrypted")
        published = "all 48 MB read and encrypted"
    by_call = dict(strace.bytes_by_call)
    if strace.available:
        _check_trace(by_call, slice_bytes, sendfile=tls is None)
    ours = f"sendfile {own.zero_copy / 1e6:.1f} MB, read {max(copied, 0) / 1e6:.3f} MB"
    if strace.available:
        reads = sum(by_call.get(call, 0) for call in ("pread64", "preadv", "preadv2"))
        ours += f"; strace: sendfile {by_call.get('sendfile', 0) / 1e6:.1f}, pread {reads / 1e6:.3f}"
    step = _step(
        "E3",
        f"{slice_bytes / 1e6:.1f} MB over {protocol}, zero_copy",
        published,
        answer,
        side.times_of,
        ours=ours,
    )
    return LargeRead(slice_bytes=slice_bytes, counted=counted, sent=own, traced=by_call, step=step)


def _check_trace(by_call: dict[str, int], slice_bytes: int, *, sendfile: bool) -> None:
    reads = sum(by_call.get(call, 0) for call in ("pread64", "preadv", "preadv2", "read"))
    sent = by_call.get("sendfile", 0)
    if sendfile:
        expect(sent == slice_bytes, f"E3: strace saw sendfile move {sent} of {slice_bytes} bytes")
        expect(reads < OWN_READS_BYTES_MAX, f"E3: strace saw {reads} bytes read")
    else:
        expect(sent == 0, f"E3: strace saw sendfile move {sent} bytes")
        expect(reads >= slice_bytes, f"E3: strace saw {reads} of {slice_bytes} bytes read")

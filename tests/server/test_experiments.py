"""The three published experiments on how a broker serves reads (tools/fetch_experiments.py), as tests.

The broker is a process of its own; it, the wire and the kernel are asked. `--slow` waits
as long as the published study did.
"""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from tests.broker import BarnabasBroker
from tests.certificates import Certificates
from tools import fetch_experiments as experiments
from tools.broker_side import BrokerSide
from tools.fetch_experiments import OWN_READS_BYTES_MAX, PUBLISHED, Pace, Step
from tools.process_counters import count_calls

pytestmark = pytest.mark.xdist_group("experiments")

LATE_MS = 20_000.0
"""On a loaded machine an answer may be late by this; whatever it tells apart lasts longer."""

SHORT = Pace(
    wait_ms=600,
    woken_wait_ms=45_000,
    record_after_ms=200,
    behind_wait_ms=45_000,
    parked_ms=1500,
    late_ms=LATE_MS,
)


def make_broker(directory: Path, overrides: dict[str, str]) -> BarnabasBroker:
    log = str(directory / "requests.log")
    return BarnabasBroker(directory, overrides={"request.log.file": log, **overrides})


def side_of(broker: BarnabasBroker) -> BrokerSide:
    return BrokerSide(broker.data_dir, broker.directory / "requests.log", broker.pid)


@pytest.fixture
def pace(slow: bool) -> Pace:
    full = replace(PUBLISHED, woken_wait_ms=45_000, behind_wait_ms=45_000, late_ms=LATE_MS)
    return full if slow else SHORT


@pytest.fixture(scope="module", params=["complete", "mute"])
def broker(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[BarnabasBroker]:
    directory = tmp_path_factory.mktemp(request.param)
    with make_broker(directory, {"connections.parked.fetch": request.param}) as started:
        yield started


def waited(step: Step, wait_ms: int) -> bool:
    """Whether the broker says that all the time went by in waiting."""
    assert step.times is not None, f"{step.experiment} is not in the request log"
    return step.times.remote_ms >= wait_ms - 5 and step.times.local_ms < LATE_MS


def test_e1_long_poll(broker: BarnabasBroker, pace: Pace) -> None:
    steps = experiments.long_poll(broker.bootstrap, "e1", pace, side_of(broker).times_of)
    at_once, out_of_reach, next_fetch, closed, woken = steps
    assert at_once.times is not None
    assert at_once.times.remote_ms == 0
    assert at_once.ours == "10 records, HW 10"
    assert waited(out_of_reach, pace.wait_ms)
    assert out_of_reach.ours == at_once.ours
    assert waited(next_fetch, pace.wait_ms)
    assert next_fetch.ours.startswith("no partitions")
    assert closed.ours == "no partitions, session id 0"
    assert waited(woken, pace.record_after_ms)
    assert woken.ours.startswith("1 records, HW 11")


def test_e1_and_f33_a_request_behind_a_parked_fetch(broker: BarnabasBroker, pace: Pace) -> None:
    mute = "mute" in str(broker.directory)
    if mute:
        pace = replace(pace, behind_wait_ms=pace.wait_ms)
    experiments.request_behind(broker.bootstrap, "e1-behind", pace, mute=mute)


def test_e2_a_parked_fetch_costs_nothing(broker: BarnabasBroker, pace: Pace) -> None:
    step = experiments.parked(broker.bootstrap, "e2", pace, side_of(broker))
    assert waited(step, pace.parked_ms)
    assert step.ours.startswith("1 delayed operation, 0 more threads")


def test_e3_no_record_byte_passes_through_the_process(tmp_path: Path) -> None:
    with make_broker(tmp_path, {"fetch.mode": "zero_copy"}) as broker:
        topic_id = experiments.fill(broker.bootstrap, "e3")
        broker.restart()  # what it remembers of the newest batches is gone: it looks in index and headers
        experiments.warm_up(broker.bootstrap, "e3-warm")
        side = side_of(broker)
        read = experiments.large_read(
            broker.bootstrap, topic_id, side.log_file("e3"), side, strace_output=tmp_path / "strace"
        )
    assert read.slice_bytes > 48_000_000
    assert read.sent.zero_copy == read.slice_bytes
    assert read.sent.staged == 0
    assert abs(read.counted.read_bytes - read.counted.written_bytes) < OWN_READS_BYTES_MAX
    if read.traced:
        assert read.traced["sendfile"] == read.slice_bytes
        own_reads = sum(read.traced.get(call, 0) for call in ("pread64", "preadv", "preadv2"))
        assert 0 < own_reads < 4096, "the header of the batch that the offset lies in"


def test_e3_over_tls_all_is_read_and_encrypted(tmp_path: Path) -> None:
    with make_broker(tmp_path, {}) as broker:
        topic_id = experiments.fill(broker.bootstrap, "e3")
    certificates = Certificates(tmp_path / "certificates")
    overrides = {
        "listeners": "SSL://127.0.0.1:0",
        "fetch.mode": "zero_copy",
        **certificates.broker_overrides(),
    }
    with make_broker(tmp_path, overrides) as broker:
        tls = certificates.client_context()
        experiments.warm_up(broker.bootstrap, "e3-warm", tls)
        side = side_of(broker)
        read = experiments.large_read(
            broker.bootstrap, topic_id, side.log_file("e3"), side, strace_output=tmp_path / "strace", tls=tls
        )
    assert read.sent.zero_copy == 0
    assert read.sent.staged == read.slice_bytes
    assert read.counted.read_bytes >= read.slice_bytes


def test_e3_read_through_the_process_is_told_apart(tmp_path: Path) -> None:
    """The counters see what they are to see: the same read with fetch.mode=heap fails the experiment."""
    with make_broker(tmp_path, {"fetch.mode": "heap"}) as broker:
        topic_id = experiments.fill(broker.bootstrap, "e3")
        side = side_of(broker)
        with pytest.raises(experiments.ExperimentError, match="the broker counted"):
            experiments.large_read(
                broker.bootstrap, topic_id, side.log_file("e3"), side, strace_output=tmp_path / "strace"
            )


def test_calls_of_several_threads_are_told_apart() -> None:
    lines = [
        '10 pread64(9</data/t-0/0.log>, ""..., 61, 0) = 61',
        "10 sendfile(7<TCP:[1->2]>, 9</data/t-0/0.log>, [0] => [100], 400) = 100",
        "10 sendfile(7<TCP:[1->2]>, 9</data/t-0/0.log>, [100] <unfinished ...>",
        "11 sendfile(8</dev/null>, 9</data/t-0/0.log>, [0] <unfinished ...>",
        "10 <... sendfile resumed> => [150], 300) = 50",
        "11 <... sendfile resumed> => [4096], 4096) = 4096",
        "10 sendfile(7<TCP:[1->2]>, 9</data/t-0/0.log>, [150], 250) = -1 EAGAIN (Try again)",
        "10 +++ exited with 0 +++",
    ]
    assert count_calls(lines) == {"pread64": 61, "sendfile": 150}

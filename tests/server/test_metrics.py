"""Metrics and health as Prometheus sees them: a broker's process, its child, HTTP."""

import contextlib
import json
import os
import signal
import socket
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from prometheus_client.openmetrics.parser import text_string_to_metric_families as open_metrics
from prometheus_client.parser import text_string_to_metric_families

from barnabas.net.local_client import CommandError, NoBrokerError, ask, socket_path
from barnabas.protocol import messages
from tests.broker import BarnabasBroker
from tests.oracle.kafka import free_ports
from tests.server.asking import Asking
from tests.waiting import wait_until

pytestmark = pytest.mark.xdist_group("metrics")

DEADLINE_S = 30


class Served:
    """A broker's process with metrics."""

    def __init__(self, broker: BarnabasBroker, port: int) -> None:
        self.broker = broker
        self.address = ("127.0.0.1", port)
        self.url = f"http://127.0.0.1:{port}"

    @property
    def child(self) -> int:
        """The process id of the metrics process; 0 while there is none."""
        text = Path(f"/proc/{self.broker.pid}/task/{self.broker.pid}/children").read_text()
        return int((text.split() or ["0"])[0])

    def get(self, path: str, accept: str = "") -> tuple[int, str]:
        request = urllib.request.Request(f"{self.url}{path}", headers={"Accept": accept} if accept else {})
        try:
            with urllib.request.urlopen(request, timeout=DEADLINE_S) as answer:
                return answer.status, answer.read().decode()
        except urllib.error.HTTPError as error:
            return error.code, error.read().decode()

    def samples(self) -> dict[tuple[str, ...], float]:
        """Return all samples by name and label values, in the order of the labels' names."""
        status, text = self.get("/metrics")
        assert status == 200, text
        return {
            (sample.name, *(sample.labels[name] for name in sorted(sample.labels))): sample.value
            for family in text_string_to_metric_families(text)
            for sample in family.samples
        }


def exists(pid: int) -> bool:
    """Whether a process runs; one that only waits for its parent's word does not."""
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except (FileNotFoundError, ProcessLookupError):
        return False
    return state != "Z"


@contextlib.contextmanager
def serving(directory: Path) -> Iterator[Served]:
    (port,) = free_ports(1)
    with BarnabasBroker(directory, overrides={"metrics.listener": f"127.0.0.1:{port}"}) as broker:
        yield Served(broker, port)


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    with serving(tmp_path_factory.mktemp("metrics")) as found:
        yield found


@pytest.fixture
def asking(served: Served) -> Iterator[Asking]:
    with contextlib.closing(Asking(served.broker.port)) as made:
        yield made


def fetch(topic: str, max_wait_ms: int) -> messages.FetchRequest:
    asked = messages.FetchRequestFetchPartition(partition=0, fetch_offset=0, partition_max_bytes=1000)
    return messages.FetchRequest(
        max_wait_ms=max_wait_ms,
        min_bytes=1,
        max_bytes=1000,
        topics=[messages.FetchRequestFetchTopic(topic=topic, partitions=[asked])],
    )


def test_f32_parked_fetches_are_gauged_exactly(served, asking):
    asking.create("parked")
    purgatory = "kafka_server_delayedoperationpurgatory"
    waiting, size = (f"{purgatory}_numdelayedoperations", "Fetch"), (f"{purgatory}_purgatorysize", "Fetch")
    assert served.samples()[waiting] == 0
    parked = [Asking(served.broker.port) for _ in range(7)]
    for client in parked:
        client.send(fetch("parked", 600_000), 11)
    wait_until(lambda: served.samples()[waiting] == 7, "seven wait")
    assert served.samples()[size] == 7
    parked[0].close()
    wait_until(lambda: served.samples()[waiting] == 6, "six wait")
    assert served.samples()[size] == 6
    asking.produce("parked", [b"x"])
    wait_until(lambda: served.samples()[waiting] == 0, "nobody waits")
    for client in parked[1:]:
        assert client.receive(messages.FetchRequest, 11).responses[0].partitions[0].high_watermark == 1
        client.close()
    told = served.samples()
    assert told[size] == 0
    assert told["barnabas_fetch_answers_total", "CASE_G_ENOUGH_BYTES"] == 6
    assert told["barnabas_delayed_operations_cancelled_total", "Fetch"] == 1


def test_what_was_written_and_read_is_counted_by_topic(served, asking):
    asking.create("counted")
    before = served.samples()
    assert asking.produce("counted", [b"one", b"two"]) == 0
    asking.ask(fetch("counted", 0), 11)
    told = served.samples()
    prefix = "kafka_server_brokertopicmetrics"
    assert told[f"{prefix}_messagesin_total", "counted"] == 2
    written = told[f"{prefix}_bytesin_total", "counted"]
    assert written == told["kafka_log_log_size", "0", "counted"] > 60
    assert told[f"{prefix}_bytesout_total", "counted"] == written
    assert told["kafka_log_log_logendoffset", "0", "counted"] == 2
    total = (f"{prefix}_messagesin_total",)
    assert told[total] == before[total] + 2
    asking.delete("counted")
    after = served.samples()
    assert (f"{prefix}_messagesin_total", "counted") not in after
    assert after[total] == told[total]


def test_times_of_requests_are_told_by_api(served, asking):
    asking.create("timed")
    asking.ask(fetch("timed", 300), 11)
    told = served.samples()
    prefix = "kafka_network_requestmetrics"
    assert told[f"{prefix}_requests_total", "Fetch", "11"] >= 1
    assert (
        told[f"{prefix}_requests_total", "FetchConsumer", "11"]
        == told[f"{prefix}_requests_total", "Fetch", "11"]
    )
    assert told[f"{prefix}_remotetimems_sum", "Fetch"] >= 290
    assert told[f"{prefix}_totaltimems_count", "Fetch"] == told[f"{prefix}_remotetimems_count", "Fetch"]
    assert told[f"{prefix}_totaltimems", "0.999", "Fetch"] >= told[f"{prefix}_localtimems", "0.50", "Fetch"]


def test_other_gauges_fit_the_broker(served, asking):
    told = served.samples()
    assert told["kafka_server_kafkaserver_brokerstate",] == 3
    assert told["kafka_controller_kafkacontroller_activecontrollercount",] == 1
    assert (
        told["kafka_server_replicamanager_leadercount",]
        == told["kafka_server_replicamanager_partitioncount",]
    )
    assert told["kafka_server_socket_server_metrics_connection_count", "PLAINTEXT", "0"] >= 1
    assert told["process_resident_memory_bytes",] > 1_000_000


def test_open_metrics_are_served_to_who_asks_for_them(served):
    status, text = served.get("/metrics", "application/openmetrics-text; version=1.0.0")
    assert status == 200
    assert text.endswith("# EOF\n")
    assert any(family.name == "kafka_log_log_size" for family in open_metrics(text))


def test_health(served):
    assert served.get("/health") == (200, '{"status":"up"}')
    assert served.get("/health/live")[0] == 200
    status, text = served.get("/health/ready")
    assert (status, json.loads(text)["status"]) == (200, "ready")
    assert served.get("/nothing")[0] == 404


@pytest.mark.parametrize(
    "sent",
    [
        b"\x00" * 100,
        b"GET / HTTP/9\r\n\r\n",
        b"GET /metrics HTTP/1.1\r\nA: " + b"x" * 100_000,
        os.urandom(2_000),
    ],
    ids=["zeros", "version", "header", "random"],
)
def test_hostile_http_leaves_the_others_alone(served, sent):
    with socket.create_connection(served.address, timeout=DEADLINE_S) as peer:
        with contextlib.suppress(OSError):
            peer.sendall(sent)
        assert served.get("/health")[0] == 200


@pytest.mark.parametrize(
    "sent", [b"\x7f\xff\xff\xff", b"\xff" * 64, b"\x00\x00\x00\x04nope", b"\x00\x01\x00\x01"]
)
def test_hostile_bytes_on_the_local_socket_leave_the_broker_alone(served, sent):
    path = socket_path(str(served.broker.data_dir))
    with socket.socket(socket.AF_UNIX) as peer:
        peer.settimeout(DEADLINE_S)
        peer.connect(path)
        peer.sendall(sent)
        assert peer.recv(100) == b"", "the connection is closed"
    assert ask(path, "health")["ready"]


def test_the_local_socket_is_the_owners_alone_and_goes_with_the_broker(tmp_path):
    with BarnabasBroker(tmp_path) as broker:
        path = socket_path(str(broker.data_dir))
        assert os.stat(path).st_mode & 0o777 == 0o600
        with pytest.raises(CommandError, match="there is no command"):
            ask(path, "nope")
        broker.kill()
        with pytest.raises(NoBrokerError, match="no broker runs"):
            ask(path, "health")
        broker.start()
        assert ask(path, "health")["ready"]
    assert not os.path.exists(path)
    with pytest.raises(NoBrokerError, match="no broker runs"):
        ask(path, "health")


def test_who_asks_in_a_crowd_waits_for_its_turn(served):
    path = socket_path(str(served.broker.data_dir))
    with contextlib.ExitStack() as crowd:
        with contextlib.suppress(BlockingIOError):
            while True:
                peer = crowd.enter_context(socket.socket(socket.AF_UNIX))
                peer.setblocking(False)
                peer.connect(path)
        with pytest.raises(NoBrokerError, match="no answer within"):
            ask(path, "health", timeout_s=0.1)
        with ThreadPoolExecutor(1) as other:
            asked = other.submit(ask, path, "health", timeout_s=DEADLINE_S)
            time.sleep(0.1)
            crowd.close()
            assert asked.result()["ready"]


def test_a_data_directory_may_lie_deep(tmp_path):
    deep = tmp_path / ("d" * 100) / "data"
    with BarnabasBroker(tmp_path / "broker", data_dir=deep) as broker:
        assert len(socket_path(str(broker.data_dir))) > 107
        assert ask(socket_path(str(broker.data_dir)), "health")["ready"]


def test_the_process_is_started_again_and_goes_with_the_broker(tmp_path):
    with serving(tmp_path) as served:
        assert served.get("/health")[0] == 200
        first = served.child
        os.kill(first, signal.SIGKILL)
        wait_until(lambda: served.child not in (0, first), "another process")
        second = served.child
        assert served.get("/health")[0] == 200
        served.broker.kill()
        wait_until(lambda: not exists(second), "its process is gone")
        served.broker.start()
        assert served.get("/health")[0] == 200
        third = served.child
        served.broker.stop()
        assert not exists(third)


def test_an_interrupt_at_the_terminal_is_the_brokers_to_act_on(served):
    assert served.get("/health")[0] == 200
    assert os.getpgid(served.child) != os.getpgid(served.broker.pid)


def test_a_port_that_is_taken_is_one_clear_line(tmp_path):
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        address = f"127.0.0.1:{taken.getsockname()[1]}"
        with pytest.raises(AssertionError, match=f"cannot bind {address}: another process listens there"):
            BarnabasBroker(tmp_path, overrides={"metrics.listener": address}).start()


def test_the_request_log_is_switched_on_and_off_like_any_logger(tmp_path):
    with BarnabasBroker(tmp_path) as broker, contextlib.closing(Asking(broker.port)) as asking:
        for level, expected in (("DEBUG", True), ("INFO", False)):
            asking.set_logger("kafka.request.logger", level)
            marked = messages.MetadataRequest(
                topics=[messages.MetadataRequestMetadataRequestTopic(name=level)]
            )
            asking.ask(marked, 4)
            asking.ask(marked, 4)
            assert (f'"name":"{level}"' in broker.log_path.read_text()) is expected

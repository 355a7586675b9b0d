"""`barnabas explain fetch` against what a real Fetch gets: a running broker, its files, what a crash left."""

import hashlib
import json
import os
import random
import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from confluent_kafka import Producer

from barnabas.cli.root import root
from barnabas.handlers.fetch_question import FetchQuestion
from barnabas.net.local_client import CommandError, ask, socket_path
from barnabas.protocol import messages
from tests.broker import BarnabasBroker
from tests.explained import (
    TOPIC,
    arguments,
    check,
    end_of,
    fetch,
    from_directory,
    produce_orders,
    random_question,
    topic_id_of,
)
from tools.fetch_client import FetchClient, batch_of

pytestmark = pytest.mark.xdist_group("explain")

ROOT = Path(__file__).resolve().parents[2]
DOCUMENTED_DIR = "/var/lib/barnabas"
SITUATIONS = 120


@pytest.fixture(scope="module")
def broker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[BarnabasBroker]:
    with BarnabasBroker(tmp_path_factory.mktemp("explain")) as started:
        with FetchClient(started.bootstrap, "setup") as client:
            produce_orders(client, 90)
        yield started


@pytest.fixture
def client(broker: BarnabasBroker) -> Iterator[FetchClient]:
    with FetchClient(broker.bootstrap, "test") as connected:
        yield connected


def fingerprint(directory: Path) -> dict[str, tuple[str, int]]:
    return {
        str(path): (hashlib.sha256(path.read_bytes()).hexdigest(), path.stat().st_mtime_ns)
        for path in directory.rglob("*")
        if path.is_file()
    }


@contextmanager
def frozen(broker: BarnabasBroker) -> Iterator[None]:
    """Hold a broker's process still: what changes in its files meanwhile is not its doing."""
    os.kill(broker.pid, signal.SIGSTOP)
    try:
        yield
    finally:
        os.kill(broker.pid, signal.SIGCONT)


def test_a_running_broker_explains_what_it_answers(broker: BarnabasBroker, client: FetchClient) -> None:
    topic_id = topic_id_of(client)
    end = end_of(client, topic_id)
    rng = random.Random(7)
    for _ in range(SITUATIONS):
        question = random_question(rng, end)
        explained = ask(socket_path(str(broker.data_dir)), "explain", {"fetch": arguments(question)})
        check(explained, fetch(client, topic_id, question), question)


def test_the_files_of_a_running_broker_explain_it_too(broker: BarnabasBroker, client: FetchClient) -> None:
    topic_id = topic_id_of(client)
    end = end_of(client, topic_id)
    rng = random.Random(8)
    questions = [random_question(rng, end) for _ in range(40)]
    answers = [fetch(client, topic_id, question) for question in questions]
    with frozen(broker):
        before = fingerprint(broker.data_dir)
        for question, answer in zip(questions, answers, strict=True):
            check(from_directory(broker.data_dir, question), answer, question)
        assert fingerprint(broker.data_dir) == before


def test_f37_a_session_that_goes_on_is_told_whether_there_is_news(
    broker: BarnabasBroker, client: FetchClient
) -> None:
    topic_id = topic_id_of(client)
    end = end_of(client, topic_id)
    path = socket_path(str(broker.data_dir))
    opened = fetch(
        client, topic_id, FetchQuestion(topic=TOPIC, partition=0, offset=end, max_wait_ms=0, session=(0, 0))
    )
    assert opened.session_id
    nothing = FetchQuestion(
        topic=TOPIC, partition=0, offset=end, max_wait_ms=0, session=(opened.session_id, 1)
    )
    for _ in range(2):  # to look changes nothing
        explained = ask(path, "explain", {"fetch": arguments(nothing)})
        assert explained["answer"]["in_response"] is False
    assert fetch(client, topic_id, nothing).responses == []
    records = FetchQuestion(topic=TOPIC, partition=0, offset=0, max_wait_ms=0, session=(opened.session_id, 2))
    explained = ask(path, "explain", {"fetch": arguments(records)})
    assert explained["answer"]["in_response"] is True
    check(explained, fetch(client, topic_id, records), records)
    stale = FetchQuestion(topic=TOPIC, partition=0, offset=0, session=(opened.session_id, 2))
    explained = ask(path, "explain", {"fetch": arguments(stale)})
    assert explained["answer"]["error"] == "INVALID_FETCH_SESSION_EPOCH"
    assert fetch(client, topic_id, stale).error_code == explained["answer"]["error_code"]


def test_looking_leaves_no_trace_in_the_broker(broker: BarnabasBroker, client: FetchClient) -> None:
    end = end_of(client, topic_id_of(client))
    path = socket_path(str(broker.data_dir))

    def figures() -> dict[str, Any]:
        found = ask(path, "statistics")
        return {key: found[key] for key in ("waiting", "fetch_sessions", "partitions")}

    before = figures()
    waits = FetchQuestion(topic=TOPIC, partition=0, offset=end, min_bytes=1 << 20, max_wait_ms=60_000)
    explained = ask(path, "explain", {"fetch": arguments(waits)})
    assert explained["answer"]["answer"] == "park"
    assert figures() == before


@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        ({"fetch": {"topic": TOPIC}}, "missing"),
        ({"fetch": {"topic": TOPIC, "partition": 0, "offset": "1"}}, "offset is not of type int"),
        ({"fetch": {"topic": TOPIC, "partition": 0, "offset": 2**70}}, "64 bits"),
        ({"fetch": {"topic": TOPIC, "partition": 0, "offset": 1, "version": 99}}, "versions 4 to 18"),
        ({"fetch": {"topic": TOPIC, "partition": 0, "offset": 1, "colour": 1}}, "colour"),
        ({"fetch": {"topic": TOPIC, "partition": 0, "offset": 1, "session": [1]}}, "id and epoch"),
        ({"fetch": {"topic": TOPIC, "partition": 0, "offset": 1, "version": 4, "session": [1, 1]}}, "since"),
        ({"topic": TOPIC}, "under `fetch`"),
    ],
)  # fmt: skip
def test_what_no_fetch_could_ask_is_refused(
    broker: BarnabasBroker, wrong: dict[str, Any], words: str
) -> None:
    with pytest.raises(CommandError, match=re.escape(words)):
        ask(socket_path(str(broker.data_dir)), "explain", wrong)


def run(*line: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "barnabas", "explain", "fetch", *line]
    return subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)


def test_after_a_crash_the_files_explain_what_the_next_start_serves(tmp_path: Path) -> None:
    crashed = BarnabasBroker(tmp_path)
    crashed.start()
    with FetchClient(crashed.bootstrap, "setup") as client:
        topic_id = produce_orders(client, 40)
        end = end_of(client, topic_id)
    crashed.kill()
    segment = max((crashed.data_dir / f"{TOPIC}-0").glob("*.log"))
    with segment.open("ab") as file:
        file.write(b"\0\0\0\0\0\0\0\x07half a batch")  # a write that the crash tore
    before = fingerprint(crashed.data_dir)
    rng = random.Random(9)
    questions = [random_question(rng, end) for _ in range(25)]
    # What is told of epochs differs: the start after a crash raises the leader's.
    questions = [q for q in questions if q.leader_epoch < 0 and q.last_fetched_epoch < 0]
    explained = [from_directory(crashed.data_dir, question) for question in questions]
    line = ("orders", "0", "3", "--data-dir", str(crashed.data_dir), "--output", "json")
    looked = run(*line)
    assert looked.returncode == 0, looked.stderr
    document = json.loads(looked.stdout)
    assert any("left by a crash" in note for note in document["notes"])
    assert any("cut off" in note for note in document["notes"])
    assert fingerprint(crashed.data_dir) == before
    with crashed, FetchClient(crashed.bootstrap, "after") as client:
        for question, told in zip(questions, explained, strict=True):
            check(told, fetch(client, topic_id, question), question)


def test_f5_files_tell_which_transaction_holds_back_readers_of_committed_records(tmp_path: Path) -> None:
    with BarnabasBroker(tmp_path) as stopped:
        with FetchClient(stopped.bootstrap, "setup") as client:
            produce_orders(client, 3)
            end = end_of(client, topic_id_of(client))
        producer = Producer(
            {"bootstrap.servers": stopped.bootstrap, "transactional.id": "undecided", "log_level": 0}
        )
        producer.init_transactions(30)
        producer.begin_transaction()
        producer.produce(TOPIC, value=b"v", partition=0)
        producer.flush(30)
        # A stop in good order leaves it open; the producer's process would end it later.
        stopped.stop()
    line = (TOPIC, "0", str(end), "--data-dir", str(stopped.data_dir), "--output", "json")
    looked = run(*line, "--isolation", "read_committed")
    assert looked.returncode == 0, looked.stderr
    document = json.loads(looked.stdout)
    (step,) = [step for step in document["steps"] if step["step"] == "transaction"]
    assert step["facts"]["first_offset"] == end
    assert step["facts"]["producer_id"] >= 0
    assert "transactional_id" not in step["facts"], "no coordinator runs that would know"
    assert document["answer"]["last_stable_offset"] == end
    uncommitted = json.loads(run(*line).stdout)
    assert "transaction" not in [step["step"] for step in uncommitted["steps"]]


def test_the_command_asks_the_broker_at_an_address(broker: BarnabasBroker) -> None:
    found = run(TOPIC, "0", "3", "-b", broker.bootstrap, "--output", "json")
    assert found.returncode == 0, found.stderr
    document = json.loads(found.stdout)
    assert document["source"] == {"kind": "broker", "path": str(broker.data_dir)}
    assert document["answer"]["records"]["length"] > 0


def test_the_sessions_of_a_running_broker_are_listed(broker: BarnabasBroker) -> None:
    with FetchClient(broker.bootstrap, "keeps a session") as client:
        request = messages.FetchRequest(
            max_wait_ms=0, min_bytes=0, max_bytes=1000, session_id=0, session_epoch=0
        )
        part = messages.FetchRequestFetchPartition(partition=0, fetch_offset=0, partition_max_bytes=100)
        request.topics = [messages.FetchRequestFetchTopic(topic_id=topic_id_of(client), partitions=[part])]
        opened = client.ask(request, 13).session_id
        assert opened != 0
        line = ["explain", "sessions", "-b", broker.bootstrap]
        found = CliRunner().invoke(root, [*line, "--output", "json"])
        assert found.exit_code == 0, found.output
        (told,) = [one for one in json.loads(found.output) if one["id"] == opened]
        assert (told["epoch"], told["size"], told["client_id"]) == (1, 1, "keeps a session")
        table = CliRunner().invoke(root, line)
        assert table.exit_code == 0, table.output
        assert f"{opened}" in table.output
        assert "keeps a session" in table.output


def test_without_a_word_the_broker_of_the_users_data_directory_is_asked(
    broker: BarnabasBroker, tmp_path: Path
) -> None:
    (tmp_path / "barnabas").symlink_to(broker.data_dir)
    line = ["explain", "fetch", TOPIC, "0", "3", "--output", "json"]
    found = CliRunner().invoke(root, line, env={"XDG_DATA_HOME": str(tmp_path)})
    assert found.exit_code == 0, found.output
    assert json.loads(found.output)["source"] == {"kind": "broker", "path": str(tmp_path / "barnabas")}


@pytest.mark.parametrize(
    ("line", "status", "words"),
    [
        ((TOPIC, "0", "1", "-b", "127.0.0.1:1"), 1, "--data-dir DIR explains from the files"),
        ((TOPIC, "0", "1", "--data-dir", "/proc"), 1, "holds no metadata log"),
        ((TOPIC, "0", "1", "--data-dir", "/nowhere/at/all"), 1, "is no directory"),
        ((TOPIC, "0", "1", "--data-dir", "x", "-b", "localhost"), 2, "give one of them"),
        ((TOPIC, "0", "1", "--config", "x"), 2, "--config goes with --data-dir"),
        ((TOPIC, "0", "1", "--session", "7"), 2, "is not ID:EPOCH"),
        ((TOPIC, "0", "1", "--version", "8", "--leader-epoch", "1", "--data-dir", "."), 2, "since version 9"),
    ],
)  # fmt: skip
def test_what_goes_wrong_is_one_clear_line(line: tuple[str, ...], status: int, words: str) -> None:
    found = CliRunner().invoke(root, ["explain", "fetch", *line])
    assert found.exit_code == status
    assert words in found.output
    assert "Traceback" not in found.output


def documented() -> list[tuple[list[str], str]]:
    """Return the commands of docs/explain.md and what it says that they print."""
    page = (ROOT / "docs" / "explain.md").read_text()
    blocks = re.findall(r"```text\n\$ barnabas explain fetch (.*)\n((?:.*\n)*?)```", page)
    return [(line.split(), printed) for line, printed in blocks]


def test_the_documented_transcripts_are_true(tmp_path: Path) -> None:
    with BarnabasBroker(tmp_path) as broker:
        with FetchClient(broker.bootstrap, "setup") as client:
            client.create_topic(TOPIC, {"internal.segment.bytes": "65536"})
            for _ in range(40):
                client.produce(TOPIC, batch_of(10, 200))
        broker.stop()
        data_dir = str(broker.data_dir)
        shown = []
        for line, _ in documented():
            real = [data_dir if word == DOCUMENTED_DIR else word for word in line]
            found = run(*real)
            assert found.returncode == 0, found.stderr
            text = found.stdout.replace(data_dir, DOCUMENTED_DIR)
            shown.append((line, re.sub(r"topic id \S{22}", "topic id 3kP0nSQ2TJqXvB1tZr5yUg", text)))
        assert len(shown) == 3
        assert shown == documented()

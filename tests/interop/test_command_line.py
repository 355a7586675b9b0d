"""The commands against a running broker, as a user runs them."""

import json
import subprocess
import sys
import uuid
from pathlib import Path

import pytest

from tests.broker import BarnabasBroker
from tests.interop.command_line import Run

pytestmark = pytest.mark.interop


@pytest.fixture
def topic(run: Run) -> str:
    name = f"commands-{uuid.uuid4().hex[:8]}"
    run("topics", "create", name, "--partitions", "3")
    return name


def test_topics_from_creation_to_deletion(run: Run, topic: str) -> None:
    assert topic in run("topics", "list").stdout.decode().split()
    again = run("topics", "create", topic, code=1)
    assert again.stderr.decode().startswith(f"barnabas: topic {topic}: TOPIC_ALREADY_EXISTS")
    run("topics", "create", topic, "--if-not-exists")
    described = json.loads(run("topics", "describe", topic, "-o", "json").stdout)[0]
    assert [partition["end_offset"] for partition in described["partitions"]] == [0, 0, 0]
    run("topics", "delete", topic)
    assert run("topics", "describe", topic, code=1).stderr.decode() == (
        f"barnabas: topic {topic}: UNKNOWN_TOPIC_OR_PARTITION "
        "(there is no such topic or partition; see `barnabas topics list`)\n"
    )
    run("topics", "delete", topic, "--if-exists")


def test_topics_grow(run: Run, topic: str) -> None:
    checked = run("topics", "alter", topic, "--partitions", "5", "--validate-only").stdout.decode()
    assert checked == f"{topic} could be given 5 partitions\n"
    assert run("topics", "alter", topic, "-p", "5").stdout.decode() == f"{topic} has 5 partitions\n"
    described = json.loads(run("topics", "describe", topic, "-o", "json").stdout)[0]
    assert [partition["partition"] for partition in described["partitions"]] == [0, 1, 2, 3, 4]
    assert b"INVALID_PARTITIONS" in run("topics", "alter", topic, "-p", "5", code=1).stderr
    assert b"UNKNOWN_TOPIC_OR_PARTITION" in run("topics", "alter", "nobody", "-p", "5", code=1).stderr


def _configs(run: Run, *arguments: str) -> dict[str, dict[str, object]]:
    (told,) = json.loads(run("configs", "describe", *arguments, "-o", "json").stdout)
    return {config["name"]: config for config in told["configs"]}


def test_configs_of_a_topic(run: Run, topic: str) -> None:
    assert _configs(run, "topics", topic) == {}
    run(
        "configs",
        "alter",
        "topics",
        topic,
        "--set",
        "retention.ms=5000",
        "--append",
        "cleanup.policy=compact",
    )
    found = _configs(run, "topics", topic)
    assert {name: (config["value"], config["source"]) for name, config in found.items()} == {
        "cleanup.policy": ("delete,compact", "topic"),
        "retention.ms": ("5000", "topic"),
    }
    described = json.loads(run("topics", "describe", topic, "-o", "json").stdout)[0]
    assert described["configs"] == {"cleanup.policy": "delete,compact", "retention.ms": "5000"}
    run(
        "configs", "alter", "topics", topic, "--delete", "retention.ms", "--subtract", "cleanup.policy=delete"
    )
    assert {name: config["value"] for name, config in _configs(run, "topics", topic).items()} == {
        "cleanup.policy": "compact"
    }
    every = _configs(run, "topics", topic, "--all")
    assert every["retention.ms"]["source"] == "default"
    one = _configs(run, "topics", topic, "-k", "segment.bytes", "--documentation")
    assert list(one) == ["segment.bytes"]
    assert (one["segment.bytes"]["type"], one["segment.bytes"]["value"]) == ("int", "1073741824")
    assert one["segment.bytes"]["documentation"]


def test_configs_that_do_not_fit_change_nothing(run: Run, topic: str) -> None:
    wrong = run("configs", "alter", "topics", topic, "--set", "retention.ms=1", "--set", "x=y", code=1)
    assert b"INVALID_CONFIG" in wrong.stderr
    run("configs", "alter", "topics", topic, "--set", "retention.ms=1", "--validate-only")
    assert _configs(run, "topics", topic) == {}
    assert b"UNKNOWN_TOPIC_OR_PARTITION" in run("configs", "describe", "topics", "nobody", code=1).stderr
    assert b"there is no broker 77" in run("configs", "describe", "brokers", "77", code=1).stderr


def test_configs_of_brokers_and_where_they_come_from(run: Run) -> None:
    run("configs", "alter", "brokers", "--default", "--set", "log.cleaner.backoff.ms=15001")
    run("configs", "alter", "brokers", "1", "--set", "log.cleaner.backoff.ms=15002")
    every = _configs(run, "brokers", "1", "--all")
    changed = every["log.cleaner.backoff.ms"]
    assert (changed["value"], changed["source"], changed["read_only"]) == ("15002", "broker", False)
    synonyms = changed["synonyms"]
    assert isinstance(synonyms, list)
    assert [synonym["source"] for synonym in synonyms] == ["broker", "all brokers", "default"]
    assert (every["node.id"]["source"], every["node.id"]["read_only"]) == ("static", True)
    run("configs", "alter", "brokers", "1", "--delete", "log.cleaner.backoff.ms")
    assert _configs(run, "brokers", "1")["log.cleaner.backoff.ms"]["source"] == "all brokers"
    run("configs", "alter", "brokers", "--default", "--delete", "log.cleaner.backoff.ms")
    assert "log.cleaner.backoff.ms" not in _configs(run, "brokers", "--default")


def test_configs_of_groups_and_what_is_listed(run: Run, topic: str) -> None:
    group = f"group-{topic}"
    run("configs", "alter", "groups", group, "--set", "consumer.session.timeout.ms=50000")
    assert _configs(run, "groups", group)["consumer.session.timeout.ms"]["source"] == "group"
    listed = json.loads(run("configs", "list", "-o", "json").stdout)
    for kind, name in (("topics", topic), ("brokers", "1"), ("groups", group)):
        assert {"type": kind, "name": name} in listed
    run("configs", "alter", "groups", group, "--delete", "consumer.session.timeout.ms")


@pytest.mark.parametrize("codec", ["none", "gzip", "snappy", "lz4", "zstd"])
def test_lines_come_back_in_order_for_each_key(run: Run, topic: str, codec: str) -> None:
    lines = [b"key%d:line %d \xff" % (number % 7, number) for number in range(5000)]
    run("produce", topic, "-k", ":", "-z", codec, stdin=b"\n".join(lines))
    out = run(
        "consume", topic, "--from-beginning", "--exit-at-end", "-f", r"{key}:{value}\n"
    ).stdout.splitlines()
    assert sorted(out) == sorted(lines)
    for key in {line.split(b":")[0] for line in lines}:
        assert [line for line in out if line.startswith(key)] == [
            line for line in lines if line.startswith(key)
        ]


def test_json_lines_carry_everything_from_topic_to_topic(run: Run, topic: str) -> None:
    records = [
        {"key": None, "value": None, "headers": [], "timestamp_ms": 1_700_000_000_000},
        {
            "key": "k",
            "value": {"base64": "AP8="},
            "headers": [["a", "1"], ["a", None]],
            "timestamp_ms": 1_600_000_000_000,
        },
        {
            "key": "",
            "value": "",
            "headers": [["Grüße", {"base64": "/w=="}]],
            "timestamp_ms": 1_700_000_000_001,
        },
    ]
    stdin = b"".join(json.dumps(record).encode() + b"\n" for record in records)
    run("produce", topic, "--input", "json", "-p", "1", stdin=stdin)
    first = run("consume", topic, "-p", "1", "--offset", "earliest", "--exit-at-end", "-o", "json").stdout
    run("produce", topic, "--input", "json", "-p", "2", stdin=first)
    second = run("consume", topic, "-p", "2", "--from-beginning", "--exit-at-end", "-o", "json").stdout
    for output in (first, second):
        found = [json.loads(line) for line in output.splitlines()]
        assert [{name: record[name] for name in records[0]} for record in found] == records


def test_where_to_start_and_when_to_stop(run: Run, topic: str) -> None:
    stdin = b"".join(
        b'{"value": "%d", "timestamp_ms": %d}\n' % (number, 1000 + number) for number in range(20)
    )
    run("produce", topic, "--input", "json", "-p", "0", stdin=stdin)

    def values(*options: str) -> list[int]:
        return list(map(int, run("consume", topic, "-p", "0", "--exit-at-end", *options).stdout.split()))

    assert values("--offset", "17") == [17, 18, 19]
    assert values("--offset", "-2") == [18, 19]
    assert values("--from-time", "1015") == [15, 16, 17, 18, 19]
    assert values("--from-beginning", "-n", "2") == [0, 1]
    assert values() == []
    assert (
        b"holds offsets 0 to 20, not 99" in run("consume", topic, "-p", "0", "--offset", "99", code=1).stderr
    )


@pytest.mark.parametrize("acks", ["0", "1", "all"])
def test_acks(run: Run, topic: str, acks: str) -> None:
    run("produce", topic, "--acks", acks, "-p", "0", stdin=b"a\nb\n")
    out = run("consume", topic, "-p", "0", "--from-beginning", "-n", "2", "--idle-exit", "20").stdout
    assert out == b"a\nb\n"


def test_a_bad_line_is_named_and_what_came_before_is_kept(run: Run, topic: str) -> None:
    failed = run("produce", topic, "-k", "=", "-p", "0", stdin=b"a=1\nb=2\nno key\n", code=1)
    assert b"barnabas: record 3: no key separator '='" in failed.stderr
    assert run("consume", topic, "--from-beginning", "--exit-at-end").stdout == b"1\n2\n"


def test_commands_outlive_a_restart_of_the_broker(tmp_path: Path) -> None:
    with BarnabasBroker(tmp_path) as broker:
        at = ("--bootstrap-server", broker.bootstrap)
        command = [sys.executable, "-m", "barnabas"]
        subprocess.run([*command, "topics", "create", "t", *at], check=True, timeout=60)
        consumer = subprocess.Popen(
            [*command, "consume", "t", "--from-beginning", "-n", "4", *at], stdout=subprocess.PIPE
        )
        producer = subprocess.Popen([*command, "produce", "t", *at], stdin=subprocess.PIPE)
        assert producer.stdin is not None
        assert consumer.stdout is not None
        producer.stdin.write(b"1\n2\n")
        producer.stdin.flush()
        assert [consumer.stdout.readline(), consumer.stdout.readline()] == [b"1\n", b"2\n"]
        broker.restart()
        producer.communicate(b"3\n4\n", timeout=60)
        assert consumer.communicate(timeout=60)[0] == b"3\n4\n"
        assert (producer.returncode, consumer.returncode) == (0, 0)

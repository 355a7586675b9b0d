"""Write docs/compatibility.md from a run of the interop suite.

    python tools/write_compatibility.py [RESULTS...]

RESULTS are JUnit files of such a run (`pytest tests/interop --junitxml=RESULTS`; what concerns groups with
--slow); without any the suite is run first. Only what passed is written down; a test that failed or was
skipped stops the writing, because a table with holes would look like a table of what is not supported.
"""

import importlib
import importlib.metadata
import json
import re
import shutil
import subprocess
import sys
import tempfile
import textwrap
from collections.abc import Sequence
from pathlib import Path
from xml.etree import ElementTree

ROOT = Path(__file__).resolve().parent.parent
PAGE = ROOT / "docs" / "compatibility.md"
INTEROP = ROOT / "tests" / "interop"
SUITE = (
    "test_matrix.py",
    "test_kcat.py",
    "test_kafkajs.py",
    "test_administration.py",
    "test_kafka_tools.py",
    "test_log_directories.py",
    "test_web_consoles.py",
)
GROUP_SUITE = ("test_groups.py", "test_group_tools.py", "test_stream_processing.py")
"""Run with --slow: the other runs leave out most clients."""

CODECS = ("none", "gzip", "snappy", "lz4", "zstd")

_PARAMETERS = re.compile(r"(\w+)\[(.*)\]")

HEAD = """# Compatibility

What each client did with a broker of this repository in a run of the interop suite. Every field of every
record is compared with what was sent: partition, offset, timestamp, key, value and headers, null apart
from what is empty wherever the client itself keeps them apart; kcat carries text. Written by
`tools/write_compatibility.py` from the run's results; do not edit it.

"""

NOTES = """
*Written with* are the codecs it produced with, *read with* those it consumed; *read by* are the clients that
read what it wrote. *Offsets* are the first, the last and those by time, and reading on from the middle.
*Admin* is a topic created with a config, described, altered, grown and deleted by the client's own admin API
(@confluentinc/kafka-javascript has none for configs). Consumers were given their partitions, but for kafkajs'
and those of the next table.
"""

GROUPS_HEAD = """
## Consumer groups

What members of each client lived through, each in a process of its own:

| client | protocol | long life | handed over at once | static | first record within 1 s |
|---|---|---|---|---|---|
"""

GROUPS_NOTES = """
*Long life*: three members share 12 partitions, a fourth comes, one is killed, one sleeps beyond its session,
one (where the client notices) does not poll for too long, and the broker is killed and comes back. Every
record is delivered, no partition has two owners, nothing committed is lost. *Handed over at once*: a member
joins, another closes, and its partitions go to the others without waiting for a session. *Static*: a member
with a group.instance.id restarts and nothing moves. *First record*: of a new group, with the broker's
defaults.

Stream processors that counted words, were restarted and counted right: Kafka Streams (with a repartition and
a changelog topic, from which it restored its store), and one in Python on aiokafka.
"""

GROUP_TESTS = {
    "test_members_come_die_and_sleep_and_the_broker_is_killed": "long life",
    "test_a_member_joins_and_one_closes_and_its_partitions_go_to_the_others_at_once": "handed over",
    "test_a_static_member_restarts_without_a_rebalance": "static",
    "test_a_new_groups_first_record_is_there_within_a_second": "first record",
}
"""Test of test_groups.py -> column."""

TOOLS_HEAD = """
## Apache Kafka's own tools

Of kafka-tools 4.4, run against a broker of this repository:

| tool | what it did |
|---|---|
"""

CONSUMER_GROUPS = "kafka-consumer-groups"

TOOLS = {
    "test_topics_are_created_once": ("kafka-topics", "create"),
    "test_topics_are_described_and_listed": ("kafka-topics", "describe, list"),
    "test_topics_grow": ("kafka-topics", "alter"),
    "test_topics_are_deleted": ("kafka-topics", "delete"),
    "test_produced_records_are_consumed_from_a_partition": (
        "kafka-console-producer, kafka-console-consumer, kafka-get-offsets",
        "records with keys, read from a given partition",
    ),
    "test_topic_configs": ("kafka-configs", "topics"),
    "test_broker_configs": ("kafka-configs", "brokers, one and all"),
    "test_group_and_client_metrics_configs": ("kafka-configs, kafka-client-metrics", "groups, subscriptions"),
    "test_log_directories": ("kafka-log-dirs", "describe"),
    "test_kafkas_tools_move_a_partition_within_a_quota": (
        "kafka-log-dirs, kafka-reassign-partitions",
        "a partition moved between log directories, throttled; verify",
    ),
    "test_features": ("kafka-features", "describe, dry downgrade, refused upgrade"),
    "test_the_metadata_quorum": ("kafka-metadata-quorum", "status, replication"),
    "test_the_cluster": ("kafka-cluster", "id, endpoints"),
    "test_leaders_and_reassignments": (
        "kafka-leader-election, kafka-reassign-partitions",
        "preferred election, list",
    ),
    "test_records_are_deleted": ("kafka-delete-records", "to the end"),
    "test_the_verifiable_producer": ("kafka-verifiable-producer", "200 records, all acknowledged"),
    "test_an_empty_group_is_listed_and_described": (CONSUMER_GROUPS, "list, describe: empty groups"),
    "test_a_stable_group_is_described_with_its_members": (
        CONSUMER_GROUPS,
        "offsets, members, state, verbose",
    ),
    "test_a_group_that_waits_for_a_member_prepares_a_rebalance": (CONSUMER_GROUPS, "groups amid a rebalance"),
    "test_a_group_of_the_consumer_protocol": (CONSUMER_GROUPS, "groups of the consumer protocol"),
    "test_a_group_that_nobody_knows": (CONSUMER_GROUPS, "groups that are not there"),
    "test_offsets_are_reset": (
        CONSUMER_GROUPS,
        "reset-offsets, dry and executed: earliest, latest, current, offset, shift, duration, datetime",
    ),
    "test_one_partition_is_reset_and_offsets_travel_in_a_file": (CONSUMER_GROUPS, "export, from-file"),
    "test_offsets_and_groups_are_deleted": (CONSUMER_GROUPS, "delete, delete-offsets"),
    "test_offsets_of_a_subscribed_topic_stay": (CONSUMER_GROUPS, "refusals"),
    "test_all_kinds_of_groups_are_listed": ("kafka-groups", "list, by type and protocol"),
    "test_the_console_consumer_reads_on_where_its_group_was": (
        "kafka-console-consumer",
        "as a group's member, twice",
    ),
    "test_the_consumer_performance_test": ("kafka-consumer-perf-test", "all records, in a group"),
    "test_the_verifiable_consumer": ("kafka-verifiable-consumer", "assignment, records, commits"),
    "test_the_producer_performance_test": ("kafka-producer-perf-test", "20,000 records"),
}
"""Test of test_kafka_tools.py or test_group_tools.py -> the tools it runs, and what they do."""

CONSOLES_HEAD = """
## Web consoles

The calls with which AKHQ, Kafka UI, Kafdrop and Redpanda Console show a cluster, made by the Java client to
Apache Kafka 4.4 and to Barnabas; what they print was equal, line by line, for:

"""

FILES = """
## Files

Kafka's own tools judge the files as well: `tests/interop/test_takeover.py` and
`tests/interop/test_metadata_takeover.py` let Apache Kafka 4.4 run on a directory of ours and back, and
`tests/interop/test_group_takeover.py` on one with groups: both list the same groups with the same offsets.
How to run all this is in [testing.md](testing.md).
"""

_WITHOUT_IDEMPOTENCE = "kafka-go"
"""Has no idempotent producer; the suite has it send with acks=all instead."""


class Row:
    """What one client did."""

    def __init__(self) -> None:
        self.written: set[str] = set()
        self.read: set[str] = set()
        self.readers: set[str] = set()
        self.acks: set[str] = set()
        self.also: set[str] = set()


def versions() -> dict[str, str]:
    """Return each client's name in the suite -> what to call it, with its version."""
    go = (INTEROP / "go" / "go.mod").read_text()
    node = {
        name: version
        for package in (INTEROP / "node").glob("*.package.json")
        for name, version in json.loads(package.read_text())["dependencies"].items()
    }
    kafka = re.search(r"<kafka\.version>([^<]+)", (ROOT / "tests" / "oracle" / "pom.xml").read_text())
    assert kafka is not None

    def module(path: str) -> str:
        found = re.search(rf"{re.escape(path)} v(\S+)", go)
        assert found is not None, f"go.mod does not name {path}"
        return found[1]

    confluent = importlib.import_module("confluent_kafka")
    return {
        "librdkafka": f"confluent-kafka {importlib.metadata.version('confluent-kafka')} "
        f"(librdkafka {confluent.libversion()[0]})",
        "java": f"kafka-clients {kafka[1]} (Java)",
        "kafka-python": f"kafka-python {importlib.metadata.version('kafka-python')}",
        "aiokafka": f"aiokafka {importlib.metadata.version('aiokafka')}",
        "franz-go": f"franz-go {module('github.com/twmb/franz-go')}",
        "sarama": f"sarama {module('github.com/IBM/sarama')}",
        "kafka-go": f"segmentio kafka-go {module('github.com/segmentio/kafka-go')}",
        "confluent-js": f"@confluentinc/kafka-javascript {node['@confluentinc/kafka-javascript']}",
        "kafkajs": f"kafkajs {node['kafkajs']}",
        "kcat": f"kcat {_kcat_version()}",
    }


def _kcat_version() -> str:
    program = shutil.which("kcat")
    assert program is not None, "there is no kcat"
    said = subprocess.run([program, "-V"], capture_output=True, text=True, check=True)
    found = re.search(r"Version (\S+) .*?librdkafka ([\d.]+)", said.stdout + said.stderr)
    return f"{found[1]} (librdkafka {found[2]})" if found else "of an unknown version"


def cases_of(results: Sequence[Path]) -> list[tuple[str, ElementTree.Element]]:
    """Return (file, test) of the suite; raise SystemExit when one did not pass, or a file is missing."""
    cases = [
        (case.get("classname", "").rpartition(".")[2], case)
        for file in results
        for case in ElementTree.parse(file).iter("testcase")
    ]
    cases = [(file, case) for file, case in cases if f"{file}.py" in SUITE + GROUP_SUITE]
    for _, case in cases:
        if any(case.find(tag) is not None for tag in ("failure", "error", "skipped")):
            raise SystemExit(f"{case.get('name')} did not pass: no table is written")
    missing = {*SUITE, *GROUP_SUITE} - {f"{file}.py" for file, _ in cases}
    if missing:
        raise SystemExit(f"the run left out {', '.join(sorted(missing))}: no table is written")
    return cases


def rows_of(cases: list[tuple[str, ElementTree.Element]]) -> dict[str, Row]:
    """Return client -> what it did."""
    rows: dict[str, Row] = {}
    for file, case in cases:
        found = {one.get("name"): one.get("value", "") for one in case.iter("property")}
        if "matrix_producer" in found:
            codec = found["matrix_codec"]
            producer = rows.setdefault(found["matrix_producer"], Row())
            producer.written.add(codec)
            for consumer in found["matrix_consumers"].split(","):
                rows.setdefault(consumer, Row()).read.add(codec)
                producer.readers.add(consumer)
            continue
        if f"{file}.py" not in GROUP_SUITE:
            _note(rows, file, case.get("name", ""))
    return rows


def _note(rows: dict[str, Row], file: str, name: str) -> None:
    parts = _PARAMETERS.match(name)
    test, parameters = (parts[1], parts[2]) if parts else (name, "")
    if file == "test_kafkajs":
        row = rows.setdefault("kafkajs", Row())
        if test == "test_acks":
            row.acks.add(f"acks={'all' if parameters == '-1' else parameters}")
        row.also.add({"test_offsets_by_time": "offsets", "test_the_cluster": "cluster"}.get(test, ""))
    elif file == "test_administration":
        rows.setdefault(parameters or "kafkajs", Row()).also.add("admin")
    elif file == "test_kcat":
        rows.setdefault("kcat", Row()).also.update(("offsets", "metadata"))
    elif test == "test_acks":
        client = next(name for name in versions() if parameters.startswith(name + "-"))
        acks = parameters.removeprefix(client + "-")
        if (client, acks) != (_WITHOUT_IDEMPOTENCE, "idempotent"):
            rows.setdefault(client, Row()).acks.add(acks)
    elif test == "test_offsets_and_reading_from_the_middle":
        rows.setdefault(parameters, Row()).also.add("offsets")


def tools_of(cases: list[tuple[str, ElementTree.Element]]) -> str:
    """Return the table of Apache Kafka's tools; raise SystemExit for a test that nobody described."""
    did: dict[str, list[str]] = {}
    for file, case in cases:
        name = case.get("name", "").partition("[")[0]
        if file in ("test_kafka_tools", "test_group_tools") or name in TOOLS:
            if name not in TOOLS:
                raise SystemExit(f"TOOLS does not say what {name} runs")
            tool, what = TOOLS[name]
            if what not in did.setdefault(tool, []):
                did[tool].append(what)
    return TOOLS_HEAD + "".join(f"| {tool} | {'; '.join(what)} |\n" for tool, what in sorted(did.items()))


def groups_of(cases: list[tuple[str, ElementTree.Element]], named: dict[str, str]) -> str:
    """Return the table of clients in groups."""
    did: dict[str, set[str]] = {}
    for file, case in cases:
        parts = _PARAMETERS.match(case.get("name", ""))
        if file != "test_groups" or not parts:
            continue
        if parts[1] in GROUP_TESTS:
            did.setdefault(parts[2], set()).add(GROUP_TESTS[parts[1]])
        else:
            kind = {"classic": "java", "consumer": "java-848"}[parts[2]]
            did.setdefault(kind, set()).add("first record")
    lines = []
    for kind, found in did.items():
        protocol = "consumer (KIP-848)" if kind.endswith("-848") else "classic"
        marks = ["yes" if column in found else "-" for column in GROUP_TESTS.values()]
        lines.append(f"| {named[kind.removesuffix('-848')]} | {protocol} | {' | '.join(marks)} |\n")
    return GROUPS_HEAD + "".join(lines) + GROUPS_NOTES


def consoles_of(cases: list[tuple[str, ElementTree.Element]]) -> str:
    """Return what is said of web consoles."""
    names = [case.get("name", "") for file, case in cases if file == "test_web_consoles"]
    sections = [match[2] for match in map(_PARAMETERS.match, names) if match]
    return CONSOLES_HEAD + textwrap.fill(f"{', '.join(sections)}.", width=112) + "\n"


def page(rows: dict[str, Row], named: dict[str, str]) -> str:
    """Return the clients' table and what comes before it."""
    lines = ["| client | written with | read with | read by | acks | also |", "|---|---|---|---|---|---|"]
    for name, title in named.items():
        row = rows[name]
        cells = [
            title,
            _codecs(row.written),
            _codecs(row.read),
            ", ".join(sorted(row.readers)),
            ", ".join(sorted(row.acks)) + (" (no idempotent producer)" * (name == _WITHOUT_IDEMPOTENCE)),
            ", ".join(sorted(row.also - {""})),
        ]
        lines.append("| " + " | ".join(cell or "-" for cell in cells) + " |")
    return HEAD + "\n".join(lines) + "\n" + NOTES


def _codecs(found: set[str]) -> str:
    return "all" if found == set(CODECS) else ", ".join(codec for codec in CODECS if codec in found)


def write(results: Sequence[Path]) -> None:
    """Write the page."""
    cases, named = cases_of(results), versions()
    clients = page(rows_of(cases), named) + groups_of(cases, named)
    PAGE.write_text(clients + tools_of(cases) + consoles_of(cases) + FILES)


def main(arguments: list[str]) -> int:
    if arguments:
        write([Path(argument) for argument in arguments])
        return 0
    with tempfile.TemporaryDirectory() as folder:
        results = []
        for number, (names, options) in enumerate(((SUITE, ()), (GROUP_SUITE, ("--slow",)))):
            results.append(Path(folder) / f"results-{number}.xml")
            files = [str(INTEROP / name) for name in names]
            done = subprocess.run(
                [sys.executable, "-m", "pytest", *files, *options, f"--junitxml={results[-1]}"],
                cwd=ROOT,
                check=False,
            )
            if done.returncode:
                return done.returncode
        write(results)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

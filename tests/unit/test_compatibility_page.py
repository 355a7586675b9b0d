"""docs/compatibility.md names every client of the interop suite, in the version the suite pins."""

import json
import re
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
INTEROP = ROOT / "tests" / "interop"
PAGE = (ROOT / "docs" / "compatibility.md").read_text()

TITLES = {
    "librdkafka": "confluent-kafka",
    "java": "kafka-clients",
    "kafka-go": "segmentio kafka-go",
    "confluent-js": "@confluentinc/kafka-javascript",
}
"""Name in the suite -> on the page, where they differ."""


def test_every_client_of_the_suite_has_a_line() -> None:
    suite = re.search(r"^CLIENTS = \(([^)]*)\)", (INTEROP / "test_matrix.py").read_text(), re.MULTILINE)
    assert suite is not None
    names = [*re.findall(r'"([^"]+)"', suite[1]), "kafkajs", "kcat"]
    missing = [name for name in names if f"\n| {TITLES.get(name, name)} " not in PAGE]
    assert missing == [], "run tools/write_compatibility.py"


def test_pinned_versions_are_those_of_the_page() -> None:
    pinned = re.findall(r"^\tgithub\.com/(?:IBM|segmentio|twmb)/([\w-]+) v(\S+)$",
                        (INTEROP / "go" / "go.mod").read_text(), re.MULTILINE)  # fmt: skip
    for package in (INTEROP / "node").glob("*.package.json"):
        found = json.loads(package.read_text())["dependencies"]
        pinned += [(name, version) for name, version in found.items() if name != "kafkajs-snappy"]
    assert len(pinned) == 5
    missing = [f"{name} {version}" for name, version in pinned if f"{name} {version}" not in PAGE]
    assert missing == [], "run tools/write_compatibility.py"


def test_apache_kafkas_tools_and_web_consoles_have_their_place() -> None:
    files = [INTEROP / "test_kafka_tools.py", INTEROP / "test_group_tools.py"]
    tools = re.findall(r"^def (test_\w+)", "".join(file.read_text() for file in files), re.MULTILINE)
    writer = (ROOT / "tools" / "write_compatibility.py").read_text()
    assert [name for name in tools if f'"{name}": (' not in writer] == [], "TOOLS says what each test runs"
    for tool in ("kafka-topics", "kafka-console-producer", "kafka-log-dirs", "kafka-consumer-groups"):
        assert tool in PAGE, "run tools/write_compatibility.py"
    assert "Redpanda Console" in PAGE


def test_every_client_but_kcat_administers() -> None:
    table = PAGE.split("\n## ", 1)[0]
    rows = [line for line in table.splitlines() if line.startswith("| ")][1:]
    assert len(rows) >= 10
    assert [row for row in rows if "admin" not in row and not row.startswith("| kcat ")] == []


def test_the_client_without_an_idempotent_producer_is_named() -> None:
    table = PAGE.split("\n## ", 1)[0]
    (row,) = [line for line in table.splitlines() if line.startswith("| segmentio kafka-go ")]
    assert "no idempotent producer" in row

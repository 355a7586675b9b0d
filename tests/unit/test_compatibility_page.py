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

"""dump-log reads the records of groups as Kafka's own tool does (--offsets-decoder), field by field."""

import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.interop.group_situations.play import play, running_barnabas
from tests.oracle.kafka_tools import dump_log

pytestmark = [pytest.mark.interop, pytest.mark.java, pytest.mark.slow, pytest.mark.timeout(200)]

SITUATIONS = (
    "joining: two members, step 9",
    "joining: protocols of another kind than consumers, step 9",
    "static: two members, step 9",
    "offsets: of a simple consumer, step 3",
    "offsets: of a simple consumer, step 8",
    "admin: delete an empty group, step 9",
    "consumer: two members, step 1",
    "consumer: a regular expression, step 1",
    "two protocols: a classic member enters a consumer group, step 9",
)

_RECORD = re.compile(r"^\| offset: (\d+) .* key: (\{.*\}) payload: (.*)$", re.MULTILINE)
KINDS_MIN = 8

Records = dict[int, tuple[Any, Any]]


def theirs(log: Path) -> Records:
    """Offset -> (key, value and its version) as Kafka's tool tells."""
    said = dump_log(log, extra=("--offsets-decoder",))
    found = {}
    for offset, key, payload in _RECORD.findall(said):
        value = None if payload == "<DELETE>" else json.loads(payload)
        found[int(offset)] = (json.loads(key)["data"], value)
    return found


def ours(log: Path) -> tuple[Records, set[str]]:
    """The same as we tell, and the types of records."""
    line = [sys.executable, "-m", "barnabas", "dump-log", str(log), "--deep-iteration", "-o", "json"]
    said = subprocess.run(line, check=True, capture_output=True, text=True).stdout
    found: Records = {}
    kinds = set()
    for row in map(json.loads, said.splitlines()):
        if row["kind"] == "record":
            value = None if row["data"] is None else {"version": str(row["version"]), "data": row["data"]}
            found[row["offset"]] = (row["key_data"], value)
            kinds.add(row["type"])
    return found, kinds


def test_dump_log_decodes_as_kafka_does(tmp_path: Path) -> None:
    with running_barnabas(tmp_path) as broker:
        for name in SITUATIONS:
            play(broker.port, name)
    kinds: set[str] = set()
    logs = [log for log in tmp_path.glob("data/__consumer_offsets-*/*.log") if log.stat().st_size]
    assert logs
    for log in logs:
        left, (right, of_log) = theirs(log), ours(log)
        kinds |= of_log
        assert left == right
    assert len(kinds) >= KINDS_MIN, kinds

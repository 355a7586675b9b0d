"""The effective configuration of a start that does not happen."""

import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from barnabas.cli.root import root


@pytest.fixture(autouse=True)
def home(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "home"))
    return tmp_path


def shown(*options: str) -> dict[str, dict[str, Any]]:
    result = CliRunner().invoke(root, ["serve", "--print-config", "-o", "json", *options])
    assert result.exit_code == 0, result.output
    return {entry["name"]: entry for entry in json.loads(result.output)}


def value_and_source(entry: dict[str, Any]) -> tuple[str | None, str]:
    return entry["value"], entry["source"]


def test_every_source_is_named(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = home / "server.properties"
    file.write_text("num.partitions=3\nlog.retention.hours=24\nlog.segment.bytes=2000000\n")
    monkeypatch.setenv("KAFKA_LOG_RETENTION_HOURS", "48")
    monkeypatch.setenv("KAFKA_MESSAGE_MAX_BYTES", "77")
    found = shown("--config", str(file), "--override", "message.max.bytes=99", "--listen", "127.0.0.1:1")
    assert value_and_source(found["num.partitions"]) == ("3", str(file))
    assert value_and_source(found["log.retention.hours"]) == ("48", "KAFKA_LOG_RETENTION_HOURS")
    assert value_and_source(found["message.max.bytes"]) == ("99", "--override")
    assert value_and_source(found["listeners"]) == ("PLAINTEXT://127.0.0.1:1", "--listen")
    assert value_and_source(found["log.flush.interval.messages"])[1] == "default"
    assert value_and_source(found["node.id"]) == ("1", "default of this broker")


def test_where_the_data_would_lie(home: Path) -> None:
    assert value_and_source(shown()["log.dirs"]) == (str(home / "home/barnabas"), "default of this broker")
    assert value_and_source(shown("--data-dir", "/d")["log.dirs"]) == ("/d", "--data-dir")
    assert shown("--ephemeral")["log.dirs"]["source"] == "--ephemeral"
    both = shown("--data-dir", "/d", "--override", "log.dirs=/e")["log.dirs"]
    assert value_and_source(both) == ("/e", "--override")
    assert not (home / "home").exists()


def test_secrets_are_not_shown(home: Path) -> None:
    file = home / "server.properties"
    file.write_text("ssl.keystore.password=geheim\nlistener.name.x.ssl.key.password=geheim\n")
    found = shown("--config", str(file))
    assert found["ssl.keystore.password"]["sensitive"]
    assert found["ssl.keystore.password"]["value"] is None
    for output in ("plain", "json"):
        line = ["serve", "--print-config", "-o", output, "--config", str(file)]
        assert "geheim" not in CliRunner().invoke(root, line).output


def test_the_table_has_a_line_for_each_key() -> None:
    result = CliRunner().invoke(root, ["serve", "--print-config", "--override", "num.partitions=5"])
    assert result.exit_code == 0
    lines = {line.split()[0]: line.split()[1:] for line in result.output.splitlines()}
    assert lines["Key"] == ["Value", "Source"]
    assert lines["num.partitions"] == ["5", "--override"]
    assert set(lines) - {"Key"} == set(shown())


@pytest.mark.parametrize("override", ["num.partition=3", "num.partitions=three", "nonsense"])
def test_what_would_stop_a_start_is_told(override: str) -> None:
    result = CliRunner().invoke(root, ["serve", "--print-config", "--override", override])
    assert result.exit_code == 2
    assert "Error: --override" in result.output


def test_output_without_print_config_is_a_wrong_call() -> None:
    result = CliRunner().invoke(root, ["serve", "--ephemeral", "-o", "json"])
    assert result.exit_code == 2
    assert "--output goes with --print-config" in result.output

"""Every version of every message, against the classes Apache Kafka itself encodes and decodes with."""

import base64
import json
import random
import subprocess
from pathlib import Path
from typing import Any

import pytest

from barnabas.protocol import messages, schema
from barnabas.protocol.messages import Message, Struct
from barnabas.protocol.schema import FieldSpec, MessageHead, StructSpec
from tests import message_values, toolchain

pytestmark = [pytest.mark.interop, pytest.mark.java]

SEED = 20260
ROUNDS = 2
ROUNDS_SLOW = 30

_PACKAGES = {
    "metadata_records": "org.apache.kafka.common.metadata",
    "group_records": "org.apache.kafka.coordinator.group.generated",
    "transaction_records": "org.apache.kafka.coordinator.transaction.generated",
    "share_records": "org.apache.kafka.coordinator.share.generated",
    "raft_state": "org.apache.kafka.raft.generated",
    "remote_log_records": "org.apache.kafka.server.log.remote.metadata.storage.generated",
}

# Null inside a tagged field that is not null by default: rare enough for random values to miss it.
_NULL_IN_A_TAG: tuple[Message, ...] = (
    messages.ConsumerGroupMemberMetadataValue(classic_member_metadata=None),
    messages.StreamsGroupMetadataValue(last_assignment_configs=None),
    messages.StreamsGroupCurrentMemberAssignmentValue(
        active_tasks=[messages.StreamsGroupCurrentMemberAssignmentValueTaskIds(assignment_epochs=None)]
    ),
)


def _java_class(head: MessageHead) -> str:
    package = _PACKAGES.get(head.file, "org.apache.kafka.common.message")
    if head.name == "ProducerSnapshot":
        package = _PACKAGES["remote_log_records"]
    suffix = "Data" if head.kind in ("request", "response", "header") else ""
    return f"{package}.{head.name}{suffix}"


def _ask(lines: list[str]) -> list[list[str]]:
    """Return the oracle's answer to each line, in words; the last one is JSON."""
    try:
        classes = toolchain.compiled_java(Path(__file__).parent / "message_oracle")
        class_path = f"{classes}:{toolchain.kafka_classpath()}"
        command = [
            toolchain.java_command(),
            *toolchain.JVM_FLAGS,
            "-Xmx512m",
            "-cp",
            class_path,
            "MessageOracle",
        ]
    except toolchain.ToolchainMissingError as missing:
        toolchain.unavailable(str(missing))
    done = subprocess.run(
        command, input="\n".join(lines) + "\n", capture_output=True, text=True, timeout=300, check=False
    )
    assert done.returncode == 0, done.stderr
    return [line.split(" ", 3) for line in done.stdout.splitlines()]


def _json_name(field: FieldSpec) -> str:
    return field.name[0].lower() + field.name[1:]


def _json_struct(value: Struct, spec: StructSpec, version: int) -> dict[str, Any]:
    """Return what Kafka's JSON of a struct must be, given our value of it."""
    made = {}
    for field in spec.fields:
        if version not in field.versions:
            continue
        item = getattr(value, field.attribute)
        if version in field.tagged and item == getattr(type(value)(), field.attribute):
            continue
        if field.type == "records" and item is not None:
            made[_json_name(field) + "SizeInBytes"] = len(item)
        else:
            made[_json_name(field)] = _json_value(item, field, version)
    return made


def _json_value(item: Any, field: FieldSpec, version: int) -> Any:
    if item is None:
        return None
    if isinstance(item, list):
        return [_json_value(element, field, version) for element in item]
    if field.struct is not None:
        return _json_struct(item, field.struct, version)
    if field.type == "uuid":
        return base64.urlsafe_b64encode(item).decode().rstrip("=")
    if field.type == "bytes":
        return base64.b64encode(item).decode()
    return item


def _cases(rounds: int) -> list[tuple[str, int, Message | None]]:
    """Return messages of every version; None stands for one of nothing but defaults."""
    rng = random.Random(SEED)
    cases: list[tuple[str, int, Message | None]] = []
    for name, version in message_values.every_version():
        spec = schema.load(name)
        cases.append((name, version, None))
        cases += [(name, version, message) for message in _NULL_IN_A_TAG if type(message).__name__ == name]
        cases += [(name, version, message_values.random_message(spec, version, rng)) for _ in range(rounds)]
    return cases


def test_kafka_reads_what_we_write_and_writes_the_same(slow: bool) -> None:
    cases = _cases(ROUNDS_SLOW if slow else ROUNDS)
    lines = []
    for name, version, message in cases:
        sent = "new" if message is None else message.encode(version).hex()
        lines.append(f"{_java_class(schema.index()[name])} {version} {sent}")
    answers = _ask(lines)
    assert len(answers) == len(cases)
    for (name, version, message), answer in zip(cases, answers, strict=True):
        where = f"{name} v{version} seed {SEED}"
        ours: Message = getattr(messages, name)() if message is None else message
        assert answer[0] == "ok", (where, answer)
        _, left, encoded, text = answer
        assert int(left) == 0, where
        assert encoded == ours.encode(version).hex(), where
        assert json.loads(text) == _json_struct(ours, schema.load(name).root, version), where
        assert type(ours).decode(bytes.fromhex(encoded), version) == ours, where

"""Compares the message catalogue with the definitions inside Apache Kafka's jars.

    python tools/compare_catalogue.py DIRECTORY    a folder with kafka-clients-*.jar, kafka-metadata-*.jar ...

Prints every message, field or property that differs and exits with 1 when there is any. Run it against the
jars of a new Kafka release: what it prints is what the catalogue lacks.
"""

import json
import re
import sys
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from barnabas.protocol import schema
from barnabas.protocol.schema import EMPTY, FieldSpec, MessageSpec, StructSpec

_DEFINITION = re.compile(r"(common/)?(message|metadata)/\w+\.json")
_COMMENT_LINE = re.compile(r"^\s*//.*$", re.MULTILINE)
_TRAILING_COMMENT = re.compile(r'\s//[^"\n]*$', re.MULTILINE)

Facts = dict[str, Any]


def definitions(jars: Path) -> dict[str, Facts]:
    """Return the definitions in all jars of a folder by message name, without those of no valid version."""
    found = {}
    for jar in sorted(jars.glob("kafka*.jar")):
        with zipfile.ZipFile(jar) as archive:
            for name in archive.namelist():
                if _DEFINITION.fullmatch(name):
                    text = _COMMENT_LINE.sub("", archive.read(name).decode())
                    definition = json.loads(_TRAILING_COMMENT.sub("", text))
                    if definition["validVersions"] != "none":
                        found[definition["name"]] = definition
    return found


def message_facts(definition: Facts) -> Facts:
    """Return what the catalogue must say of a message, out of Kafka's definition."""
    structs = {shared["name"]: shared for shared in definition.get("commonStructs", [])}
    return {
        "kind": definition["type"],
        "key": definition.get("apiKey"),
        "versions": definition["validVersions"],
        "flexible": definition.get("flexibleVersions", "none"),
        "unstable": definition.get("latestVersionUnstable", False),
        "listeners": tuple(definition.get("listeners", ())),
        "fields": {f["name"]: _kafka_field(f, structs) for f in definition["fields"]},
    }


def _kafka_field(field: Facts, structs: dict[str, Facts]) -> Facts:
    type_name = field["type"].removeprefix("[]")
    is_array = field["type"].startswith("[]")
    members = field.get("fields") or structs.get(type_name, {}).get("fields")
    versions = field.get("versions") or field["taggedVersions"]
    return {
        "type": field["type"],
        "versions": versions,
        "nullable": field.get("nullableVersions", "none"),
        "tag": field.get("tag"),
        "tagged": field.get("taggedVersions", "none"),
        "default": _kafka_default(field, type_name, is_array or members is not None),
        "ignorable": field.get("ignorable", False),
        "key": field.get("mapKey", False),
        "never compact": field.get("flexibleVersions") == "none",
        "fields": {f["name"]: _kafka_field(f, structs) for f in members or ()},
    }


def _kafka_default(field: Facts, type_name: str, composed: bool) -> object:
    text = field.get("default")
    if text == "null" or (type_name == "records" and "nullableVersions" in field):
        return None
    if composed:
        return EMPTY
    if text is None or text == "":
        return schema.zero_value(type_name)
    if type_name == "bool":
        return str(text).lower() == "true"
    return int(str(text), 0)


def _versions_text(versions: range) -> str:
    if not versions:
        return "none"
    low, high = versions[0], versions[-1]
    if high == schema.FOREVER:
        return f"{low}+"
    return str(low) if low == high else f"{low}-{high}"


def _our_facts(message: MessageSpec) -> Facts:
    head = message.head
    return {
        "kind": head.kind,
        "key": head.key,
        "versions": _versions_text(head.versions),
        "flexible": _versions_text(head.flexible),
        "unstable": head.latest_unstable,
        "listeners": head.listeners,
        "fields": _our_fields(message.root),
    }


def _our_fields(struct: StructSpec | None) -> Facts:
    return {} if struct is None else {field.name: _our_field(field) for field in struct.fields}


def _our_field(field: FieldSpec) -> Facts:
    return {
        "type": ("[]" if field.is_array else "") + field.type,
        "versions": _versions_text(field.versions),
        "nullable": _versions_text(field.nullable),
        "tag": field.tag,
        "tagged": _versions_text(field.tagged),
        "default": field.default,
        "ignorable": field.ignorable,
        "key": field.map_key,
        "never compact": field.never_compact,
        "fields": _our_fields(field.struct),
    }


def _differences(path: str, kafka: Any, ours: Any) -> Iterator[str]:
    if isinstance(kafka, dict) and isinstance(ours, dict):
        if list(kafka) != list(ours) and set(kafka) == set(ours):
            yield f"{path}: the order is {', '.join(kafka)} in Kafka, {', '.join(ours)} here"
        for name in kafka.keys() | ours.keys():
            if name not in ours:
                yield f"{path}.{name}: missing here"
            elif name not in kafka:
                yield f"{path}.{name}: unknown to Kafka"
            else:
                yield from _differences(f"{path}.{name}", kafka[name], ours[name])
    elif kafka != ours or type(kafka) is not type(ours):
        yield f"{path}: {kafka!r} in Kafka, {ours!r} here"


def differences(jars: Path) -> list[str]:
    """Return a line for each fact in which the catalogue and the jars of a folder differ."""
    found = definitions(jars)
    if not found:
        return [f"there are no definitions in {jars}"]
    kafka = {name: message_facts(found[name]) for name in sorted(found)}
    ours = {name: _our_facts(schema.load(name)) for name in sorted(schema.index())}
    return sorted(_differences("catalogue", kafka, ours))


def main() -> int:
    if len(sys.argv) != 2:
        print(__doc__)
        return 2
    found = differences(Path(sys.argv[1]))
    print("\n".join(found) or "the catalogue and the jars agree")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())

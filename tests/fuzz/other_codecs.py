"""Reads messages with another library and writes them again; run as a program of its own.

For each input line "library message version hex" one output line: the bytes in hex, "unknown" when the
library does not know the message in that version, or "error" and why. Its own process, because kio aborts
the process it runs in on some input.
"""

import importlib
import io
import pkgutil
import sys
from typing import Any

from barnabas.protocol.schema import attribute_name


def _kio(name: str, version: int, data: bytes) -> bytes | None:
    from kio.serial import entity_reader, entity_writer

    kinds = {"Request": "request", "Response": "response"}
    kind = next((kind for kind in kinds if name.endswith(kind)), "")
    api = attribute_name(name.removesuffix(kind)).replace("kraft", "k_raft")
    try:
        module = importlib.import_module(f"kio.schema.{api}.v{version}.{kinds.get(kind, 'data')}")
    except ModuleNotFoundError:
        return None
    entity = getattr(module, name)
    value, size = entity_reader(entity)(data, 0)
    if size != len(data):
        raise ValueError(f"{size} of {len(data)} bytes read")
    written = io.BytesIO()
    entity_writer(entity)(written, value)
    return written.getvalue()


def _kafka_python_classes() -> dict[str, Any]:
    import kafka.protocol

    found = {}
    for module in pkgutil.walk_packages(kafka.protocol.__path__, "kafka.protocol."):
        if not module.name.startswith(("kafka.protocol.old", "kafka.protocol.generate")):
            for name, value in vars(importlib.import_module(module.name)).items():
                if name.endswith(("Request", "Response")):
                    found[name] = value
    return found


def _kafka_python(classes: dict[str, Any], name: str, version: int, data: bytes) -> bytes | None:
    found = classes.get(name)
    if found is None or not hasattr(found, "decode") or (found.max_version or -1) < version:
        return None
    value = found.decode(data, version=version)
    value._header = None
    written: bytes = value.encode(version=version)
    return written


def main() -> None:
    classes = _kafka_python_classes()
    for line in sys.stdin:
        library, name, version, text = line.split(" ")
        data = bytes.fromhex(text)
        try:
            if library == "kio":
                written = _kio(name, int(version), data)
            else:
                written = _kafka_python(classes, name, int(version), data)
        except Exception as error:
            answer = f"error {type(error).__name__}: {error}".replace("\n", " ")
        else:
            answer = "unknown" if written is None else written.hex()
        print(answer, flush=True)


if __name__ == "__main__":
    main()

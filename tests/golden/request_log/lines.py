"""Lines of Apache Kafka's request log, with the frames they tell of."""

import base64
import gzip
import json
from pathlib import Path
from typing import Any, NamedTuple

FILE = Path(__file__).parent / "kafka.jsonl.gz"


class LoggedExchange(NamedTuple):
    """A request, its response, both without their length, and what Apache Kafka logged of them."""

    name: str
    request: bytes
    response: bytes
    line: dict[str, Any]


def load() -> list[LoggedExchange]:
    """Return everything that was captured."""
    found = []
    for text in gzip.decompress(FILE.read_bytes()).decode().splitlines():
        entry = json.loads(text)
        request, response = (base64.b64decode(frame) for frame in entry["frames"])
        found.append(LoggedExchange(entry["name"], request, response, entry["line"]))
    return found

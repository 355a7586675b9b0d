"""Captured exchanges: a request as a client sent it, the response as Apache Kafka gave it.

One file an API holds its frames as they were on the wire, each behind its length; index.jsonl has a
line for every exchange: who asked, in which version, for what, and where the two frames lie. A file for
every frame was rejected: there are a thousand.
"""

import contextlib
import json
from collections import defaultdict
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import NamedTuple

FOLDER = Path(__file__).parent / "frames"
INDEX_FILE = "index.jsonl"
LENGTH_BYTES = 4


class Exchange(NamedTuple):
    """One request and its response, both without their length.

    Args:
        client: "java", "librdkafka", ..., or "script" for requests made with our own codecs.
        scenario: what was asked; empty for clients' own traffic.
    """

    api: str
    key: int
    version: int
    client: str
    scenario: str
    request: bytes
    response: bytes

    @property
    def name(self) -> str:
        return "-".join(filter(None, (self.api, f"v{self.version}", self.client, self.scenario)))


@contextlib.contextmanager
def noted(name: str) -> Iterator[None]:
    """Let a failure tell whose it is: one test checks many exchanges, each quicker than a test."""
    try:
        yield
    except Exception as error:
        error.add_note(f"in the exchange {name}")
        raise


def load(folder: Path = FOLDER) -> list[Exchange]:
    """Return all captured exchanges of a folder."""
    files: dict[str, bytes] = {}
    exchanges = []
    for line in (folder / INDEX_FILE).read_text().splitlines():
        entry = json.loads(line)
        name = entry.pop("file")
        if name not in files:
            files[name] = (folder / name).read_bytes()
        request = frame_at(files[name], entry.pop("request_at"))
        response = frame_at(files[name], entry.pop("response_at"))
        exchanges.append(Exchange(**entry, request=request, response=response))
    return exchanges


def frame_at(data: bytes, position: int) -> bytes:
    """Return the frame whose length stands at `position`."""
    start = position + LENGTH_BYTES
    return data[start : start + int.from_bytes(data[position:start], "big")]


def save(exchanges: Iterable[Exchange], folder: Path = FOLDER) -> None:
    """Write the frames and the index of a folder afresh."""
    folder.mkdir(exist_ok=True)
    for old in folder.glob("*.bin"):
        old.unlink()
    content: dict[str, bytearray] = defaultdict(bytearray)
    lines = []
    for exchange in sorted(exchanges, key=lambda e: (e.key, e.version, e.client, e.scenario)):
        file = f"{exchange.key:02d}_{exchange.api}.bin"
        places = []
        for frame in (exchange.request, exchange.response):
            places.append(len(content[file]))
            content[file] += len(frame).to_bytes(LENGTH_BYTES, "big") + frame
        entry = {
            "file": file,
            "api": exchange.api,
            "key": exchange.key,
            "version": exchange.version,
            "client": exchange.client,
            "scenario": exchange.scenario,
            "request_at": places[0],
            "response_at": places[1],
        }
        lines.append(json.dumps(entry))
    for file, data in content.items():
        (folder / file).write_bytes(data)
    (folder / INDEX_FILE).write_text("\n".join(lines) + "\n")

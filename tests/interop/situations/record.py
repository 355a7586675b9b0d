"""Records of what Apache Kafka 4.4 said, as files of tests/golden."""

import base64
import gzip
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from tests.interop.situations.exchange import Exchange, Told

GOLDEN = Path(__file__).parents[2] / "golden"


def load_plain(path: Path) -> Any:
    with gzip.open(path) as file:
        return json.loads(file.read())


def save_plain(path: Path, plain: Any) -> None:
    """Write a record; the same content makes the same file."""
    with gzip.GzipFile(path, "wb", mtime=0) as file:
        file.write(json.dumps(plain, sort_keys=True).encode())


def load_frames(path: Path) -> dict[str, Told]:
    """Return recorded exchanges by situation."""
    return {
        name: Told([_exchange(*fields) for fields in told["exchanges"]], told["known"], told["group"])
        for name, told in load_plain(path).items()
    }


def save_frames(path: Path, all_told: Mapping[str, Told]) -> None:
    """Write exchanges by situation."""
    plain = {
        name: {
            "group": told.group,
            "known": dict(told.known),
            "exchanges": [
                (e.asked, e.key, e.version, _text(e.request), e.response and _text(e.response), e.waited)
                for e in told.exchanges
            ],
        }
        for name, told in all_told.items()
    }
    save_plain(path, plain)


def _exchange(
    asked: str, key: int, version: int, request: str, response: str | None, waited: str
) -> Exchange:
    answer = None if response is None else base64.b64decode(response)
    return Exchange(asked, key, version, base64.b64decode(request), answer, waited)


def _text(data: bytes) -> str:
    return base64.b64encode(data).decode()

"""What Apache Kafka 4.4 answered when it was last asked, as frames, and what is compared of a frame.

A frame is decoded to its last byte and becomes plain data; ids that each broker draws anew, and its port, are
replaced by names, so that each still has to be the right one.
"""

import base64
import gzip
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from barnabas.protocol import messages as m
from barnabas.protocol.api_keys import ApiKey
from barnabas.protocol.frames import decode_request_header, decode_response_header
from tests.interop.fetch_situations.talk import Exchange

RECORD = Path(__file__).parents[2] / "golden" / "fetch.json.gz"

CLOSED = "closed the connection"
SMALL_SESSION_ID = 1000
"""Session ids below are the situations' own invention; those that brokers draw are never that small."""


class Told(NamedTuple):
    """All that one broker was asked and answered in one situation.

    Args:
        known: `<field>:<value>` -> the name of a value that is this broker's own.
    """

    exchanges: Sequence[Exchange]
    known: Mapping[str, str]

    def __len__(self) -> int:
        return len(self.exchanges)


def plain_request(told: Told, exchange: Exchange) -> Any:
    """Return what was asked, in a form that two brokers share."""
    header = decode_request_header(memoryview(exchange.request))
    message, end = m.BY_KEY[ApiKey.FETCH].request.decode_from(
        exchange.request, exchange.version, header.body_offset
    )
    assert end == len(exchange.request)
    return _plain(message, "", told.known)


def plain_response(told: Told, exchange: Exchange) -> Any:
    """Return an answer in a form that two brokers share, with the time it took where that matters."""
    if exchange.response is None:
        return CLOSED
    frame = exchange.response
    _, body = decode_response_header(memoryview(frame), ApiKey.FETCH, exchange.version)
    message, end = m.BY_KEY[ApiKey.FETCH].response.decode_from(frame, exchange.version, body)
    assert end == len(frame), f"{len(frame) - end} bytes behind the answer"
    plain = _plain(message, "", told.known)
    return plain | {"waited": exchange.waited} if exchange.waited else plain


def _plain(value: Any, field: str, known: Mapping[str, str]) -> Any:
    if isinstance(value, m.Struct):
        plain = {
            name: _plain(getattr(value, name), name, known)
            for name in value.__slots__
            if name != "unknown_tags"
        }
        return plain | {"unknown_tags": value.unknown_tags} if value.unknown_tags else plain
    if isinstance(value, list):
        return [_plain(item, field, known) for item in value]
    if isinstance(value, bytes | bytearray | memoryview):
        data = bytes(value)
        return known.get(f"{field}:{data.hex()}", "an id" if field == "topic_id" and any(data) else data)
    if field == "session_id" and value > SMALL_SESSION_ID:
        return known.get(f"{field}:{value}", "another session")
    return known.get(f"{field}:{value}", value)


def load() -> dict[str, Told]:
    """Return the recorded answers by situation."""
    with gzip.open(RECORD) as file:
        recorded = json.loads(file.read())
    return {
        name: Told([_exchange(*fields) for fields in told["exchanges"]], told["known"])
        for name, told in recorded.items()
    }


def _exchange(asked: str, version: int, request: str, response: str | None, waited: str) -> Exchange:
    answer = None if response is None else base64.b64decode(response)
    return Exchange(asked, version, base64.b64decode(request), answer, waited)


def save(all_told: Mapping[str, Told]) -> None:
    """Write the record anew."""
    plain = {
        name: {
            "known": dict(told.known),
            "exchanges": [
                (e.asked, e.version, _text(e.request), e.response and _text(e.response), e.waited)
                for e in told.exchanges
            ],
        }
        for name, told in all_told.items()
    }
    with gzip.GzipFile(RECORD, "wb", mtime=0) as file:
        file.write(json.dumps(plain, sort_keys=True).encode())


def _text(data: bytes) -> str:
    return base64.b64encode(data).decode()

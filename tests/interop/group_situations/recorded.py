"""What Apache Kafka 4.4 answered when it was last asked, as frames, and what is compared of a frame.

A frame is decoded to its last byte and becomes plain data. Ids that each broker draws anew are replaced by
the names of members and topics, so that each still has to be the right one; what a broker keeps in a hash
table is put in order; of messages for people only their presence is compared.
"""

import base64
import gzip
import json
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from barnabas.protocol import messages as m
from barnabas.protocol.frames import decode_request_header, decode_response_header
from tests.interop.group_situations.talk import Exchange

RECORD = Path(__file__).parents[2] / "golden" / "groups.json.gz"

CLOSED = "closed the connection"
_UUID = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$")


class Told(NamedTuple):
    """All that one broker was asked and answered in one situation and step.

    Args:
        group: every group of the situation has a name that begins so.
        known: value of this broker's own -> the name under which it is compared.
    """

    group: str
    exchanges: Sequence[Exchange]
    known: Mapping[str, str]

    def __len__(self) -> int:
        return len(self.exchanges)


def plain_request(told: Told, exchange: Exchange) -> Any:
    """Return what was asked, in a form that two brokers share."""
    header = decode_request_header(memoryview(exchange.request))
    message, end = m.BY_KEY[exchange.key].request.decode_from(
        exchange.request, exchange.version, header.body_offset
    )
    assert end == len(exchange.request)
    return _plain(message, "", told)


def plain_response(told: Told, exchange: Exchange) -> Any:
    """Return an answer in a form that two brokers share."""
    if exchange.response is None:
        return CLOSED
    frame = exchange.response
    _, body = decode_response_header(memoryview(frame), exchange.key, exchange.version)
    message, end = m.BY_KEY[exchange.key].response.decode_from(frame, exchange.version, body)
    assert end == len(frame), f"{len(frame) - end} bytes behind the answer"
    if isinstance(message, m.ListGroupsResponse):
        message.groups = [group for group in message.groups if group.group_id.startswith(told.group)]
    return _plain(message, "", told)


def _plain(value: Any, field: str, told: Told) -> Any:
    if isinstance(value, m.Struct):
        plain = {
            name: _plain(getattr(value, name), name, told)
            for name in value.__slots__
            if name != "unknown_tags"
        }
        return plain | {"unknown_tags": value.unknown_tags} if value.unknown_tags else plain
    if isinstance(value, list):
        items = [_plain(item, field, told) for item in value]
        return sorted(items, key=repr) if items and isinstance(items[0], dict) else items
    if isinstance(value, bytes | bytearray | memoryview):
        data = bytes(value)
        return told.known.get(data.hex(), "an id" if field == "topic_id" and any(data) else data)
    if isinstance(value, str):
        if field == "error_message":
            return "words" if value else value
        return _named(value, told)
    if field == "port":
        return told.known.get(str(value), value)
    return value


def _named(value: str, told: Told) -> str:
    """Return the name of a member id, with the part of it that is not drawn."""
    name = told.known.get(value)
    if name is None:
        return _UUID.sub("(uuid)", value)
    return f"{name} {_UUID.sub('(uuid)', value)}" if _UUID.search(value) else name


def load() -> dict[str, Told]:
    """Return the recorded answers by situation and step."""
    with gzip.open(RECORD) as file:
        recorded = json.loads(file.read())
    return {
        name: Told(told["group"], [_exchange(*fields) for fields in told["exchanges"]], told["known"])
        for name, told in recorded.items()
    }


def _exchange(asked: str, key: int, version: int, request: str, response: str | None) -> Exchange:
    answer = None if response is None else base64.b64decode(response)
    return Exchange(asked, key, version, base64.b64decode(request), answer)


def save(all_told: Mapping[str, Told]) -> None:
    """Write the record anew."""
    plain = {
        name: {
            "group": told.group,
            "known": dict(told.known),
            "exchanges": [
                (e.asked, e.key, e.version, _text(e.request), e.response and _text(e.response))
                for e in told.exchanges
            ],
        }
        for name, told in all_told.items()
    }
    with gzip.GzipFile(RECORD, "wb", mtime=0) as file:
        file.write(json.dumps(plain, sort_keys=True).encode())


def _text(data: bytes) -> str:
    return base64.b64encode(data).decode()

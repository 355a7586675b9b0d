"""What Apache Kafka 4.4 answered when it was last asked, as frames, and what is compared of a frame.

A frame is decoded to its last byte and becomes plain data; ids that each broker draws anew, and its port, are
replaced by names, so that each still has to be the right one.
"""

from collections.abc import Mapping
from typing import Any

from barnabas.protocol import messages as m
from tests.interop.situations.exchange import Exchange, Told, decoded_request, decoded_response
from tests.interop.situations.record import GOLDEN

RECORD = GOLDEN / "fetch.json.gz"

CLOSED = "closed the connection"
SMALL_SESSION_ID = 1000
"""Session ids below are the situations' own invention; those that brokers draw are never that small."""


def plain_request(told: Told, exchange: Exchange) -> Any:
    """Return what was asked, in a form that two brokers share."""
    return _plain(decoded_request(exchange), "", told.known)


def plain_response(told: Told, exchange: Exchange) -> Any:
    """Return an answer in a form that two brokers share, with the time it took where that matters."""
    message = decoded_response(exchange)
    if message is None:
        return CLOSED
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

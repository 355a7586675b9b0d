"""What Apache Kafka 4.4 answered when it was last asked, as frames, and what is compared of a frame.

A frame is decoded to its last byte and becomes plain data. Ids that each broker draws anew are replaced by
the names of members and topics, so that each still has to be the right one; what a broker keeps in a hash
table is put in order; of messages for people only their presence is compared.
"""

import re
from typing import Any

from barnabas.protocol import messages as m
from tests.interop.situations.exchange import Exchange, Told, decoded_request, decoded_response
from tests.interop.situations.record import GOLDEN

RECORD = GOLDEN / "groups.json.gz"

CLOSED = "closed the connection"
_UUID = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$")


def plain_request(told: Told, exchange: Exchange) -> Any:
    """Return what was asked, in a form that two brokers share."""
    return _plain(decoded_request(exchange), "", told)


def plain_response(told: Told, exchange: Exchange) -> Any:
    """Return an answer in a form that two brokers share."""
    message = decoded_response(exchange)
    if message is None:
        return CLOSED
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

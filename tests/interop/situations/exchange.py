"""What was asked and answered, as the frames that went over the wire."""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from barnabas.protocol import messages as m
from barnabas.protocol.frames import decode_request_header, decode_response_header


class Exchange(NamedTuple):
    """A request and its answer.

    Args:
        asked: what a person calls it.
        response: None when the broker closed the connection.
        waited: empty unless the situation is about time.
    """

    asked: str
    key: int
    version: int
    request: bytes
    response: bytes | None
    waited: str = ""


class Told(NamedTuple):
    """All that one broker was asked and answered in one situation.

    Args:
        known: value that is this broker's own -> the name under which it is compared.
        group: every group of the situation has a name that begins so.
    """

    exchanges: Sequence[Exchange]
    known: Mapping[str, str]
    group: str = ""

    def __len__(self) -> int:
        return len(self.exchanges)


def decoded_request(exchange: Exchange) -> m.Message:
    """Return what was asked, decoded to the frame's last byte."""
    header = decode_request_header(memoryview(exchange.request))
    message, end = m.BY_KEY[exchange.key].request.decode_from(
        exchange.request, exchange.version, header.body_offset
    )
    assert end == len(exchange.request)
    return message


def decoded_response(exchange: Exchange) -> m.Message | None:
    """Return the answer, decoded to the frame's last byte; None when the connection was closed."""
    frame = exchange.response
    if frame is None:
        return None
    _, body = decode_response_header(memoryview(frame), exchange.key, exchange.version)
    message, end = m.BY_KEY[exchange.key].response.decode_from(frame, exchange.version, body)
    assert end == len(frame), f"{len(frame) - end} bytes behind the answer"
    return message

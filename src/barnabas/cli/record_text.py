"""Records as text: templates, JSON lines, delimited input. All of it works on bytes, so nothing is lost.

A JSON line holds one record; bytes that are UTF-8 stand as a string, others as {"base64": "..."}, and
null as null. What `consume --output json` writes, `produce --input json` reads back to the same record.
"""

import base64
import binascii
import json
from collections.abc import Callable, Iterator, Sequence
from datetime import UTC, datetime

from barnabas.base.dataclass import dataclass
from barnabas.base.hints import Any
from barnabas.cli.client.consumer import ConsumedRecord

RECORD_BYTES_MAX = 256 * 1024 * 1024
"""Input without a delimiter for this long is not records; it would only fill the memory."""

Headers = tuple[tuple[str, bytes | None], ...]

_ESCAPES = {"n": "\n", "t": "\t", "r": "\r", "0": "\0", "\\": "\\"}
_TEMPLATE_FIELDS: dict[str, Callable[[ConsumedRecord, bytes], bytes]] = {
    "topic": lambda record, _: record.topic.encode(),
    "partition": lambda record, _: b"%d" % record.partition,
    "offset": lambda record, _: b"%d" % record.offset,
    "timestamp": lambda record, _: timestamp_text(record.timestamp_ms).encode(),
    "timestamp_ms": lambda record, _: b"%d" % record.timestamp_ms,
    "key": lambda record, null: null if record.key is None else record.key,
    "value": lambda record, null: null if record.value is None else record.value,
    "headers": lambda record, null: b",".join(
        name.encode("utf-8", "surrogateescape") + b"=" + (null if content is None else content)
        for name, content in record.headers
    ),
}
TEMPLATE_FIELDS = tuple(_TEMPLATE_FIELDS)


@dataclass(frozen=True, slots=True, kw_only=True)
class InputRecord:
    """A record to produce; None leaves partition or timestamp to the producer."""

    key: bytes | None
    value: bytes | None
    headers: Headers = ()
    partition: int | None = None
    timestamp_ms: int | None = None


class InputError(ValueError):
    """Input that is no record, with the number of the record in it."""


def unescape(text: str) -> str:
    r"""Return the text with \n, \t, \r, \0, \\ and \xHH replaced.

    Raises:
        ValueError: another escape.
    """
    out = []
    position = 0
    while position < len(text):
        char = text[position]
        position += 1
        if char != "\\":
            out.append(char)
            continue
        escape = text[position : position + 1]
        position += 1
        if escape == "x":
            digits = text[position : position + 2]
            position += 2
            try:
                # Surrogates stand for single bytes, so that \xff becomes one byte and not two.
                out.append(bytes.fromhex(digits).decode("utf-8", "surrogateescape"))
            except ValueError:
                raise ValueError(f"\\x{digits} is no escape; write two hexadecimal digits") from None
        elif escape in _ESCAPES:
            out.append(_ESCAPES[escape])
        else:
            raise ValueError(f"\\{escape} is no escape; there are \\n \\t \\r \\0 \\\\ and \\xHH")
    return "".join(out)


def unescape_bytes(text: str) -> bytes:
    """Return the bytes that an escaped text stands for."""
    return unescape(text).encode("utf-8", "surrogateescape")


def timestamp_text(timestamp_ms: int) -> str:
    """Return ISO 8601 in UTC with milliseconds; the number itself where no calendar reaches; - for none."""
    if timestamp_ms == -1:
        return "-"
    try:
        moment = datetime.fromtimestamp(timestamp_ms / 1000, UTC)
    except (ValueError, OverflowError, OSError):
        return str(timestamp_ms)
    return moment.strftime("%Y-%m-%dT%H:%M:%S.") + f"{timestamp_ms % 1000:03d}Z"


def parse_time(text: str) -> int:
    """Return milliseconds since 1970 of a number of milliseconds or an ISO 8601 time (UTC unless it says).

    Raises:
        ValueError: neither.
    """
    if text.lstrip("-").isdigit():
        return int(text)
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        raise ValueError(f"{text!r} is neither milliseconds nor an ISO 8601 time") from None
    if moment.tzinfo is None:
        moment = moment.replace(tzinfo=UTC)
    return int(moment.timestamp() * 1000)


def compile_template(template: str, null: bytes) -> Callable[[ConsumedRecord], bytes]:
    """Return a function that renders a record.

    Args:
        template: text with {field}s and escapes; {{ and }} stand for braces.
        null: what a null key, value or header value looks like.
    Raises:
        ValueError: an unknown field or a lone brace.
    """
    parts: list[bytes | Callable[[ConsumedRecord, bytes], bytes]] = []
    for literal, field in _template_parts(template):
        if literal:
            parts.append(unescape_bytes(literal))
        if field is not None:
            if field not in _TEMPLATE_FIELDS:
                raise ValueError(f"{{{field}}} is no field; there are {', '.join(TEMPLATE_FIELDS)}")
            parts.append(_TEMPLATE_FIELDS[field])

    def render(record: ConsumedRecord) -> bytes:
        return b"".join([part if isinstance(part, bytes) else part(record, null) for part in parts])

    return render


def _template_parts(template: str) -> Iterator[tuple[str, str | None]]:
    from string import Formatter

    for literal, field, spec, conversion in Formatter().parse(template):
        if spec or conversion:
            raise ValueError(f"{{{field}}} takes no format")
        yield literal, field


def bytes_to_json(content: bytes | None) -> Any:
    """Return a string when the bytes are UTF-8, else {"base64": ...}; None stays None."""
    if content is None:
        return None
    try:
        return content.decode("utf-8")
    except UnicodeDecodeError:
        return {"base64": base64.b64encode(content).decode("ascii")}


def bytes_from_json(content: Any) -> bytes | None:
    """Return what `bytes_to_json` was given.

    Raises:
        ValueError: neither a string, null nor {"base64": ...}.
    """
    if content is None:
        return None
    if isinstance(content, str):
        return content.encode("utf-8", "surrogateescape")
    if isinstance(content, dict) and list(content) == ["base64"] and isinstance(content["base64"], str):
        try:
            return base64.b64decode(content["base64"], validate=True)
        except binascii.Error:
            raise ValueError("malformed base64") from None
    raise ValueError('keys and values are a string, null or {"base64": "..."}')


def record_to_json(record: ConsumedRecord) -> bytes:
    """Return one JSON line, with its line end."""
    document = {
        "topic": record.topic,
        "partition": record.partition,
        "offset": record.offset,
        "timestamp_ms": record.timestamp_ms,
        "timestamp_type": "LogAppendTime" if record.log_append_time else "CreateTime",
        "key": bytes_to_json(record.key),
        "value": bytes_to_json(record.value),
        "headers": [
            [bytes_to_json(name.encode("utf-8", "surrogateescape")), bytes_to_json(content)]
            for name, content in record.headers
        ],
    }
    return json.dumps(document, ensure_ascii=False).encode() + b"\n"


def record_from_json(line: bytes) -> InputRecord:
    """Read a JSON line; `value` is compulsory, what a consumer adds (topic, offset) is ignored.

    Raises:
        InputError: not such a line.
    """
    try:
        document = _json_of(line)
        if not isinstance(document, dict) or "value" not in document:
            raise InputError('a JSON line is an object with at least a "value"')
        return InputRecord(
            key=bytes_from_json(document.get("key")),
            value=bytes_from_json(document["value"]),
            headers=_headers_from_json(document.get("headers") or []),
            partition=_integer(document, "partition"),
            timestamp_ms=_integer(document, "timestamp_ms"),
        )
    except ValueError as error:
        raise InputError(str(error)) from None


def _json_of(line: bytes) -> Any:
    try:
        return json.loads(line)
    except json.JSONDecodeError as error:  # its own text tells of lines, of which there is one here
        raise InputError(f"no JSON at character {error.pos + 1}: {error.msg}") from None
    except UnicodeDecodeError as error:
        raise InputError(f"no UTF-8 at byte {error.start + 1}") from None


def _integer(document: dict[str, Any], name: str) -> int | None:
    found = document.get(name)
    if found is not None and (not isinstance(found, int) or isinstance(found, bool)):
        raise InputError(f'"{name}" must be a whole number')
    return found


def _headers_from_json(headers: Any) -> Headers:
    pairs = list(headers.items()) if isinstance(headers, dict) else headers
    found = []
    for pair in pairs:
        if not isinstance(pair, list | tuple) or len(pair) != 2:
            raise InputError('"headers" is a list of [name, value] pairs, or an object')
        name = bytes_from_json(pair[0])
        if name is None:
            raise InputError("a header needs a name")
        found.append((name.decode("utf-8", "surrogateescape"), bytes_from_json(pair[1])))
    return tuple(found)


def _shown(separator: bytes) -> str:
    """Return it as it can be written on the command line."""
    return repr(separator)[1:]


@dataclass(frozen=True, slots=True, kw_only=True)
class LineFormat:
    """How a line holds a record: [headers SEP] [key SEP] value.

    Args:
        key_separator: None for lines that are values only.
        headers_separator: None for lines without headers; they are written NAME:VALUE,NAME:VALUE.
        null: the text that stands for null; None when there is none.
    """

    key_separator: bytes | None = None
    headers_separator: bytes | None = None
    null: bytes | None = None

    def parse(self, line: bytes) -> InputRecord:
        """Return the record of a line.

        Raises:
            InputError: a separator that should be there is missing.
        """
        headers: Headers = ()
        key: bytes | None = None
        rest = line
        if self.headers_separator is not None:
            text, found, rest = rest.partition(self.headers_separator)
            if not found:
                raise InputError(f"no headers separator {_shown(self.headers_separator)}")
            headers = self._headers(text)
        if self.key_separator is not None:
            key, found, rest = rest.partition(self.key_separator)
            if not found:
                raise InputError(f"no key separator {_shown(self.key_separator)}")
        return InputRecord(key=self._or_null(key), value=self._or_null(rest), headers=headers)

    def _or_null(self, content: bytes | None) -> bytes | None:
        return None if content is None or content == self.null else content

    def _headers(self, text: bytes) -> Headers:
        if not text:
            return ()
        found = []
        for pair in text.split(b","):
            name, colon, content = pair.partition(b":")
            if not colon:
                raise InputError(f"header {pair!r} is not NAME:VALUE")
            found.append((name.decode("utf-8", "surrogateescape"), self._or_null(content)))
        return tuple(found)


class DelimitedReader:
    """Cuts a stream of chunks into records; sans-IO.

    The last record needs no delimiter behind it; an empty rest is none.
    """

    def __init__(self, delimiter: bytes) -> None:
        if not delimiter:
            raise ValueError("the delimiter must not be empty")
        self._delimiter = delimiter
        self._rest = bytearray()

    def feed(self, chunk: bytes) -> Sequence[bytes]:
        """Return the records that the chunk completes.

        Raises:
            InputError: a record above RECORD_BYTES_MAX.
        """
        # The delimiter may straddle two chunks, so the search starts a little before the new one.
        start = max(0, len(self._rest) - len(self._delimiter) + 1)
        self._rest += chunk
        if self._rest.find(self._delimiter, start) < 0:
            pieces = []
        else:
            pieces = bytes(self._rest).split(self._delimiter)
            self._rest = bytearray(pieces.pop())
        if len(self._rest) > RECORD_BYTES_MAX:
            raise InputError(f"no delimiter within {RECORD_BYTES_MAX} bytes")
        return pieces

    def finish(self) -> bytes | None:
        """Return what is left when the stream ends."""
        rest = bytes(self._rest)
        self._rest.clear()
        return rest or None

"""What compiled codecs call when they run: varints, tagged fields, faults and their text.

Generated code holds no error handling of its own beyond the checks. A fault surfaces as one of a few
exception types; only then the traceback is asked which generated line failed, the line tells the field
and the frame's locals the offset. So a good message pays nothing for good error texts. The alternative,
passing names and offsets to every check, made decoding a third slower.
"""

import struct
from collections.abc import Callable, Sequence
from types import CodeType, TracebackType

from barnabas.base.errors import DecodeError
from barnabas.base.hints import Any, NoReturn, Protocol
from barnabas.base.region import FileSlice

Buffer = bytes | bytearray | memoryview
Codec = Callable[..., Any]

STRING_BYTES_MAX = 0x7FFF
"""Kafka refuses longer strings in either encoding."""

_INT32_MAX = 0x7FFF_FFFF
PART_BYTES_MIN = 16 * 1024
"""Parts of at least this size are not copied into their neighbours: a join costs more than an iovec."""

NO_TAG = 1 << 32
"""Above every tag."""

VARINTS: tuple[bytes, ...] = tuple(bytes((n,)) for n in range(128))
"""The varints of one byte, by value."""


class Fault(Exception):  # noqa: N818  # never leaves this package: it becomes a DecodeError or ValueError
    """A check of generated code failed; its text lacks message, field and offset."""


class VersionCompiler(Protocol):
    """What makes the codecs of a message."""

    def compile_version(self, version: int) -> Codec:
        """Return the codec to use for a version; ValueError when there is no such version."""

    def generate(self, version: int) -> Codec:
        """Return the generated codec, behind any that is written by hand."""


class CodecTable(dict[int, Codec]):
    """Codecs of one message by version, compiled when first asked for."""

    __slots__ = ("compiler",)

    def __init__(self, compiler: VersionCompiler) -> None:
        super().__init__()
        self.compiler = compiler

    def __missing__(self, version: int) -> Codec:
        # Two threads may compile the same codec: both are equal, the first one stays.
        return self.setdefault(version, self.compiler.compile_version(version))


def read_varint(buffer: memoryview, position: int) -> tuple[int, int]:
    """Return the unsigned varint at `position` and the position behind it.

    Raises:
        Fault: longer than 5 bytes or above 2**31 - 1.
        IndexError: the buffer ends inside it.
    """
    value = shift = 0
    while True:
        byte = buffer[position]
        position += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            break
        shift += 7
        if shift > 28:
            raise Fault("varint of more than 5 bytes")
    if value > _INT32_MAX:
        raise Fault(f"varint {value} does not fit 31 bits")
    return value, position


def read_length(buffer: memoryview, position: int) -> tuple[int, int]:
    """Return a compact length of several bytes and the position behind it.

    Args:
        position: behind the first byte, which the caller has looked at.
    """
    value, position = read_varint(buffer, position - 1)
    return value - 1, position


def write_varint(value: int) -> bytes:
    """Return the unsigned varint of a value below 2**32."""
    made = bytearray()
    while value > 0x7F:
        made.append(value & 0x7F | 0x80)
        value >>= 7
    made.append(value)
    return bytes(made)


def bad_length(length: int, left: int) -> NoReturn:
    """Raise the fault of a length that is negative or beyond the bytes left."""
    if length == -1:
        raise Fault("null where the version allows none")
    if length < 0:
        raise Fault(f"negative length {length}")
    raise Fault(f"length {length} with {left} bytes left")


def bad_count(count: int, left: int, budget: int) -> NoReturn:
    """Raise the fault of an array count that cannot be true, or is beyond the budget."""
    if count == -1:
        raise Fault("null where the version allows none")
    if count < 0:
        raise Fault(f"negative count {count}")
    if budget < 0:
        raise Fault(f"count {count} is {-budget} objects beyond the budget")
    raise Fault(f"count {count} with {left} bytes left")


def bad_tag_size(excess: int) -> NoReturn:
    """Raise the fault of a tagged field whose size is not its content's."""
    raise Fault(
        f"the content is {abs(excess)} bytes {'longer' if excess > 0 else 'shorter'} than the field's size"
    )


def bad_uuid() -> NoReturn:
    raise Fault("a uuid is 16 bytes")


def long_string(value: bytes) -> NoReturn:
    raise Fault(f"a string of {len(value)} bytes; Kafka allows {STRING_BYTES_MAX}")


def no_tags() -> NoReturn:
    raise Fault("unknown_tags are set, but the version has no tagged fields")


def not_in_version() -> NoReturn:
    raise Fault("is set, but the version lacks the field")


def read_unknown_tags(
    buffer: memoryview, position: int, budget: int
) -> tuple[list[tuple[int, bytes]], int, int]:
    """Return a section of tagged fields as they are, the position behind it and the budget left."""
    end = len(buffer)
    count, position = read_varint(buffer, position)
    budget -= count
    if count * 2 > end - position or budget < 0:
        bad_count(count, end - position, budget)
    tags = []
    for _ in range(count):
        tag, position = read_varint(buffer, position)
        size, position = read_varint(buffer, position)
        if size > end - position:
            bad_length(size, end - position)
        tags.append((tag, bytes(buffer[position : position + size])))
        position += size
    return tags, position, budget


def write_unknown_tags(
    write: Callable[[Any], object], tags: Sequence[tuple[int, bytes]], start: int, known: int
) -> int:
    """Write tags[start:] below the tag `known`; return the index of the first not written."""
    while start < len(tags):
        tag, content = tags[start]
        if tag > known:
            break
        if tag == known:
            raise Fault(f"unknown_tags holds tag {tag}, which this version defines")
        write(write_varint(tag) + write_varint(len(content)))
        write(content)
        start += 1
    return start


def sorted_tags(tags: list[tuple[int, bytes]] | None) -> list[tuple[int, bytes]]:
    """Return unknown tags in the order of their numbers, as they must stand on the wire."""
    return sorted(tags, key=lambda item: item[0]) if tags else []


def write_only_tags(write: Callable[[Any], object], tags: list[tuple[int, bytes]]) -> None:
    """Write a section of tagged fields of which the version defines none."""
    write(write_varint(len(tags)))
    write_unknown_tags(write, sorted_tags(tags), 0, NO_TAG)


def tag_head(tag: int, parts: Sequence[Buffer | FileSlice], start: int) -> bytes:
    """Return number and size of a tagged field whose content is parts[start:]."""
    return write_varint(tag) + write_varint(sum(len(part) for part in parts[start:]))


def join_parts(parts: list[Any]) -> bytes:
    """Return the parts as one bytes object; a FileSlice among them is a ValueError."""
    try:
        return b"".join(parts)
    except TypeError:
        if any(isinstance(part, FileSlice) for part in parts):
            raise ValueError("a FileSlice needs encode_parts") from None
        raise


def pieces(parts: list[Any], cuts: Sequence[int], prefix: bytes) -> list[Buffer | FileSlice]:
    """Return prefix and parts, neighbours joined, except those at the positions `cuts`.

    An empty FileSlice is released and left out.
    """
    parts[:0] = (prefix,)
    if not cuts:
        return [b"".join(parts)]
    joined: list[Buffer | FileSlice] = []
    start = 0
    for cut in cuts:
        stop = cut + 1  # behind the prefix
        part = parts[stop]
        if not len(part):
            # A part of no bytes stays among its neighbours; there a slice would be no bytes-like.
            part.release()
            parts[stop] = b""
            continue
        joined.append(b"".join(parts[start:stop]))
        joined.append(part)
        start = stop + 1
    joined.append(b"".join(parts[start:]))
    return [part for part in joined if len(part)]


FAULTS = (Fault, struct.error, IndexError, UnicodeDecodeError)
"""What a decoder's checks and calls raise when the bytes are wrong."""

ENCODE_FAULTS = (Fault, struct.error, TypeError, AttributeError, UnicodeEncodeError, OverflowError)
"""What an encoder's calls raise when a value does not fit its field."""


def _where(error: BaseException, code: CodeType, paths: Sequence[str]) -> tuple[str, int | None]:
    """Return field and offset of the generated line that failed.

    Args:
        code: of the function around the codec; its lines follow the function's first.
    """
    step: TracebackType | None = error.__traceback__
    last = code.co_firstlineno + len(paths)
    while step is not None:
        if (
            step.tb_frame.f_code.co_filename == code.co_filename
            and code.co_firstlineno < step.tb_lineno <= last
        ):
            position = step.tb_frame.f_locals.get("p")
            field = paths[step.tb_lineno - code.co_firstlineno - 1]
            return field, position if isinstance(position, int) else None
        step = step.tb_next
    return "", None


def fault_reason(error: BaseException) -> str:
    """Return in words what one of FAULTS says of the bytes."""
    if isinstance(error, struct.error | IndexError):
        return "the bytes end early"
    if isinstance(error, UnicodeDecodeError):
        return "the string is not UTF-8"
    return str(error)


def decode_error(title: str, code: CodeType, paths: Sequence[str], error: BaseException) -> DecodeError:
    """Return the error to raise for a fault in a decoder: message, version, field, offset, reason."""
    field, position = _where(error, code, paths)
    at = f" at byte {position}" if position is not None else ""
    return DecodeError(f"{title} {field}{at}: {fault_reason(error)}")


def encode_error(title: str, code: CodeType, paths: Sequence[str], error: BaseException) -> ValueError:
    """Return the error to raise for a value that its field cannot carry."""
    field, _ = _where(error, code, paths)
    is_null = isinstance(error, TypeError | AttributeError) and "NoneType" in str(error)
    return ValueError(f"{title} {field}: {'null where the version allows none' if is_null else error}")

"""What every message and nested struct has: comparison, a short repr, and the way to its codec.

The classes themselves are compiled from the catalogue on first use, one for all versions of a struct;
see `compiler`. Attributes live in slots. dataclasses would offer the same surface, but creating one
costs 20 times as much as these, and several hundred exist.
"""

from barnabas.base.hints import Any, ClassVar, Self, final
from barnabas.base.limits import REQUEST_OBJECTS_MAX
from barnabas.base.region import FileSlice
from barnabas.protocol.codec_runtime import Codec, CodecTable, join_parts, pieces

Buffer = bytes | bytearray | memoryview

_REPR_BYTES_MAX = 32
_REPR_ITEMS_MAX = 8


@final
class Unset:
    """The type of UNSET."""

    __slots__ = ()

    def __repr__(self) -> str:
        return "..."


UNSET = Unset()
"""Marks a constructor argument that was not given where the default must be made afresh."""


def _short(value: object) -> str:
    if isinstance(value, bytes | bytearray | memoryview):
        if len(value) > _REPR_BYTES_MAX:
            return f"<{len(value)} bytes>"
        return repr(bytes(value))
    if isinstance(value, list) and len(value) > _REPR_ITEMS_MAX:
        head = ", ".join(map(_short, value[:_REPR_ITEMS_MAX]))
        return f"[{head}, ... {len(value)} items]"
    if isinstance(value, list):
        return f"[{', '.join(map(_short, value))}]"
    return repr(value)


class Struct:
    """A message or a struct nested in one.

    Compares by value with its own kind; mutable, hence not hashable. `unknown_tags` holds tagged fields
    that this catalogue does not know, as (tag, bytes), in the order they came.
    """

    __slots__: tuple[str, ...] = ()

    unknown_tags: list[tuple[int, bytes]] | None

    def __eq__(self, other: object) -> bool:
        if other.__class__ is not self.__class__:
            return NotImplemented
        return all(getattr(self, name) == getattr(other, name) for name in self.__slots__)

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        fields = ", ".join(
            f"{name}={_short(getattr(self, name))}"
            for name in self.__slots__
            if name != "unknown_tags" or self.unknown_tags
        )
        return f"{type(self).__name__}({fields})"


class Message(Struct):
    """A whole request, response, header or record.

    Class attributes: `api_key` is the API key or the record type (None where there is none), `valid_versions`
    the versions this catalogue knows, `flexible_from` the first with compact lengths and tagged fields.
    """

    __slots__ = ()

    api_key: ClassVar[int | None]
    valid_versions: ClassVar[range]
    flexible_from: ClassVar[int | None]
    _decoders: ClassVar[CodecTable]
    _encoders: ClassVar[CodecTable]

    @classmethod
    def decode(cls, buffer: Buffer, version: int, offset: int = 0) -> Self:
        """Return the message that starts at `offset`; bytes behind it are ignored, as Kafka does.

        `bytes` and `records` fields are memoryviews over the buffer, which must not change while they live.

        Raises:
            DecodeError: truncated, malformed, or more objects than limits.REQUEST_OBJECTS_MAX.
            ValueError: the message has no such version.
        """
        if offset < 0:
            raise ValueError(f"offset {offset} is negative")
        made: Self = cls._decoders[version](memoryview(buffer), offset, REQUEST_OBJECTS_MAX)[0]
        return made

    @classmethod
    def decoder(cls, version: int) -> Codec:
        """Return what `decode` does for a version, for whoever decodes many.

        Called with a memoryview, an offset and the most objects allowed, it returns the message and the
        offset behind it, and raises as `decode` does.

        Raises:
            ValueError: the message has no such version.
        """
        return cls._decoders[version]

    @classmethod
    def decode_from(
        cls, buffer: Buffer, version: int, offset: int, *, objects_max: int = REQUEST_OBJECTS_MAX
    ) -> tuple[Self, int]:
        """Return the message that starts at `offset`, and the offset of the first byte behind it.

        Raises:
            DecodeError: truncated, malformed, or more than `objects_max` structs and array elements.
            ValueError: the message has no such version.
        """
        if offset < 0:
            raise ValueError(f"offset {offset} is negative")
        made: tuple[Self, int] = cls._decoders[version](memoryview(buffer), offset, objects_max)
        return made

    def encode(self, version: int) -> bytes:
        """Return the body's bytes.

        Raises:
            ValueError: a value does not fit its field, or the version lacks a field that is set and not
                ignorable, or the message has no such version.
        """
        return join_parts(self._encoders[version](self)[0])

    def encode_parts(self, version: int, prefix: bytes = b"") -> list[Buffer | FileSlice]:
        """Return `prefix` and the body as parts to send one behind the other.

        A FileSlice given as a `records` field is a part of its own, unread; so is a large buffer, uncopied.
        An empty FileSlice is released and left out. Raises as `encode` does.
        """
        parts, cuts = self._encoders[version](self)
        return pieces(parts, cuts, prefix)

    # `Any` keeps the lookup in the tables free of casts on the hot path.
    def __init__(self, **fields: Any) -> None:
        raise NotImplementedError

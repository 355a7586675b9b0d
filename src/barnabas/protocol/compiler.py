"""Makes classes and codecs of a message out of its specification, when they are first used.

Classes are compiled from generated source as a person would write them, then share one codec table per
message. Codecs are compiled per version; versions that differ in nothing share one function. Generated
source is kept where tracebacks and debuggers look for it: at the loader of the code's globals.

Generating and compiling takes a millisecond each. What every start needs, thirty of them, therefore stands
generated in `start_codecs`, which is compiled when the package is installed.

The few messages of the hot path have codecs written by hand for their most common shape in front of the
generated ones (`fetch_codec`, `produce_codec`).

exec of generated source is what namedtuple and dataclasses do too; closures assembled at run time would
need no exec but decode four times slower.
"""

import struct
from collections.abc import Callable
from types import CodeType, FunctionType

from barnabas.base.errors import DecodeError
from barnabas.base.hints import TYPE_CHECKING, Any
from barnabas.base.region import FileSlice
from barnabas.protocol import codec_runtime, fetch_codec, produce_codec, schema, start_codecs
from barnabas.protocol.codec_runtime import (
    ENCODE_FAULTS,
    FAULTS,
    NO_TAG,
    PART_BYTES_MIN,
    VARINTS,
    Codec,
    CodecTable,
    bad_count,
    bad_length,
    decode_error,
    encode_error,
    read_length,
    read_unknown_tags,
    read_varint,
    sorted_tags,
    tag_head,
    write_only_tags,
    write_unknown_tags,
    write_varint,
)
from barnabas.protocol.schema import MessageHead, MessageSpec
from barnabas.protocol.structures import UNSET, Message, Struct

if TYPE_CHECKING:
    from barnabas.protocol.source_writer import SourceWriter

MODULE = "barnabas.protocol.messages"
"""Where the classes appear to live."""


class GeneratedSource:
    """What linecache asks, as it would ask the loader of a zip file, for lines that are in no file."""

    __slots__ = ("_lines",)

    def __init__(self, lines: list[str]) -> None:
        self._lines = lines

    def get_source(self, _module: str) -> str:
        """Return the whole text."""
        return "\n".join(self._lines) + "\n"


def _compile(lines: list[str], filename: str) -> CodeType:
    """Return the code of the one function in these lines."""
    constants = compile("\n".join(lines), filename, "exec").co_consts
    return next(constant for constant in constants if isinstance(constant, CodeType))


def make_classes(head: MessageHead) -> dict[str, type[Struct]]:
    """Return the classes of a message by name: its own first, then those of its nested structs."""
    namespace: dict[str, Any] = {
        "__name__": MODULE,
        "Message": Message,
        "Struct": Struct,
        "UNSET": UNSET,
        "new": object.__new__,
    }
    ready = start_codecs.CLASSES.get(head.name)
    if ready is None:
        from barnabas.protocol.message_source import class_source  # noqa: PLC0415 - seldom at a start

        lines = class_source(schema.load(head.name))
        namespace["__loader__"] = GeneratedSource(lines)
        code = _compile(lines, f"barnabas {head.name} classes")
    else:
        code = ready.__code__
    defined = FunctionType(code, namespace)()
    namespace |= defined
    classes: dict[str, type[Struct]] = {
        name: value for name, value in defined.items() if isinstance(value, type)
    }
    for name, value in classes.items():
        value.__qualname__ = name
    made: Any = classes[head.name]
    made.api_key = head.key
    made.valid_versions = head.versions
    made.flexible_from = head.flexible[0] if head.flexible else None
    made._decoders = CodecTable(CodecCompiler(head, namespace, decoding=True))
    made._encoders = CodecTable(CodecCompiler(head, namespace, decoding=False))
    return classes


def _layout(message: MessageSpec, version: int) -> tuple[bool, ...]:
    """Return what tells the encodings of two versions of a message apart."""
    facts = [version in message.head.flexible]
    for spec in message.structs:
        for field in spec.fields:
            facts += (version in field.versions, version in field.tagged, version in field.nullable)
    return tuple(facts)


class CodecCompiler:
    """Compiles the decoders or the encoders of one message."""

    def __init__(self, head: MessageHead, classes: dict[str, Any], *, decoding: bool) -> None:
        self._head = head
        self._classes = classes
        self._decoding = decoding
        self._loaded: MessageSpec | None = None
        self._by_layout: dict[tuple[bool, ...], tuple[CodeType, list[str], SourceWriter]] = {}

    @property
    def _message(self) -> MessageSpec:
        if self._loaded is None:
            self._loaded = schema.load(self._head.name)
        return self._loaded

    def compile_version(self, version: int) -> Codec:
        """Return the codec to use for a version.

        Raises:
            ValueError: the message has no such version.
        """
        generated = self.generate(version)
        by_hand = _DECODERS_BY_HAND.get(self._head.name) if self._decoding else None
        return generated if by_hand is None else by_hand(version, self._classes, generated)

    def generate(self, version: int) -> Codec:
        """Return the generated codec of a version, which codecs written by hand must equal."""
        head = self._head
        if version not in head.versions:
            raise ValueError(
                f"{head.name} has versions {head.versions[0]}-{head.versions[-1]}, not {version}"
            )
        ready = start_codecs.CODECS.get((head.name, version, self._decoding))
        if ready is not None:
            function, formats = ready
            return self._bind(function.__code__, version, formats)
        code, lines, writer = self._compiled(version)
        return self._bind(code, version, tuple(writer.formats), GeneratedSource(lines))

    def _compiled(self, version: int) -> "tuple[CodeType, list[str], SourceWriter]":
        """Return the code, which versions of equal layout share."""
        layout = _layout(self._message, version)
        known = self._by_layout.get(layout)
        if known is None:
            from barnabas.protocol.message_source import codec_source  # noqa: PLC0415 - seldom at a start

            lines, writer = codec_source(self._message, version, decoding=self._decoding)
            kind = "decoder" if self._decoding else "encoder"
            code = _compile(lines, f"barnabas {self._head.name} {kind} v{version}")
            known = self._by_layout[layout] = (code, lines, writer)
        return known

    def _bind(
        self, code: CodeType, version: int, formats: tuple[str, ...], source: GeneratedSource | None = None
    ) -> Codec:
        """Return the codec that the code defines, with globals that name its own version."""
        names = dict(self._classes)
        names["__loader__"] = source
        for number, text in enumerate(formats):
            compiled = struct.Struct(text)
            if self._decoding:
                names[f"S{number}_unpack"] = compiled.unpack_from
            else:
                names[f"S{number}_pack"] = compiled.pack
        names |= _DECODER_NAMES if self._decoding else _ENCODER_NAMES
        names["fail"] = self._failure(code, version)
        codec: Codec = FunctionType(code, names)()["decode" if self._decoding else "encode"]
        return codec

    def _failure(self, code: CodeType, version: int) -> Callable[[BaseException], DecodeError | ValueError]:
        describe = decode_error if self._decoding else encode_error
        title = f"{self._head.name} v{version}"

        paths: list[str] = []  # which field each line serves: needed with the first fault, then kept

        def fail(error: BaseException) -> DecodeError | ValueError:
            if not paths:
                from barnabas.protocol.message_source import codec_source  # noqa: PLC0415

                paths.extend(codec_source(self._message, version, decoding=self._decoding)[1].paths)
            return describe(title, code, paths, error)

        return fail


_DECODERS_BY_HAND = {
    "FetchRequest": fetch_codec.request_decoder,
    "ProduceRequest": produce_codec.request_decoder,
}

_DECODER_NAMES = {
    "FAULTS": FAULTS,
    "bad_count": bad_count,
    "bad_length": bad_length,
    "bad_tag_size": codec_runtime.bad_tag_size,
    "new": object.__new__,
    "read_length": read_length,
    "read_unknown_tags": read_unknown_tags,
    "read_varint": read_varint,
    "unpack_from": struct.unpack_from,
}

_ENCODER_NAMES = {
    "FAULTS": ENCODE_FAULTS,
    "FileSlice": FileSlice,
    "NO_TAG": NO_TAG,
    "PART_BYTES_MIN": PART_BYTES_MIN,
    "VARINTS": VARINTS,
    "bad_uuid": codec_runtime.bad_uuid,
    "long_string": codec_runtime.long_string,
    "no_tags": codec_runtime.no_tags,
    "not_in_version": codec_runtime.not_in_version,
    "pack": struct.pack,
    "sorted_tags": sorted_tags,
    "tag_head": tag_head,
    "write_only_tags": write_only_tags,
    "write_unknown_tags": write_unknown_tags,
    "write_varint": write_varint,
}

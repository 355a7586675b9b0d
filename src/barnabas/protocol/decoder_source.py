"""Generates the decoder of one message in one version.

The whole message becomes one function without calls for nested structs: a call costs as much as decoding
five integers. Adjacent fields of constant size, and the length in front of what follows them, are read by
one precompiled Struct straight into attributes. Counts are checked against the bytes left (by the least
size of an element) and charged to the budget before a list grows.

Stricter than Apache Kafka on purpose, which no honest client notices: strings must be UTF-8, a length below
-1 is not null but an error, and a tagged field must fill exactly the size it states.

Names in generated code: b buffer, p position, e end, g budget left, o0 o1 .. structs and elements, n length
or count, a1 a2 .. lists, and for tagged fields t1 .. tag, q1 .. end of the content, u1 .. unknown ones.
"""

from barnabas.protocol.schema import FIXED_SIZES, FIXED_TYPES, FieldSpec, MessageSpec, StructSpec
from barnabas.protocol.source_writer import (
    SourceWriter,
    absent_fields,
    default_source,
    element_minimum,
    tagged_fields,
    untagged_fields,
)


class DecoderSource:
    """Writes one decoder; `writer` holds the result."""

    def __init__(self, message: MessageSpec, version: int) -> None:
        self.version = version
        self.flexible = version in message.head.flexible
        self.writer = writer = SourceWriter()
        with writer.block("def decode(b, p, g):"):
            with writer.block("try:"):
                writer.emit("e = len(b)")
                self._struct(message.root, "o0")
                writer.emit("return o0, p")
            writer.emit("except FAULTS as fault:", "    raise fail(fault) from None")

    def _flush(self) -> None:
        """Read the gathered run."""
        run = self.writer.take_run()
        if run is not None:
            targets = ", ".join(run.expressions) + ("," if len(run.expressions) == 1 else "")
            self.writer.emit(f"{targets} = {run.struct_name}_unpack(b, p)", f"p += {run.size}", path=run.path)

    def _struct(self, struct: StructSpec, target: str) -> None:
        writer = self.writer
        self._flush()
        writer.emit(f"{target} = new({struct.class_name})")
        for field in absent_fields(struct, self.version):
            writer.emit(f"{target}.{field.attribute} = {default_source(field)}")
        for field in untagged_fields(struct, self.version):
            with writer.field(field.attribute):
                self._value(field, f"{target}.{field.attribute}")
        self._flush()
        if self.flexible:
            self._tags(tagged_fields(struct, self.version), target)
        else:
            writer.emit(f"{target}.unknown_tags = None")

    def _value(self, field: FieldSpec, target: str) -> None:
        """Read one field; a primitive of constant size only joins the run."""
        nullable = self.version in field.nullable
        compact = self.flexible and not field.never_compact
        if field.is_array:
            self._length(compact, "i")
            if nullable:
                writer = self.writer
                writer.emit("if n == -1:", f"    {target} = None")
                with writer.block("else:"):
                    self._elements(field, target)
            else:
                self._elements(field, target)
        elif field.struct is not None:
            # Kafka marks null by a negative byte in line, but by the varint 0 inside a tagged field.
            null = "n == 0" if self.version in field.tagged else "n > 127"
            self._single_struct(field.struct, target, null if nullable else None)
        elif field.type in FIXED_TYPES:
            self.writer.add_fixed(FIXED_TYPES[field.type], target)
        else:
            self._blob(field.type, target, nullable, compact)

    def _length(self, compact: bool, characters: str) -> None:
        """Read a length or count into n; -1 is null."""
        if not compact:
            self.writer.add_fixed(characters, "n")
            self._flush()
            return
        self._flush()
        self.writer.emit(
            "n = b[p] - 1",
            "p += 1",
            "if n > 126:",
            "    n, p = read_length(b, p)",
        )

    def _blob(self, type_name: str, target: str, nullable: bool, compact: bool) -> None:
        is_text = type_name == "string"
        self._length(compact, "h" if is_text else "i")
        bound = " or n > 32767" if is_text and compact else ""
        lines = [
            f"if n < 0 or n > e - p{bound}:",
            "    bad_length(n, e - p)",
            f"{target} = " + ('str(b[p : p + n], "utf-8")' if is_text else "b[p : p + n]"),
            "p += n",
        ]
        if nullable:
            lines = ["if n == -1:", f"    {target} = None", "else:", *(f"    {line}" for line in lines)]
        self.writer.emit(*lines)

    def _single_struct(self, struct: StructSpec, target: str, null: str | None) -> None:
        writer = self.writer
        self._flush()
        inner = writer.fresh("o")
        if null is not None:
            writer.emit("n = b[p]", "p += 1", f"if {null}:", f"    {target} = None")
            with writer.block("else:"):
                self._struct(struct, inner)
                writer.emit(f"{target} = {inner}")
        else:
            self._struct(struct, inner)
            writer.emit(f"{target} = {inner}")

    def _elements(self, field: FieldSpec, target: str) -> None:
        """Check the count n and read so many elements into a new list."""
        writer = self.writer
        size = element_minimum(field, self.version, self.flexible)
        writer.emit(
            "g -= n",
            f"if n < 0 or n{f' * {size}' if size > 1 else ''} > e - p or g < 0:",
            "    bad_count(n, e - p, g)",
        )
        if field.type == "uuid":
            writer.emit(f"{target} = [bytes(b[q : q + 16]) for q in range(p, p + n * 16, 16)]", "p += n * 16")
            return
        if field.type in FIXED_TYPES:
            character = FIXED_TYPES[field.type]
            writer.emit(
                f'{target} = list(unpack_from(f">{{n}}{character}", b, p))',
                f"p += n * {FIXED_SIZES[character]}",
            )
            return
        items, item = writer.fresh("a"), writer.fresh("o")
        writer.emit(f"{items} = {target} = []")
        with writer.block("for _ in range(n):"):
            if field.struct is not None:
                self._struct(field.struct, item)
            else:
                self._blob(field.type, item, False, self.flexible)
            writer.emit(f"{items}.append({item})")

    def _tags(self, known: list[FieldSpec], target: str) -> None:
        writer = self.writer
        for field in known:
            writer.emit(f"{target}.{field.attribute} = {default_source(field)}")
        with writer.field("tagged fields"):
            if not known:
                writer.emit(
                    "if b[p]:",
                    f"    {target}.unknown_tags, p, g = read_unknown_tags(b, p, g)",
                    "else:",
                    f"    {target}.unknown_tags = None",
                    "    p += 1",
                )
                return
            writer.emit(
                f"{target}.unknown_tags = None",
                "n = b[p]",
                "p += 1",
                "if n > 127:",
                "    n, p = read_varint(b, p - 1)",
            )
            with writer.block("if n:"):
                self._known_tags(known, target)

    def _known_tags(self, known: list[FieldSpec], target: str) -> None:
        writer = self.writer
        unknown, tag, stop = writer.fresh("u"), writer.fresh("t"), writer.fresh("q")
        writer.emit(
            "g -= n",
            "if n * 2 > e - p or g < 0:",
            "    bad_count(n, e - p, g)",
            f"{unknown} = []",
        )
        with writer.block("for _ in range(n):"):
            writer.emit(
                f"{tag}, p = read_varint(b, p)",
                "n, p = read_varint(b, p)",
                "if n > e - p:",
                "    bad_length(n, e - p)",
                f"{stop} = p + n",
            )
            for index, field in enumerate(known):
                test = f"{'elif' if index else 'if'} {tag} == {field.tag}:"
                with writer.block(test), writer.sibling(field.attribute):
                    self._value(field, f"{target}.{field.attribute}")
                    self._flush()
                    writer.emit(f"if p != {stop}:", f"    bad_tag_size(p - {stop})")
            writer.emit("else:", f"    {unknown}.append(({tag}, bytes(b[p:{stop}])))", f"    p = {stop}")
        writer.emit(f"{target}.unknown_tags = {unknown} or None")

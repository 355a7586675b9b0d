"""Generates the encoder of one message in one version.

The encoder appends byte strings to one list that is joined at the end. Records and other large values pass
through uncopied; `cuts` tells where they stand in the list. Adjacent constant-size fields are packed by one
precompiled Struct. A tagged field is written behind a placeholder that is replaced by its number and size
once these are known.

Names in generated code: w appends to parts, o0 o1 .. structs and elements, v1 v2 .. values, a1 a2 .. lists,
n length, and for tagged fields u1 .. unknown ones, k1 .. how many of them are written, c1 .. count,
i1 .. index of a placeholder.
"""

from barnabas.protocol.schema import FIXED_TYPES, FieldSpec, MessageSpec, StructSpec
from barnabas.protocol.source_writer import SourceWriter, absent_fields, tagged_fields, untagged_fields


class EncoderSource:
    """Writes one encoder; `writer` holds the result."""

    def __init__(self, message: MessageSpec, version: int) -> None:
        self.version = version
        self.flexible = version in message.head.flexible
        self.writer = writer = SourceWriter()
        with writer.block("def encode(o0):"):
            writer.emit("parts = []", "cuts = []", "w = parts.append")
            with writer.block("try:"):
                self._struct(message.root, "o0")
                self._flush()
                writer.emit("return parts, cuts")
            writer.emit("except FAULTS as fault:", "    raise fail(fault) from fault")

    def _flush(self) -> None:
        """Write the gathered run."""
        run = self.writer.take_run()
        if run is not None:
            self.writer.emit(f"w({run.struct_name}_pack({', '.join(run.expressions)}))", path=run.path)

    def _struct(self, struct: StructSpec, source: str) -> None:
        writer = self.writer
        for field in absent_fields(struct, self.version):
            if not field.ignorable:
                with writer.field(field.attribute):
                    self._flush()
                    writer.emit(
                        f"if {differs(field, f'{source}.{field.attribute}')}:", "    not_in_version()"
                    )
        for field in untagged_fields(struct, self.version):
            with writer.field(field.attribute):
                self._value(field, f"{source}.{field.attribute}")
        if self.flexible:
            self._flush()
            self._tags(tagged_fields(struct, self.version), source)
        else:
            self._flush()
            writer.emit(f"if {source}.unknown_tags:", "    no_tags()")

    def _value(self, field: FieldSpec, source: str) -> None:
        """Write one field; a primitive of constant size only joins the run."""
        nullable = self.version in field.nullable
        compact = self.flexible and not field.never_compact
        if field.is_array:
            self._array(field, source, nullable, compact)
        elif field.struct is not None:
            # Kafka marks null by -1 in line, but by the varint 0 inside a tagged field.
            null = b"\0" if self.version in field.tagged else b"\xff"
            self._single_struct(field.struct, source, null if nullable else None)
        elif field.type == "uuid":
            self._uuid(source)
        elif field.type in FIXED_TYPES:
            self.writer.add_fixed(FIXED_TYPES[field.type], source)
        else:
            self._blob(field.type, source, nullable, compact)

    def _uuid(self, source: str) -> None:
        # Struct would cut or pad a value of the wrong length in silence.
        value = self.writer.fresh("v")
        self.writer.emit(f"{value} = {source}", f"if len({value}) != 16:", "    bad_uuid()")
        self.writer.add_fixed("16s", value)

    def _count(self, expression: str, compact: bool, characters: str) -> None:
        """Write a length or count."""
        if not compact:
            self.writer.add_fixed(characters, expression)
            return
        self._flush()
        self.writer.emit(f"n = {expression} + 1", "w(VARINTS[n] if n < 128 else write_varint(n))")

    def _blob(self, type_name: str, source: str, nullable: bool, compact: bool) -> None:
        writer = self.writer
        value = writer.fresh("v")
        writer.emit(f"{value} = {source}")
        if nullable:
            self._flush()
            null = b"\0" if compact else b"\xff" * (2 if type_name == "string" else 4)
            writer.emit(f"if {value} is None:", f"    w({null!r})")
            with writer.block("else:"):
                self._present_blob(type_name, value, compact)
        else:
            self._present_blob(type_name, value, compact)

    def _present_blob(self, type_name: str, value: str, compact: bool) -> None:
        writer = self.writer
        if type_name == "string":
            writer.emit(f"{value} = {value}.encode()")
            writer.emit(f"if len({value}) > 32767:", f"    long_string({value})")
        self._count(f"len({value})", compact, "h" if type_name == "string" else "i")
        self._flush()
        if type_name != "string":
            writer.emit(
                f"if len({value}) >= PART_BYTES_MIN or {value}.__class__ is FileSlice:",
                "    cuts.append(len(parts))",
            )
        writer.emit(f"w({value})")

    def _single_struct(self, struct: StructSpec, source: str, null: bytes | None) -> None:
        writer = self.writer
        inner = writer.fresh("o")
        writer.emit(f"{inner} = {source}")
        if null is not None:
            self._flush()
            writer.emit(f"if {inner} is None:", f"    w({null!r})")
            with writer.block("else:"):
                writer.add_fixed("b", "1")
                self._struct(struct, inner)
                self._flush()
        else:
            self._struct(struct, inner)

    def _array(self, field: FieldSpec, source: str, nullable: bool, compact: bool) -> None:
        writer = self.writer
        items = writer.fresh("a")
        writer.emit(f"{items} = {source}")
        if nullable:
            self._flush()
            null = b"\0" if compact else b"\xff" * 4
            writer.emit(f"if {items} is None:", f"    w({null!r})")
            with writer.block("else:"):
                self._elements(field, items, compact)
        else:
            self._elements(field, items, compact)

    def _elements(self, field: FieldSpec, items: str, compact: bool) -> None:
        writer = self.writer
        self._count(f"len({items})", compact, "i")
        self._flush()
        if field.type in FIXED_TYPES and field.type != "uuid":
            writer.emit(f'w(pack(f">{{len({items})}}{FIXED_TYPES[field.type]}", *{items}))')
            return
        item = writer.fresh("o")
        with writer.block(f"for {item} in {items}:"):
            if field.struct is not None:
                self._struct(field.struct, item)
            elif field.type == "uuid":
                self._uuid(item)
            else:
                self._blob(field.type, item, False, compact)
            self._flush()

    def _tags(self, known: list[FieldSpec], source: str) -> None:
        writer = self.writer
        tags = f"{source}.unknown_tags"
        if not known:
            with writer.field("tagged fields"):
                writer.emit(f"if {tags}:", f"    write_only_tags(w, {tags})", "else:", "    w(b'\\0')")
            return
        conditions = [differs(field, f"{source}.{field.attribute}") for field in known]
        with writer.block(f"if {' or '.join([tags, *conditions])}:"):
            unknown, written, count, head = (writer.fresh(name) for name in "ukci")
            writer.emit(
                f"{unknown} = sorted_tags({tags})",
                f"{written} = 0",
                f"{count} = len({unknown})",
                f"{head} = len(parts)",
                "w(b'')",
            )
            for field, condition in zip(known, conditions, strict=True):
                with writer.field(field.attribute), writer.block(f"if {condition}:"):
                    place = writer.fresh("i")
                    writer.emit(
                        f"{written} = write_unknown_tags(w, {unknown}, {written}, {field.tag})",
                        f"{count} += 1",
                        f"{place} = len(parts)",
                        "w(b'')",
                    )
                    self._value(field, f"{source}.{field.attribute}")
                    self._flush()
                    writer.emit(f"parts[{place}] = tag_head({field.tag}, parts, {place})")
            writer.emit(
                f"write_unknown_tags(w, {unknown}, {written}, NO_TAG)",
                f"parts[{head}] = write_varint({count})",
            )
        writer.emit("else:", "    w(b'\\0')")


def differs(field: FieldSpec, source: str) -> str:
    """Return the expression that tells whether a field is not at its default."""
    if field.default is None:
        return f"{source} is not None"
    if field.is_array or field.type in ("bytes", "records"):
        return f"({source} is None or len({source}))" if field.nullable else f"len({source})"
    if field.struct is not None:
        # Spelled out: calling __eq__ for three such fields of each fetched partition is what a
        # response of many partitions would spend most of its time on.
        members = [differs(member, f"{source}.{member.attribute}") for member in field.struct.fields]
        null = [f"{source} is None"] if field.nullable else []
        return f"({' or '.join([*null, f'{source}.unknown_tags', *members])})"
    if field.type == "bool":
        return source if field.default is False else f"not {source}"
    if field.type in ("float64", "string", "uuid") or field.default:
        return f"{source} != {field.default!r}"
    return source

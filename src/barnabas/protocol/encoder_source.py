"""Generates the encoder of one message in one version.

The encoder appends byte strings to one list that is joined at the end: records and other large values
pass through uncopied. Adjacent constant-size fields are packed by one precompiled Struct. A tagged field
is written behind a placeholder that is replaced by its number and size once these are known.

Names in generated code: w appends to parts, o0 o1 .. objects by depth, v value, s its bytes, n length,
i index of a placeholder, t tagged fields written.
"""

from barnabas.protocol.schema import FIXED_TYPES, FieldSpec, MessageSpec, StructSpec
from barnabas.protocol.source_writer import (
    SourceWriter,
    absent_fields,
    tagged_fields,
    untagged_fields,
)


class EncoderSource:
    """Writes one encoder; `writer` holds the result."""

    def __init__(self, message: MessageSpec, version: int) -> None:
        self.version = version
        self.flexible = version in message.head.flexible
        self.writer = SourceWriter()
        self._names = 0
        self._run: list[tuple[str, str, str]] = []
        writer = self.writer
        writer.emit("def encode(o0):")
        writer.indent()
        writer.emit("parts = []")
        writer.emit("w = parts.append")
        writer.emit("try:")
        writer.indent()
        self._struct(message.root, "o0")
        self._flush()
        writer.emit("return parts")
        writer.dedent()
        writer.emit("except FAULTS as fault:")
        writer.indent()
        writer.emit("raise fail(fault) from fault")

    def _fresh(self, prefix: str) -> str:
        self._names += 1
        return f"{prefix}{self._names}"

    def _add_fixed(self, field: str, characters: str, expression: str) -> None:
        self._run.append((field, characters, expression))

    def _flush(self) -> None:
        """Write the pending run."""
        run, self._run = self._run, []
        if not run:
            return
        name = self.writer.format_name("".join(c for _, c, _ in run))
        values = ", ".join(expression for _, _, expression in run)
        names = ", ".join(field for field, _, _ in run if field)
        self.writer.emit_for(names, f"w({name}_pack({values}))")

    def _struct(self, struct: StructSpec, source: str) -> None:
        writer = self.writer
        for field in absent_fields(struct, self.version):
            if not field.ignorable:
                self._refuse(field, f"{source}.{field.attribute}")
        for field in untagged_fields(struct, self.version):
            writer.enter(field.attribute)
            self._value(field, f"{source}.{field.attribute}")
            writer.leave()
        if self.flexible:
            self._tags(struct, source)
        else:
            self._flush()
            writer.emit(f"if {source}.unknown_tags:")
            writer.indent()
            writer.emit("no_tags()")
            writer.dedent()

    def _refuse(self, field: FieldSpec, source: str) -> None:
        writer = self.writer
        self._flush()
        writer.emit_for(field.attribute, f"if {differs(field, source)}:")
        writer.indent()
        writer.emit_for(field.attribute, "not_in_version()")
        writer.dedent()

    def _value(self, field: FieldSpec, source: str) -> None:
        nullable = self.version in field.nullable
        compact = self.flexible and not field.never_compact
        if field.is_array:
            self._array(field, source, nullable, compact)
        elif field.struct is not None:
            self._single_struct(field, source, nullable)
        elif field.type == "uuid":
            self._uuid(source)
        elif field.type in FIXED_TYPES:
            self._add_fixed(field.attribute, FIXED_TYPES[field.type], source)
        else:
            self._blob(field.type, source, nullable, compact)

    def _uuid(self, source: str) -> None:
        # Struct would cut or pad a value of the wrong length in silence.
        value = self._fresh("v")
        self.writer.emit(f"{value} = {source}")
        self.writer.emit(f"if len({value}) != 16:")
        self.writer.indent()
        self.writer.emit("bad_uuid()")
        self.writer.dedent()
        self._add_fixed("uuid", "16s", value)

    def _null_or(self, value: str, null: bytes) -> None:
        """Open the branch for a value that is not null."""
        writer = self.writer
        self._flush()
        writer.emit(f"if {value} is None:")
        writer.indent()
        writer.emit(f"w({null!r})")
        writer.dedent()
        writer.emit("else:")
        writer.indent()

    def _count(self, expression: str, compact: bool, characters: str) -> None:
        """Write a length or count."""
        if not compact:
            self._add_fixed("", characters, expression)
            return
        self._flush()
        self.writer.emit(f"n = {expression} + 1")
        self.writer.emit("w(VARINTS[n] if n < 128 else write_varint(n))")

    def _blob(self, type_name: str, source: str, nullable: bool, compact: bool) -> None:
        writer = self.writer
        is_text = type_name == "string"
        value = self._fresh("v")
        writer.emit(f"{value} = {source}")
        if nullable:
            width = 1 if compact else 2 if is_text else 4
            self._null_or(value, b"\0" if compact else b"\xff" * width)
        if is_text:
            writer.emit(f"{value} = {value}.encode()")
            if compact:
                writer.emit(f"if len({value}) > 32767:")
                writer.indent()
                writer.emit(f"long_string({value})")
                writer.dedent()
        self._count(f"len({value})", compact, "h" if is_text else "i")
        self._flush()
        writer.emit(f"w({value})")
        if nullable:
            writer.dedent()

    def _single_struct(self, field: FieldSpec, source: str, nullable: bool) -> None:
        assert field.struct is not None
        inner = self._fresh("o")
        if nullable:
            self.writer.emit(f"{inner} = {source}")
            self._null_or(inner, b"\xff")
            self._add_fixed("", "b", "1")
        else:
            self.writer.emit(f"{inner} = {source}")
        self._struct(field.struct, inner)
        if nullable:
            self._flush()
            self.writer.dedent()

    def _array(self, field: FieldSpec, source: str, nullable: bool, compact: bool) -> None:
        writer = self.writer
        items = self._fresh("a")
        writer.emit(f"{items} = {source}")
        if nullable:
            self._null_or(items, b"\0" if compact else b"\xff" * 4)
        self._count(f"len({items})", compact, "i")
        self._flush()
        self._elements(field, items)
        if nullable:
            writer.dedent()

    def _elements(self, field: FieldSpec, items: str) -> None:
        writer = self.writer
        if field.type in FIXED_TYPES and field.type != "uuid":
            writer.emit(f'w(pack(f">{{len({items})}}{FIXED_TYPES[field.type]}", *{items}))')
            return
        item = self._fresh("o")
        writer.emit(f"for {item} in {items}:")
        writer.indent()
        if field.struct is not None:
            self._struct(field.struct, item)
        elif field.type == "uuid":
            self._uuid(item)
        else:
            self._blob(field.type, item, False, self.flexible and not field.never_compact)
        self._flush()
        writer.dedent()

    def _tags(self, struct: StructSpec, source: str) -> None:
        writer = self.writer
        known = tagged_fields(struct, self.version)
        self._flush()
        conditions = [f"{source}.unknown_tags"]
        conditions += [differs(field, f"{source}.{field.attribute}") for field in known]
        writer.emit(f"if {' or '.join(conditions)}:")
        writer.indent()
        unknown, written, count, place = (self._fresh(name) for name in ("u", "k", "t", "i"))
        writer.emit(f"{unknown} = sorted_tags({source}.unknown_tags)")
        writer.emit(f"{written} = 0")
        writer.emit(f"{count} = len({unknown})")
        head = self._fresh("i")
        writer.emit(f"{head} = len(parts)")
        writer.emit("w(b'')")
        for field in known:
            writer.enter(field.attribute)
            writer.emit(f"if {differs(field, f'{source}.{field.attribute}')}:")
            writer.indent()
            writer.emit(f"if {unknown}:")
            writer.indent()
            writer.emit(f"{written} = write_unknown_tags(w, {unknown}, {written}, {field.tag})")
            writer.dedent()
            writer.emit(f"{count} += 1")
            writer.emit(f"{place} = len(parts)")
            writer.emit("w(b'')")
            self._value(field, f"{source}.{field.attribute}")
            self._flush()
            writer.emit(f"parts[{place}] = tag_head({field.tag}, parts, {place})")
            writer.dedent()
            writer.leave()
        writer.emit(f"if {unknown}:")
        writer.indent()
        writer.emit(f"write_unknown_tags(w, {unknown}, {written}, NO_TAG)")
        writer.dedent()
        writer.emit(f"parts[{head}] = write_varint({count})")
        writer.dedent()
        writer.emit("else:")
        writer.indent()
        writer.emit("w(b'\\0')")
        writer.dedent()


def differs(field: FieldSpec, source: str) -> str:
    """Return the expression that tells whether a field is not at its default."""
    if field.default is None:
        return f"{source} is not None"
    if field.is_array or field.type in ("bytes", "records"):
        return f"({source} is None or len({source}))"
    if field.struct is not None:
        return f"{source} != DEFAULT_{field.struct.class_name}"
    if field.type == "bool":
        return source if field.default is False else f"not {source}"
    if field.type in ("float64", "string", "uuid") or field.default:
        return f"{source} != {field.default!r}"
    return source

"""Generates the decoder of one message in one version.

The whole message becomes one function without calls for nested structs: a call costs as much as decoding
five integers. Adjacent fields of constant size, and the length in front of what follows them, are read by
one precompiled Struct straight into attributes. Counts are checked against the bytes left (by the least
size of an element) and charged to the budget before a list grows.

Names in generated code: b buffer, p position, e end, g budget left, o0 o1 .. objects by depth, n length or
count, q end of a tagged field.
"""

from barnabas.protocol.schema import FIXED_SIZES, FIXED_TYPES, FieldSpec, MessageSpec, StructSpec
from barnabas.protocol.source_writer import (
    SourceWriter,
    absent_fields,
    default_source,
    minimum_size,
    tagged_fields,
    untagged_fields,
)


class DecoderSource:
    """Writes one decoder; `writer` holds the result."""

    def __init__(self, message: MessageSpec, version: int) -> None:
        self.version = version
        self.flexible = version in message.head.flexible
        self.writer = SourceWriter()
        self._names = 0
        # The pending run of constant-size values: format characters and targets.
        self._run: list[tuple[str, str, str]] = []
        writer = self.writer
        writer.emit("def decode(b, p, g):")
        writer.indent()
        writer.emit("try:")
        writer.indent()
        writer.emit("e = len(b)")
        self._struct(message.root, "o0")
        writer.emit("return o0, p")
        writer.dedent()
        writer.emit("except FAULTS as fault:")
        writer.indent()
        writer.emit("raise fail(fault) from None")

    def _fresh(self, prefix: str) -> str:
        self._names += 1
        return f"{prefix}{self._names}"

    def _add_fixed(self, field: str, characters: str, target: str) -> None:
        self._run.append((field, characters, target))

    def _flush(self) -> None:
        """Read the pending run."""
        run, self._run = self._run, []
        if not run:
            return
        characters = "".join(c for _, c, _ in run)
        size = sum(FIXED_SIZES[c] for _, c, _ in run)
        name = self.writer.format_name(characters)
        targets = ", ".join(target for _, _, target in run)
        comma = "," if len(run) == 1 else ""
        self.writer.emit_for(run[0][0], f"{targets}{comma} = {name}_unpack(b, p)")
        self.writer.emit_for(run[0][0], f"p += {size}")

    def _struct(self, struct: StructSpec, target: str) -> None:
        writer = self.writer
        self._flush()
        writer.emit(f"{target} = new({struct.class_name})")
        for field in absent_fields(struct, self.version):
            writer.emit_for(field.attribute, f"{target}.{field.attribute} = {default_source(field)}")
        for field in untagged_fields(struct, self.version):
            if field.is_array or field.struct is not None or field.type not in FIXED_TYPES:
                writer.enter(field.attribute)
                self._value(field, f"{target}.{field.attribute}")
                writer.leave()
            else:
                self._add_fixed(field.attribute, FIXED_TYPES[field.type], f"{target}.{field.attribute}")
        self._flush()
        if self.flexible:
            self._tags(struct, target)
        else:
            writer.emit(f"{target}.unknown_tags = None")

    def _value(self, field: FieldSpec, target: str) -> None:
        """Read one field that is not merely a constant-size primitive in a run."""
        nullable = self.version in field.nullable
        compact = self.flexible and not field.never_compact
        if field.is_array:
            self._array(field, target, nullable)
        elif field.struct is not None:
            self._single_struct(field, target, nullable)
        elif field.type in FIXED_TYPES:
            self._add_fixed("", FIXED_TYPES[field.type], target)
            self._flush()
        else:
            self._blob(field.type, target, nullable, compact)

    def _length(self, compact: bool, characters: str) -> None:
        """Read a length or count into n; -1 is null."""
        writer = self.writer
        if not compact:
            self._add_fixed("", characters, "n")
            self._flush()
            return
        self._flush()
        writer.emit("n = b[p] - 1")
        writer.emit("p += 1")
        writer.emit("if n > 126:")
        writer.indent()
        writer.emit("n, p = read_varint(b, p - 1)")
        writer.emit("n -= 1")
        writer.dedent()

    def _blob(self, type_name: str, target: str, nullable: bool, compact: bool) -> None:
        writer = self.writer
        is_text = type_name == "string"
        self._length(compact, "h" if is_text else "i")
        if nullable:
            writer.emit("if n == -1:")
            writer.indent()
            writer.emit(f"{target} = None")
            writer.dedent()
            writer.emit("else:")
            writer.indent()
        bound = " or n > 32767" if is_text and compact else ""
        writer.emit(f"if n < 0 or n > e - p{bound}:")
        writer.indent()
        writer.emit("bad_length(n, e - p)")
        writer.dedent()
        value = 'str(b[p : p + n], "utf-8")' if is_text else "b[p : p + n]"
        writer.emit(f"{target} = {value}")
        writer.emit("p += n")
        if nullable:
            writer.dedent()

    def _single_struct(self, field: FieldSpec, target: str, nullable: bool) -> None:
        assert field.struct is not None
        writer = self.writer
        self._flush()
        if nullable:
            writer.emit("n = b[p]")
            writer.emit("p += 1")
            writer.emit("if n > 127:")
            writer.indent()
            writer.emit(f"{target} = None")
            writer.dedent()
            writer.emit("else:")
            writer.indent()
        inner = self._fresh("o")
        self._struct(field.struct, inner)
        writer.emit(f"{target} = {inner}")
        if nullable:
            writer.dedent()

    def _array(self, field: FieldSpec, target: str, nullable: bool) -> None:
        writer = self.writer
        compact = self.flexible and not field.never_compact
        self._length(compact, "i")
        if nullable:
            writer.emit("if n == -1:")
            writer.indent()
            writer.emit(f"{target} = None")
            writer.dedent()
            writer.emit("else:")
            writer.indent()
        size = self._element_minimum(field)
        needed = "n" if size == 1 else f"n * {size}"
        writer.emit(f"if n < 0 or {needed} > e - p:")
        writer.indent()
        writer.emit("bad_count(n, e - p)")
        writer.dedent()
        writer.emit("g -= n")
        writer.emit("if g < 0:")
        writer.indent()
        writer.emit("over_budget()")
        writer.dedent()
        self._elements(field, target)
        if nullable:
            writer.dedent()

    def _element_minimum(self, field: FieldSpec) -> int:
        if field.struct is not None:
            return minimum_size(field.struct, self.version, self.flexible)
        if field.type in FIXED_TYPES:
            return FIXED_SIZES[FIXED_TYPES[field.type]]
        if self.flexible and not field.never_compact:
            return 1
        return 2 if field.type == "string" else 4

    def _elements(self, field: FieldSpec, target: str) -> None:
        """Read n elements into a new list."""
        writer = self.writer
        if field.type == "uuid":
            writer.emit("q = p + n * 16")
            writer.emit(f"{target} = [bytes(b[p : p + 16]) for p in range(p, q, 16)]")
            writer.emit("p = q")
            return
        if field.type in FIXED_TYPES:
            character = FIXED_TYPES[field.type]
            writer.emit(f'{target} = list(unpack_from(f">{{n}}{character}", b, p))')
            writer.emit(f"p += n * {FIXED_SIZES[character]}" if FIXED_SIZES[character] > 1 else "p += n")
            return
        items = self._fresh("a")
        writer.emit(f"{items} = {target} = []")
        writer.emit("for _ in range(n):")
        writer.indent()
        item = self._fresh("o")
        if field.struct is not None:
            self._struct(field.struct, item)
        else:
            self._blob(field.type, item, False, self.flexible)
        writer.emit(f"{items}.append({item})")
        writer.dedent()

    def _tags(self, struct: StructSpec, target: str) -> None:
        writer = self.writer
        known = tagged_fields(struct, self.version)
        for field in known:
            writer.emit_for(field.attribute, f"{target}.{field.attribute} = {default_source(field)}")
        writer.emit("n = b[p]")
        writer.emit("p += 1")
        writer.emit("if n == 0:")
        writer.indent()
        writer.emit(f"{target}.unknown_tags = None")
        writer.dedent()
        writer.emit("else:")
        writer.indent()
        writer.enter("tagged fields")
        writer.emit("if n > 127:")
        writer.indent()
        writer.emit("n, p = read_varint(b, p - 1)")
        writer.dedent()
        if known:
            self._known_tags(known, target)
        else:
            writer.emit(f"{target}.unknown_tags, p, g = read_unknown_tags(b, p, n, g)")
        writer.leave()
        writer.dedent()

    def _known_tags(self, known: list[FieldSpec], target: str) -> None:
        writer = self.writer
        writer.emit("if n * 2 > e - p:")
        writer.indent()
        writer.emit("bad_count(n, e - p)")
        writer.dedent()
        writer.emit("g -= n")
        writer.emit("if g < 0:")
        writer.indent()
        writer.emit("over_budget()")
        writer.dedent()
        unknown, tag, stop = self._fresh("u"), self._fresh("t"), self._fresh("q")
        writer.emit(f"{unknown} = None")
        writer.emit("for _ in range(n):")
        writer.indent()
        writer.emit(f"{tag}, p = read_varint(b, p)")
        writer.emit("n, p = read_varint(b, p)")
        writer.emit("if n > e - p:")
        writer.indent()
        writer.emit("bad_length(n, e - p)")
        writer.dedent()
        writer.emit(f"{stop} = p + n")
        for index, field in enumerate(known):
            writer.emit(f"{'elif' if index else 'if'} {tag} == {field.tag}:")
            writer.indent()
            writer.leave()
            writer.enter(field.attribute)
            self._value(field, f"{target}.{field.attribute}")
            writer.emit(f"if p != {stop}:")
            writer.indent()
            writer.emit(f"bad_tag_size(p - {stop})")
            writer.dedent()
            writer.leave()
            writer.enter("tagged fields")
            writer.dedent()
        writer.emit("else:")
        writer.indent()
        writer.emit(f"if {unknown} is None:")
        writer.indent()
        writer.emit(f"{unknown} = []")
        writer.dedent()
        writer.emit(f"{unknown}.append(({tag}, bytes(b[p:{stop}])))")
        writer.emit(f"p = {stop}")
        writer.dedent()
        writer.dedent()
        writer.emit(f"{target}.unknown_tags = {unknown}")

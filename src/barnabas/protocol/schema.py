"""What the messages look like: the types of the catalogue and the reader of its notation.

Every message is described by one block of text under `catalogue/`, one indented line per field:

    request FetchRequest key=1 versions=4-18 flexible=12+ listeners=broker,controller
      ClusterId  string  12+  nullable=12+ tag=0 default=null ignorable
      Topics  []FetchTopic  0+
        Topic  string  0-12  ignorable

A line holds the name, the type and the versions of the field, then what departs from the plain case:
`nullable=` versions, `tag=` number (with `tagged=` versions when not all), `default=`, `flexible=none`
for the one string that is never compact, `ignorable` (dropped silently by versions that lack it) and
`key` (the field identifies its struct among its siblings). Deeper lines are the fields of the struct a
line names; `struct` lines define those that several fields share. `catalogue/index.txt` repeats each
block's first line under the name of its file, so that one message loads without reading the rest.

Text instead of Python dataclasses or JSON: a person compares a block with a specification at a glance,
a diff shows one field per line, and reading one block costs well under a millisecond.
"""

import os
from collections.abc import Iterator, Mapping
from functools import cache

from barnabas.base.dataclass import dataclass, field
from barnabas.base.named_tuple import NamedTuple

CATALOGUE = os.path.join(os.path.dirname(__file__), "catalogue")
"""The folder of the catalogue's text files."""

FOREVER = 32767
"""The upper end of `3+`: versions are int16 on the wire."""

FIXED_TYPES = {
    "bool": "?",
    "int8": "b",
    "int16": "h",
    "uint16": "H",
    "int32": "i",
    "uint32": "I",
    "int64": "q",
    "float64": "d",
    "uuid": "16s",
}
"""Types of constant size, with their struct format characters."""

FIXED_SIZES = {"?": 1, "b": 1, "h": 2, "H": 2, "i": 4, "I": 4, "q": 8, "d": 8, "16s": 16}

BLOB_TYPES = frozenset(("string", "bytes", "records"))
"""Types with a length in front."""

NO_VERSIONS = range(0)

Constant = bool | int | float | str | bytes | tuple[()] | None

EMPTY: tuple[()] = ()
"""The default of arrays and structs that are not null by default: an empty list, a struct of defaults."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FieldSpec:
    """One field of a struct, for all versions.

    `type` is the element's type when `is_array`; `struct` is its definition when it is no primitive.
    `default` is the value for primitives; for arrays and structs it is EMPTY or None (null).
    """

    name: str
    attribute: str
    type: str
    is_array: bool
    versions: range
    nullable: range
    tag: int | None
    tagged: range
    default: Constant
    ignorable: bool
    map_key: bool
    never_compact: bool
    struct: "StructSpec | None"


@dataclass(slots=True, kw_only=True)
class StructSpec:
    """A struct: the fields of a message itself or of something nested in it.

    `class_name` is unique in the whole catalogue: the message's name followed by the struct's.
    Filled in while its block is read, constant afterwards.
    """

    name: str
    class_name: str
    versions: range
    fields: list[FieldSpec] = field(default_factory=list)


class MessageHead(NamedTuple):
    """The first line of a message's block.

    `kind` is request, response, header, data, metadata, coordinator-key or coordinator-value; `key` is
    the API key or, for records, their type; `listeners` tells where a request is served.
    """

    file: str
    kind: str
    name: str
    key: int | None
    versions: range
    flexible: range
    latest_unstable: bool
    listeners: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class MessageSpec:
    """A message: its head, its root struct, and every struct in it, parents before children."""

    head: MessageHead
    root: StructSpec
    structs: tuple[StructSpec, ...]


class CatalogueError(ValueError):
    """The catalogue's own text is wrong; names the file and line."""


@cache
def parse_versions(text: str) -> range:
    """Return the versions that `3`, `3-5`, `3+` or `none` stand for."""
    if text == "none":
        return NO_VERSIONS
    if text.endswith("+"):
        return range(int(text[:-1]), FOREVER + 1)
    low, _, high = text.partition("-")
    return range(int(low), int(high or low) + 1)


def attribute_name(name: str) -> str:
    """Return the Python attribute for a field of Kafka's: `MaxWaitMs` is max_wait_ms."""
    text = name.replace("KRaft", "Kraft")
    made = text[:1]
    for before, here, after in zip(text, text[1:], text[2:] + " ", strict=False):
        # A word begins at a capital behind a small letter, and at the last of several capitals.
        if here.isupper() and (not before.isupper() or after.islower()):
            made += "_"
        made += here
    return made.lower()


def _options(words: list[str]) -> dict[str, str]:
    return {name: value for name, _, value in (word.partition("=") for word in words)}


def _parse_head(file: str, line: str) -> MessageHead:
    try:
        kind, name, *words = line.split()
        options = _options(words)
        key = options.get("key")
        listeners = options.get("listeners")
        return MessageHead(
            file,
            kind,
            name,
            None if key is None else int(key),
            parse_versions(options["versions"]),
            parse_versions(options["flexible"]),
            "unstable" in options,
            tuple(listeners.split(",")) if listeners else (),
        )
    except (ValueError, KeyError):
        raise CatalogueError(f"{file}: no message starts with {line!r}") from None


def _lines(file: str) -> list[str]:
    with open(os.path.join(CATALOGUE, f"{file}.txt"), encoding="ascii") as text:
        return text.read().splitlines()


class Index(Mapping[str, MessageHead]):
    """The heads of all messages by name, in the catalogue's order.

    A line is parsed when its message is asked for: a start needs forty of three hundred.
    """

    __slots__ = ("_heads", "_where")

    def __init__(self) -> None:
        self._heads: dict[str, MessageHead] = {}
        self._where: dict[str, tuple[str, str]] = {}
        file = ""
        for line in _lines("index"):
            if line.startswith("  "):
                self._where[line.split(" ", 4)[3]] = (file, line[2:])
            elif line:
                file = line

    def __getitem__(self, name: str) -> MessageHead:
        head = self._heads.get(name)
        if head is None:
            head = self._heads[name] = _parse_head(*self._where[name])
        return head

    def __contains__(self, name: object) -> bool:
        return name in self._where

    def __iter__(self) -> Iterator[str]:
        return iter(self._where)

    def __len__(self) -> int:
        return len(self._where)

    def names_by_key(self, kind: str, file: str | None = None) -> dict[int, str]:
        """Return the names of a kind's messages by API key or record type, of one file or of all."""
        start = f"{kind} "
        found = {}
        for name, (its_file, line) in self._where.items():
            if line.startswith(start) and file in (None, its_file):
                key = line.split(" ", 3)[2]
                if key.startswith("key="):
                    found[int(key.removeprefix("key="))] = name
        return found


@cache
def index() -> Index:
    """Return the index of the catalogue."""
    return Index()


def zero_value(type_name: str) -> Constant:
    """Return the default of a primitive that states none."""
    match type_name:
        case "bool":
            return False
        case "string":
            return ""
        case "bytes" | "records":
            return b""
        case "uuid":
            return bytes(16)
        case "float64":
            return 0.0
        case _:
            return 0


def _parse_default(text: str | None, *, type_name: str, is_array: bool, is_struct: bool) -> Constant:
    if text == "null":
        return None
    if is_array or is_struct:
        return EMPTY
    if text is None:
        return zero_value(type_name)
    if type_name == "bool":
        return text == "true"
    return int(text)


class _BlockReader:
    """Builds one MessageSpec from the lines of its block."""

    def __init__(self, head: MessageHead, lines: list[str]) -> None:
        self.head = head
        self.lines = lines
        self.position = 0
        self.structs: list[StructSpec] = []
        self.shared: dict[str, StructSpec] = {}

    def read(self) -> MessageSpec:
        root = self._new_struct("", self.head.versions)
        # Shared structs come first in a second view of the same lines: fields name them freely.
        plain: list[str] = []
        blocks: list[list[str]] = []
        for line in self.lines:
            if line.startswith("  struct "):
                blocks.append([line])
            elif blocks:
                blocks[-1].append(line)
            else:
                plain.append(line)
        for block in blocks:
            _, name, versions = block[0].split()
            self.shared[name] = self._new_struct(name, parse_versions(versions))
        for block in blocks:
            self.lines, self.position = block[1:], 0
            self._fields(self.shared[block[0].split()[1]], 4)
        self.lines, self.position = plain, 0
        self._fields(root, 2)
        return MessageSpec(head=self.head, root=root, structs=tuple(self.structs))

    def _new_struct(self, name: str, versions: range) -> StructSpec:
        made = StructSpec(name=name, class_name=self.head.name + name, versions=versions)
        self.structs.append(made)
        return made

    def _fields(self, struct: StructSpec, indent: int) -> None:
        while self.position < len(self.lines):
            line = self.lines[self.position]
            if len(line) - len(line.lstrip()) < indent:
                return
            self.position += 1
            struct.fields.append(self._field(line, indent))

    def _field(self, line: str, indent: int) -> FieldSpec:
        name, type_text, versions_text, *words = line.split()
        options = _options(words)
        is_array = type_text.startswith("[]")
        type_name = type_text.removeprefix("[]")
        versions = parse_versions(versions_text)
        is_struct = type_name not in FIXED_TYPES and type_name not in BLOB_TYPES
        struct = None
        if is_struct:
            struct = self.shared.get(type_name)
            if struct is None:
                struct = self._new_struct(type_name, versions)
                self._fields(struct, indent + 2)
                if not struct.fields:
                    raise CatalogueError(f"{self.head.file}: {self.head.name}: no struct {type_name}")
        tag = int(options["tag"]) if "tag" in options else None
        return FieldSpec(
            name=name,
            attribute=attribute_name(name),
            type=type_name,
            is_array=is_array,
            versions=versions,
            nullable=parse_versions(options.get("nullable", "none")),
            tag=tag,
            tagged=NO_VERSIONS if tag is None else parse_versions(options.get("tagged", versions_text)),
            default=_parse_default(
                options.get("default"), type_name=type_name, is_array=is_array, is_struct=is_struct
            ),
            ignorable="ignorable" in options,
            map_key="key" in options,
            never_compact=options.get("flexible") == "none",
            struct=struct,
        )


def _blocks(file: str) -> Iterator[tuple[str, list[str]]]:
    """Yield each message's first line and the lines below it."""
    first = ""
    lines: list[str] = []
    for line in _lines(file):
        if line.startswith(" "):
            lines.append(line)
        elif line:
            if first:
                yield first, lines
            first, lines = line, []
    if first:
        yield first, lines


def _read_block(file: str, first: str, lines: list[str]) -> MessageSpec:
    return _BlockReader(_parse_head(file, first), lines).read()


def load_file(file: str) -> dict[str, MessageSpec]:
    """Return the messages of one catalogue file by name."""
    specs = (_read_block(file, first, lines) for first, lines in _blocks(file))
    return {spec.head.name: spec for spec in specs}


def load(name: str) -> MessageSpec:
    """Return the specification of one message.

    Raises:
        KeyError: the catalogue has no such message.
    """
    file = index()[name].file
    for first, lines in _blocks(file):
        if first.split(" ", 2)[1:2] == [name]:
            return _read_block(file, first, lines)
    raise CatalogueError(f"index.txt names {name}, its file does not")

"""Lines of generated Python, each with the field it serves, and the constants they refer to."""

from collections.abc import Iterator
from contextlib import contextmanager

from barnabas.base.dataclass import dataclass
from barnabas.protocol.schema import FIXED_SIZES, FIXED_TYPES, FieldSpec, StructSpec


class SourceWriter:
    """Collects the source of one codec.

    `paths[i]` names the field that line i serves (`topics.partitions.index`): error texts are made from it.
    `formats` are the struct formats in use; each is a name like S3 in the generated code's globals.
    Values of constant size gather in a run until `take_run` turns it into one struct.
    """

    def __init__(self) -> None:
        self.lines: list[str] = []
        self.paths: list[str] = []
        self.formats: dict[str, int] = {}
        self._depth = 0
        self._path: list[str] = []
        self._run: list[tuple[str, str, str]] = []
        self._names = 0

    def emit(self, *lines: str, path: str | None = None) -> None:
        """Add lines at the present depth; they serve the present field unless a path is given."""
        margin = "    " * self._depth
        if path is None:
            path = ".".join(self._path)
        for line in lines:
            self.lines.append(margin + line)
            self.paths.append(path)

    @contextmanager
    def block(self, text: str) -> Iterator[None]:
        """Add a line that opens a block; what is added inside stands deeper."""
        self.emit(text)
        self._depth += 1
        yield
        self._depth -= 1

    @contextmanager
    def field(self, name: str) -> Iterator[None]:
        """What is added inside serves the field `name` of the present struct."""
        self._path.append(name)
        yield
        self._path.pop()

    @contextmanager
    def sibling(self, name: str) -> Iterator[None]:
        """What is added inside serves the field `name` instead of the present one."""
        present = self._path.pop()
        self._path.append(name)
        yield
        self._path[-1] = present

    def fresh(self, prefix: str) -> str:
        """Return a variable name not used before."""
        self._names += 1
        return f"{prefix}{self._names}"

    def add_fixed(self, characters: str, expression: str) -> None:
        """Append a value of constant size, serving the present field, to the run."""
        self._run.append((".".join(self._path), characters, expression))

    def take_run(self) -> "FixedRun | None":
        """Return the gathered run, if any, and start a new one."""
        run, self._run = self._run, []
        if not run:
            return None
        characters = [c for _, c, _ in run]
        first, last = run[0][0], run[-1][0]
        return FixedRun(
            struct_name=f"S{self.formats.setdefault('>' + ''.join(characters), len(self.formats))}",
            size=sum(FIXED_SIZES[c] for c in characters),
            expressions=[expression for _, _, expression in run],
            path=first if first == last else f"{first} to {last}",
        )

    def source(self) -> str:
        return "\n".join(self.lines) + "\n"


@dataclass(frozen=True, slots=True, kw_only=True)
class FixedRun:
    """Adjacent values of constant size, read or written by one precompiled struct."""

    struct_name: str
    size: int
    expressions: list[str]
    path: str


def minimum_size(struct: StructSpec, version: int, flexible: bool) -> int:
    """Return the least bytes one struct takes on the wire; at least 1, so that counts stay bounded."""
    size = sum(_field_minimum(field, version, flexible) for field in untagged_fields(struct, version))
    return max(1, size + (1 if flexible else 0))


def element_minimum(field: FieldSpec, version: int, flexible: bool) -> int:
    """Return the least bytes a value of a field's element type takes."""
    if field.struct is not None:
        return minimum_size(field.struct, version, flexible)
    if field.type in FIXED_TYPES:
        return FIXED_SIZES[FIXED_TYPES[field.type]]
    if flexible and not field.never_compact:
        return 1
    return 2 if field.type == "string" else 4


def _field_minimum(field: FieldSpec, version: int, flexible: bool) -> int:
    if field.is_array:
        return 1 if flexible else 4
    if field.struct is not None and version in field.nullable:
        return 1
    return element_minimum(field, version, flexible)


def untagged_fields(struct: StructSpec, version: int) -> list[FieldSpec]:
    """Return the fields that stand in line in a version."""
    return [f for f in struct.fields if version in f.versions and version not in f.tagged]


def tagged_fields(struct: StructSpec, version: int) -> list[FieldSpec]:
    """Return the fields that are tagged in a version, by tag."""
    found = [f for f in struct.fields if version in f.versions and version in f.tagged]
    return sorted(found, key=lambda f: f.tag or 0)


def absent_fields(struct: StructSpec, version: int) -> list[FieldSpec]:
    """Return the fields a version does not have."""
    return [f for f in struct.fields if version not in f.versions]


def default_source(field: FieldSpec) -> str:
    """Return the expression of a field's default; lists and structs are made afresh by it."""
    if field.default is None:
        return "None"
    if field.is_array:
        return "[]"
    if field.struct is not None:
        return f"default_{field.struct.class_name}()"
    return repr(field.default)

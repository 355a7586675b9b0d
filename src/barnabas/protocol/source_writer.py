"""Lines of generated Python, each with the field it serves, and the constants they refer to."""

from barnabas.protocol.schema import FIXED_SIZES, FIXED_TYPES, FieldSpec, StructSpec


class SourceWriter:
    """Collects the source of one codec.

    `paths[i]` names the field that line i serves (`topics.partitions.index`): error texts are made from it.
    `formats` are the struct formats in use; each is a name like S3 in the generated code's globals.
    """

    def __init__(self) -> None:
        self.lines: list[str] = []
        self.paths: list[str] = []
        self.formats: dict[str, int] = {}
        self._indent = 0
        self._path: list[str] = []

    def emit(self, text: str) -> None:
        """Add one line at the present depth."""
        self.lines.append("    " * self._indent + text)
        self.paths.append(".".join(self._path))

    def emit_for(self, field: str, text: str) -> None:
        """Add one line that serves `field` of the present struct."""
        self.lines.append("    " * self._indent + text)
        self.paths.append(".".join([*self._path, field]))

    def indent(self) -> None:
        self._indent += 1

    def dedent(self) -> None:
        self._indent -= 1

    def enter(self, field: str) -> None:
        """Lines from now on serve `field`, or the fields of its struct."""
        self._path.append(field)

    def leave(self) -> None:
        self._path.pop()

    def format_name(self, characters: str) -> str:
        """Return the name of the precompiled struct for these format characters."""
        return f"S{self.formats.setdefault('>' + characters, len(self.formats))}"

    def source(self) -> str:
        return "\n".join(self.lines) + "\n"


def minimum_size(struct: StructSpec, version: int, flexible: bool) -> int:
    """Return the least bytes one struct takes on the wire; at least 1, so that counts stay bounded."""
    size = sum(_field_minimum(field, version, flexible) for field in untagged_fields(struct, version))
    return max(1, size + (1 if flexible else 0))


def _field_minimum(field: FieldSpec, version: int, flexible: bool) -> int:
    compact = flexible and not field.never_compact
    if field.is_array:
        return 1 if compact else 4
    if field.struct is not None:
        if version in field.nullable:
            return 1
        return minimum_size(field.struct, version, flexible)
    if field.type == "string":
        return 1 if compact else 2
    if field.type in ("bytes", "records"):
        return 1 if compact else 4
    return FIXED_SIZES[fixed_format(field)]


def fixed_format(field: FieldSpec) -> str:
    """Return the struct character of a field of constant size."""
    return FIXED_TYPES[field.type]


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
        return f"{field.struct.class_name}()"
    return repr(field.default)

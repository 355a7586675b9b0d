"""Writes src/barnabas/protocol/messages.pyi, what type checkers and editors know of the message classes.

python tools/write_message_stubs.py            write the file
python tools/write_message_stubs.py --check    fail when the file is not what would be written
"""

import sys
from pathlib import Path

from barnabas.protocol import schema
from barnabas.protocol.schema import FieldSpec, MessageSpec, StructSpec

TARGET = Path(__file__).parent.parent / "src" / "barnabas" / "protocol" / "messages.pyi"

HEADER = '''\
"""Written by tools/write_message_stubs.py out of the catalogue; see messages.py."""

from collections.abc import Iterator, Mapping
from typing import Final

from barnabas.base.region import FileSlice
from barnabas.protocol.structures import Message as Message
from barnabas.protocol.structures import Struct as Struct

_Buffer = bytes | bytearray | memoryview
_Records = bytes | bytearray | memoryview | FileSlice
_Tags = list[tuple[int, bytes]] | None

class ApiSpec:
    def __init__(
        self,
        *,
        key: int,
        name: str,
        valid_versions: range,
        flexible_from: int | None,
        latest_unstable: bool,
        listeners: tuple[str, ...],
    ) -> None: ...
    @property
    def key(self) -> int: ...
    @property
    def name(self) -> str: ...
    @property
    def valid_versions(self) -> range: ...
    @property
    def flexible_from(self) -> int | None: ...
    @property
    def latest_unstable(self) -> bool: ...
    @property
    def listeners(self) -> tuple[str, ...]: ...
    @property
    def request(self) -> type[Message]: ...
    @property
    def response(self) -> type[Message]: ...

class RecordTypes(Mapping[int, type[Message]]):
    def __init__(self, kind: str, file: str) -> None: ...
    def __getitem__(self, record_type: int) -> type[Message]: ...
    def __iter__(self) -> Iterator[int]: ...
    def __len__(self) -> int: ...

BY_KEY: Final[Mapping[int, ApiSpec]]
METADATA_RECORDS: Final[RecordTypes]

def names() -> list[str]: ...
'''

_SCALARS = {
    "bool": "bool",
    "float64": "float",
    "string": "str",
    "bytes": "_Buffer",
    "records": "_Records",
    "uuid": "bytes",
}


def field_type(field: FieldSpec) -> str:
    """Return the annotation of a field; null in any version makes it optional."""
    element = field.struct.class_name if field.struct is not None else _SCALARS.get(field.type, "int")
    text = f"list[{element}]" if field.is_array else element
    return f"{text} | None" if field.nullable or field.default is None else text


def class_stub(struct: StructSpec, base: str) -> str:
    """Return the stub of one class."""
    lines = [f"class {struct.class_name}({base}):"]
    types = [(field.attribute, field_type(field)) for field in struct.fields]
    lines += [f"    {name}: {text}" for name, text in types]
    parameters = [f"{name}: {text} = ..." for name, text in types] + ["unknown_tags: _Tags = ..."]
    lines += ["    def __init__(", "        self,", "        *,"]
    lines += [f"        {parameter}," for parameter in parameters]
    lines.append("    ) -> None: ...")
    return "\n".join(lines) + "\n"


def message_stub(message: MessageSpec) -> str:
    """Return the stubs of a message and its nested structs."""
    return "\n".join(
        class_stub(struct, "Message" if struct is message.root else "Struct") for struct in message.structs
    )


def stubs() -> str:
    """Return the whole file."""
    parts = [HEADER]
    parts += [message_stub(schema.load(name)) for name in schema.index()]
    return "\n".join(parts)


def main() -> int:
    text = stubs()
    if "--check" in sys.argv[1:]:
        if TARGET.read_text(encoding="ascii") != text:
            print(f"{TARGET} is stale: run python tools/write_message_stubs.py")
            return 1
        return 0
    TARGET.write_text(text, encoding="ascii")
    return 0


if __name__ == "__main__":
    sys.exit(main())

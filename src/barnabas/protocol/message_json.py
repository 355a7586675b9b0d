"""A message as JSON, in the words and the order of Apache Kafka's own converters: for logs that people read.

One generic walk over the catalogue's field specifications instead of compiled code, since only a log that
is switched on comes here. What a version does not have is left out, as are tagged fields that hold their
default; records are told by their size. A budget bounds how many values one message may show: a list is cut
where it ends, and says how much is missing.
"""

from __future__ import annotations

import binascii
from functools import cache

from barnabas.base.hints import TYPE_CHECKING, Any, Final
from barnabas.base.uuids import uuid_text
from barnabas.protocol import schema

if TYPE_CHECKING:
    from barnabas.protocol.schema import FieldSpec, StructSpec
    from barnabas.protocol.structures import Message, Struct

VALUES_MAX: Final = 5_000
"""Values one message may show: some 100 KB of text and 3 ms of the loop."""


class _Budget:
    __slots__ = ("left",)

    def __init__(self, left: int) -> None:
        self.left = left


def message_json(message: Message, version: int, *, values_max: int = VALUES_MAX) -> dict[str, Any]:
    """Return what `json` writes as Kafka's request log does.

    Args:
        version: of the message's API.
        values_max: values shown; a longer list ends with the text "... N more".
    """
    return _struct(message, _root(type(message).__name__), version, _Budget(values_max))


@cache
def _root(name: str) -> StructSpec:
    return schema.load(name).root


@cache
def json_name(name: str) -> str:
    """Return a field's name in JSON: `MaxWaitMs` is maxWaitMs."""
    return name[:1].lower() + name[1:]


def _struct(value: Struct, spec: StructSpec, version: int, budget: _Budget) -> dict[str, Any]:
    shown: dict[str, Any] = {}
    for field in spec.fields:
        if version not in field.versions:
            continue
        content = getattr(value, field.attribute)
        if version in field.tagged and _is_default(content, field):
            continue
        if field.type == "records" and content is not None:
            shown[f"{json_name(field.name)}SizeInBytes"] = len(content)
            budget.left -= 1
        else:
            shown[json_name(field.name)] = _content(content, field, version, budget)
    return shown


def _is_default(content: Any, field: FieldSpec) -> bool:
    if field.is_array:
        return content is None if field.default is None else content == []
    if field.struct is not None:
        if content is None or field.default is None:
            return content is None and field.default is None
        return bool(content == type(content)())
    return bool(content == field.default)


def _content(content: Any, field: FieldSpec, version: int, budget: _Budget) -> Any:
    if content is None:
        budget.left -= 1
        return None
    if not field.is_array:
        return _element(content, field, version, budget)
    shown: list[Any] = []
    for element in content:
        if budget.left <= 0:
            shown.append(f"... {len(content) - len(shown)} more")
            break
        shown.append(_element(element, field, version, budget))
    return shown


def _element(element: Any, field: FieldSpec, version: int, budget: _Budget) -> Any:
    if field.struct is not None:
        return _struct(element, field.struct, version, budget)
    budget.left -= 1
    if field.type == "uuid":
        return uuid_text(element)
    if field.type == "bytes":
        return binascii.b2a_base64(element, newline=False).decode("ascii")
    return element

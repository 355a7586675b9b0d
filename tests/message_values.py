"""Random messages of any kind and version, from a seed: what the codec tests feed on."""

import random
from typing import Any

from barnabas.protocol import messages, schema
from barnabas.protocol.messages import Message, Struct
from barnabas.protocol.schema import FieldSpec, MessageSpec, StructSpec

_INTEGER_BITS = {"int8": 8, "int16": 16, "int32": 32, "int64": 64}
_UNSIGNED_BITS = {"uint16": 16, "uint32": 32}
# Lengths on both sides of the one-byte varint, whose limit is 126 because lengths are sent plus one.
_LENGTHS = (0, 0, 1, 1, 2, 3, 5, 9, 125, 126, 127, 128, 200)
_ALPHABET = "abcxyz019._-é\u2192\U0001f409\0 "


def random_message(spec: MessageSpec, version: int, rng: random.Random, *, plain: bool = False) -> Message:
    """Return a message whose fields of this version hold random values, the others their defaults.

    Args:
        plain: only small numbers and no unknown tags, for libraries that give numbers a meaning.
    """
    made = _random_struct(spec.root, version, version in spec.head.flexible, rng, plain)
    assert isinstance(made, Message)
    return made


def every_version() -> list[tuple[str, int]]:
    """Return all (message, version) of the catalogue."""
    return [(head.name, version) for head in schema.index().values() for version in head.versions]


def _random_struct(spec: StructSpec, version: int, flexible: bool, rng: random.Random, plain: bool) -> Struct:
    fields: dict[str, Any] = {}
    for field in spec.fields:
        if version not in field.versions:
            continue
        if version in field.tagged and rng.random() < 0.4:
            continue
        fields[field.attribute] = _random_value(field, version, flexible, rng, plain)
    if flexible and not plain and rng.random() < 0.2:
        fields["unknown_tags"] = [
            (tag, rng.randbytes(rng.choice(_LENGTHS))) for tag in sorted(rng.sample(range(50, 100_000), 2))
        ]
    made: Struct = getattr(messages, spec.class_name)(**fields)
    return made


def _random_value(field: FieldSpec, version: int, flexible: bool, rng: random.Random, plain: bool) -> Any:
    if version in field.nullable and rng.random() < 0.25:
        return None
    if not field.is_array:
        return _random_element(field, version, flexible, rng, plain)
    count = rng.choice((0, 1, 1, 2, 3))
    if field.struct is None and rng.random() < 0.2:
        count = rng.choice((126, 127, 128))
    return [_random_element(field, version, flexible, rng, plain) for _ in range(count)]


def _random_element(field: FieldSpec, version: int, flexible: bool, rng: random.Random, plain: bool) -> Any:
    if field.struct is not None:
        return _random_struct(field.struct, version, flexible, rng, plain)
    if plain and (field.type in _INTEGER_BITS or field.type in _UNSIGNED_BITS):
        return rng.randint(0, 99)
    return random_scalar(field.type, rng)


def random_scalar(type_name: str, rng: random.Random) -> Any:
    """Return a value of a primitive type, often at an end of its range."""
    if type_name == "bool":
        return rng.random() < 0.5
    if type_name == "float64":
        return rng.choice((0.0, -0.0, 1.5, -1e300, rng.uniform(-1e9, 1e9)))
    if type_name == "uuid":
        return rng.choice((bytes(16), rng.randbytes(16)))
    if type_name == "string":
        return "".join(rng.choices(_ALPHABET, k=rng.choice(_LENGTHS)))
    if type_name in ("bytes", "records"):
        return rng.randbytes(rng.choice(_LENGTHS))
    if type_name in _UNSIGNED_BITS:
        top = (1 << _UNSIGNED_BITS[type_name]) - 1
        return rng.choice((0, 1, top, rng.randint(0, top)))
    half = 1 << (_INTEGER_BITS[type_name] - 1)
    return rng.choice((0, -1, 1, -half, half - 1, rng.randint(-half, half - 1)))

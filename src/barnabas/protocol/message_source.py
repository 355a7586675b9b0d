"""The source of a message's classes and codecs, as a person would write it; `compiler` makes code of it.

A file of its own, imported when something is compiled: a plain start finds all it needs in `start_codecs`,
and this brings three files of generators.
"""

from barnabas.protocol.decoder_source import DecoderSource
from barnabas.protocol.encoder_source import EncoderSource
from barnabas.protocol.schema import FieldSpec, MessageSpec, StructSpec
from barnabas.protocol.source_writer import SourceWriter, default_source


def _class_lines(struct_spec: StructSpec, base: str) -> list[str]:
    slots = [field.attribute for field in struct_spec.fields] + ["unknown_tags"]
    lines = [f"class {struct_spec.class_name}({base}):", f"    __slots__ = {tuple(slots)!r}"]
    parameters = []
    assignments = []
    for field in struct_spec.fields:
        name = field.attribute
        fresh = _needs_fresh_default(field)
        parameters.append(f"{name}={'UNSET' if fresh else default_source(field)}")
        value = f"{default_source(field)} if {name} is UNSET else {name}" if fresh else name
        assignments.append(f"        self.{name} = {value}")
    parameters.append("unknown_tags=None")
    assignments.append("        self.unknown_tags = unknown_tags")
    lines.append(f"    def __init__(self, *, {', '.join(parameters)}):")
    return lines + assignments


def _default_lines(struct_spec: StructSpec) -> list[str]:
    """Return a function that makes a struct of defaults in a third of the time its constructor takes.

    Each partition of a fetch response starts with three of them.
    """
    lines = [f"def default_{struct_spec.class_name}():", f"    made = new({struct_spec.class_name})"]
    lines += [f"    made.{field.attribute} = {default_source(field)}" for field in struct_spec.fields]
    return [*lines, "    made.unknown_tags = None", "    return made", ""]


def _needs_fresh_default(field: FieldSpec) -> bool:
    return field.default is not None and (field.is_array or field.struct is not None)


def class_source(message: MessageSpec) -> list[str]:
    """Return the source of a message's classes, as the lines of a function that returns them by name."""
    lines: list[str] = []
    for spec in message.structs:
        lines += [*_class_lines(spec, "Message" if spec is message.root else "Struct"), ""]
    # Only structs that are single fields have defaults made for them.
    singles = [f.struct for s in message.structs for f in s.fields if f.struct is not None and not f.is_array]
    for spec in {single.class_name: single for single in singles}.values():
        lines += _default_lines(spec)
    return as_function(f"classes_{message.head.name}", lines)


def codec_source(message: MessageSpec, version: int, *, decoding: bool) -> tuple[list[str], SourceWriter]:
    """Return the source of a codec, as the lines of a function that returns it by name, and its constants."""
    writer = (DecoderSource if decoding else EncoderSource)(message, version).writer
    verb = "decode" if decoding else "encode"
    return as_function(f"{verb}_{message.head.name}_{version}", writer.lines), writer


def as_function(name: str, lines: list[str]) -> list[str]:
    """Return the lines inside a function that returns what they define; line n becomes line n + 1."""
    return [f"def {name}():", *(f"    {line}" if line else "" for line in lines), "    return locals()"]

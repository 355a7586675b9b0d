"""Writes src/barnabas/protocol/start_codecs.py: the classes and codecs that every start needs, as source.

python tools/write_start_codecs.py            write the file
python tools/write_start_codecs.py --check    fail when the file is not what would be written
"""

import sys
from pathlib import Path

from barnabas.protocol import schema
from barnabas.protocol.message_source import class_source, codec_source

TARGET = Path(__file__).parent.parent / "src" / "barnabas" / "protocol" / "start_codecs.py"

# Every client asks for Metadata first: those of today in versions 12 and 13, and what only looks whether a
# broker is up in an early one, which needs no header of today.
FIRST_QUESTION = (1, 12, 13)

# What formatting a directory and registering write, and what the next start reads back.
WRITTEN_AND_READ = {
    "SnapshotHeaderRecord": (0,),
    "SnapshotFooterRecord": (0,),
    "KRaftVersionRecord": (0,),
    "VotersRecord": (0,),
    "FeatureLevelRecord": (0,),
    "LeaderChangeMessage": (0,),
    "BeginTransactionRecord": (0,),
    "EndTransactionRecord": (0,),
    "ConfigRecord": (0,),
    "RegisterControllerRecord": (0,),
    "RegisterBrokerRecord": (4,),
    "BrokerRegistrationChangeRecord": (0, 1, 3),
}
READ = {
    "TopicRecord": (0,),
    "PartitionRecord": (2,),
    "ApiVersionsRequest": (0, 3, 4),
    "MetadataRequest": FIRST_QUESTION,
}
WRITTEN = {"ApiVersionsResponse": (0, 3, 4), "MetadataResponse": FIRST_QUESTION}

HEADER = '''\
# ruff: noqa
# mypy: ignore-errors
# fmt: off
"""Classes and codecs that every start needs, compiled with the package instead of while it starts.

Written by tools/write_start_codecs.py with the generators that make all others at run time; see compiler.py.
Each function returns what it defines, and runs with the globals that the compiler gives it. Beside a codec
stand the struct formats that its code calls S0, S1, ...
"""
'''


def module() -> str:
    """Return the whole file."""
    lines = [HEADER]
    classes, codecs = [], []
    for name in sorted({*WRITTEN_AND_READ, *READ, *WRITTEN}):
        message = schema.load(name)
        lines += ["", *class_source(message), ""]
        classes.append(f'    "{name}": classes_{name},')
        wanted = [(version, True) for version in (WRITTEN_AND_READ | READ).get(name, ())]
        wanted += [(version, False) for version in (WRITTEN_AND_READ | WRITTEN).get(name, ())]
        for version, decoding in wanted:
            source, writer = codec_source(message, version, decoding=decoding)
            lines += ["", *source, ""]
            function = source[0].removeprefix("def ").removesuffix("():")
            codecs.append(f'    ("{name}", {version}, {decoding}): ({function}, {tuple(writer.formats)!r}),')
    lines += ["", "CLASSES = {", *classes, "}", "", "CODECS = {", *codecs, "}"]
    return "\n".join(lines) + "\n"


def main() -> int:
    text = module()
    if "--check" in sys.argv[1:]:
        if TARGET.read_text(encoding="ascii") != text:
            print(f"{TARGET} is stale: run python tools/write_start_codecs.py")
            return 1
        return 0
    TARGET.write_text(text, encoding="ascii")
    return 0


if __name__ == "__main__":
    sys.exit(main())

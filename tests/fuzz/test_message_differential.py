"""Messages against two other libraries: they read what we write and write the same bytes again."""

import collections
import random
import subprocess
import sys
from pathlib import Path

from barnabas.protocol import messages, schema
from barnabas.protocol.messages import Message
from tests import message_values

SEED = 404
ROUNDS = 2
ROUNDS_SLOW = 30
ROOT = Path(__file__).parents[2]

KNOWN_MIN = {"kio": 600, "kafka-python": 440}
"""The least (message, version) each library knows: a library that suddenly knows none compares nothing."""

_UNLIKE = {
    # It reads any answer with an error in the layout of version 0 and ignores the rest.
    ("kafka-python", "ApiVersionsResponse"),
}


def _messages(rounds: int) -> list[tuple[str, int, bytes]]:
    rng = random.Random(SEED)
    cases = []
    for name, version in message_values.every_version():
        if schema.index()[name].kind not in ("request", "response", "data"):
            continue
        spec = schema.load(name)
        found: type[Message] = getattr(messages, name)
        cases.append((name, version, found().encode(version)))
        for _ in range(rounds):
            message = message_values.random_message(spec, version, rng, plain=True)
            cases.append((name, version, message.encode(version)))
    return cases


def test_other_libraries_read_what_we_write_and_write_the_same(slow: bool) -> None:
    cases = [
        (library, name, version, data)
        for name, version, data in _messages(ROUNDS_SLOW if slow else ROUNDS)
        for library in KNOWN_MIN
        if (library, name) not in _UNLIKE
    ]
    lines = [f"{library} {name} {version} {data.hex()}\n" for library, name, version, data in cases]
    done = subprocess.run(
        [sys.executable, "-m", "tests.fuzz.other_codecs"],
        input="".join(lines),
        capture_output=True,
        text=True,
        cwd=ROOT,
        timeout=110,
        check=False,
    )
    answers = done.stdout.splitlines()
    # An abort ends the answers early: the next line is the one it died of.
    assert len(answers) == len(lines), (lines[len(answers)], done.returncode, done.stderr[-2000:])
    known = collections.defaultdict(set)
    for (library, name, version, data), answer in zip(cases, answers, strict=True):
        if answer != "unknown":
            known[library].add((name, version))
            assert answer == data.hex(), (library, name, version)
    for library, least in KNOWN_MIN.items():
        assert len(known[library]) >= least, (library, len(known[library]))

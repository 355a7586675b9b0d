"""Reads the rules of this folder, one TOML file each, and finds their tests by name.

A test proves the rules that its name opens with: `test_f22_f42_a_reset_in_mid_slice_releases_it`. So nobody
keeps a list of tests by hand, and a rule without one is seen.
"""

import re
import tomllib
from dataclasses import dataclass
from functools import cache
from pathlib import Path

RULES = Path(__file__).resolve().parent
ROOT = RULES.parents[1]

_CLASS_OR_TEST = re.compile(r"^class (\w+)|^( *)def (test_(?:[fpe]\d+b?_)+\w*)\(", re.MULTILINE)


@dataclass(frozen=True, slots=True, kw_only=True)
class Break:
    """A small change that breaks a rule.

    Attributes:
        what: what the broken code does.
        file: from the project's root.
        find: occurs once in the file.
    """

    what: str
    file: str
    find: str
    replace: str

    def applied_to(self, text: str) -> str:
        """Return the broken text.

        Raises:
            ValueError: the break does not fit any more.
        """
        count = text.count(self.find)
        if count != 1:
            raise ValueError(f"{self.file}: found {count} times instead of once:\n{self.find}")
        return text.replace(self.find, self.replace)


@dataclass(frozen=True, slots=True, kw_only=True)
class Rule:
    """A rule, in a sentence, with its breaks and its tests (pytest node ids)."""

    name: str
    says: str
    breaks: tuple[Break, ...]
    tests: tuple[str, ...]


def order(name: str) -> tuple[str, int, str]:
    """Sort F2 before F2b before F10."""
    match = re.fullmatch(r"([A-Z])(\d+)(b?)", name)
    assert match is not None, f"{name} is no rule's name"
    return match[1], int(match[2]), match[3]


def load_rules() -> list[Rule]:
    """Return all rules in order."""
    rules = []
    for path in sorted(RULES.glob("*.toml"), key=lambda path: order(path.stem)):
        told = tomllib.loads(path.read_text())
        rules.append(
            Rule(
                name=path.stem,
                says=told["says"],
                breaks=tuple(Break(**entry) for entry in told.get("break", [])),
                tests=tuple(proofs_of_rules().get(path.stem, ())),
            )
        )
    return rules


@cache
def proofs_of_rules() -> dict[str, list[str]]:
    """Return the tests that name each rule, in order of file and line."""
    found: dict[str, list[str]] = {}
    for path in sorted((ROOT / "tests").rglob("test_*.py")):
        owner = ""
        for match in _CLASS_OR_TEST.finditer(path.read_text()):
            if match[1]:
                owner = f"{match[1]}::"
                continue
            node = f"{path.relative_to(ROOT).as_posix()}::{owner if match[2] else ''}{match[3]}"
            tags = re.match(r"test_((?:[fpe]\d+b?_)+)", match[3])
            assert tags is not None
            for tag in tags[1].rstrip("_").split("_"):
                found.setdefault(tag[0].upper() + tag[1:], []).append(node)
    return found

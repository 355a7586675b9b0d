"""Every rule has tests and breaks, every break still fits, and docs/rules.md is up to date."""

import ast
from pathlib import Path

import pytest

from tests.rules.catalogue import Rule, load_rules, proofs_of_rules
from tools.write_rules import PAGE, page

ROOT = Path(__file__).resolve().parents[2]
RULES = load_rules()
NAMES = [
    "F1", "F2", "F2b", *(f"F{number}" for number in range(3, 47)),
    *(f"P{number}" for number in range(1, 6)), "E1", "E2", "E3",
]  # fmt: skip


def test_every_rule_is_there() -> None:
    assert sorted(rule.name for rule in RULES) == sorted(NAMES)


def test_no_test_names_a_rule_that_is_not_there() -> None:
    assert sorted(set(proofs_of_rules()) - set(NAMES)) == []


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.name)
def test_a_rule_has_tests_and_breaks_that_fit(rule: Rule) -> None:
    assert rule.tests
    assert rule.breaks
    for broken in rule.breaks:
        text = broken.applied_to((ROOT / broken.file).read_text())
        ast.parse(text)  # a break that does not even parse would be noticed by anything


def test_a_test_belongs_to_a_file_once() -> None:
    for rule in RULES:
        assert len(set(rule.tests)) == len(rule.tests), f"two tests of {rule.name} have one name"


def test_the_page_is_up_to_date() -> None:
    assert PAGE.read_text() == page(), "run tools/write_rules.py"

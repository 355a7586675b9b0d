"""Write docs/rules.md: every rule of the read and produce path, with the tests that prove it.

    python tools/write_rules.py

Made from tests/rules and the names of tests; a test in tests/unit says when the page is behind.
"""

import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from tests.rules.catalogue import Rule, load_rules  # noqa: E402

PAGE = ROOT / "docs" / "rules.md"

HEAD = """# The rules of the fetch path, and their tests

What must hold between a Fetch request and its last byte (F), of Produce as far as reading leans on it (P),
and the three published experiments (E). Tests name the rule they prove. For each rule `tests/rules` keeps
small changes that break it; `./dev mutate` makes them, one at a time in a copy of the code, and sees that a
test of the rule fails. Written by `tools/write_rules.py`; do not edit it.

| rule | says | breaks | tests |
|---|---|---|---|
"""


def page() -> str:
    """Return the page's text."""
    return HEAD + "".join(map(_line, load_rules()))


def _line(rule: Rule) -> str:
    by_file: dict[str, list[str]] = {}
    for test in rule.tests:
        path, _, name = test.partition("::")
        by_file.setdefault(path, []).append(name)
    tests = "<br>".join(
        f"[{Path(path).parent.name}/{Path(path).name}](../{path}): {', '.join(f'`{name}`' for name in names)}"
        for path, names in by_file.items()
    )
    return f"| {rule.name} | {rule.says} | {len(rule.breaks)} | {tests} |\n"


if __name__ == "__main__":
    PAGE.write_text(page())

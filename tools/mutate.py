"""Break each rule on purpose and see that its tests notice: `./dev mutate [RULE...]`.

Every rule of the read and produce path has a file in tests/rules with small breaks: one file of src, the
text to find there, what to put in its place. A break is put into a copy of src, and the tests that carry the
rule's name run against the copy; they must fail, or they prove nothing. They must pass on src as it is.

Breaks name text instead of line numbers, as a patch file would, so that they survive changes near by; a
test in tests/unit checks with every run that each still fits. Mutating every operator by a library was
rejected: thousands of mutants say little about a rule, and most of an hour is too long to be run.
"""

import argparse
import compileall
import os
import shutil
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from tests.rules.catalogue import Break, Rule, load_rules  # noqa: E402

TEST_TIMEOUT_S = 60
"""A break may make a test wait for ever: that is noticed too, but told apart."""

BREAK_TIMEOUT_S = 240
"""The same for all tests of a rule: longer than any of them, on a machine that does much else."""

TAKES_LONGEST_LAST = ("tests/unit", "tests/server", "tests/net", "tests/fuzz")
"""The first failure ends a break's run, so the quick tests begin."""

_TESTS_FAILED = 1  # pytest's exit status; others mean that the tests did not run


def main() -> int:
    parser = argparse.ArgumentParser(description="Break each rule and see that its tests fail.")
    parser.add_argument("rules", nargs="*", metavar="RULE", help="F12, P3, ...; all of them without any")
    parser.add_argument("--jobs", type=int, default=2, help="breaks tried at the same time")
    options = parser.parse_args()
    rules = {rule.name.upper(): rule for rule in load_rules()}
    unknown = [name for name in options.rules if name.upper() not in rules]
    if unknown:
        parser.error(f"no such rule: {', '.join(unknown)}")
    compileall.compile_dir(ROOT / "src", quiet=1)
    chosen = [rules[name.upper()] for name in options.rules] or list(rules.values())

    tests = sorted({test for rule in chosen for test in rule.tests})
    print(f"{len(tests)} tests of {len(chosen)} rules on the code as it is ...", flush=True)
    status, output = run_tests(ROOT / "src", tests, timeout_s=600)
    if status != 0:
        print(output)
        print("mutate: these must pass before anything is broken")
        return 1

    work = [(rule, broken) for rule in chosen for broken in rule.breaks]
    unnoticed = 0
    with ThreadPoolExecutor(options.jobs) as pool:
        for line, noticed in pool.map(lambda item: try_break(*item), work):
            print(line, flush=True)
            unnoticed += not noticed
    print(f"{len(work) - unnoticed} of {len(work)} breaks were noticed")
    return 1 if unnoticed else 0


def try_break(rule: Rule, broken: Break) -> tuple[str, bool]:
    """Return a line for people, and whether a test of the rule failed."""
    started = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="barnabas-mutate-") as folder:
        source = Path(folder) / "src"
        shutil.copytree(ROOT / "src", source)  # compiled files too: all but one hold
        path = source.parent / broken.file
        path.write_text(broken.applied_to(path.read_text()))
        status, output = run_tests(source, sorted(rule.tests, key=quickness), timeout_s=BREAK_TIMEOUT_S)
    seconds = time.monotonic() - started
    if status == _TESTS_FAILED:
        failed = next((line for line in output.splitlines() if line.startswith("FAILED")), "FAILED ?")
        test = failed.removeprefix("FAILED ").partition(" - ")[0].partition("[")[0]
        return f"{rule.name:4} noticed {seconds:5.1f} s  {broken.what}: {test}", True
    tail = "\n".join(output.splitlines()[-15:])
    word = "UNNOTICED" if status == 0 else f"the tests did not run (exit {status})"
    return f"{rule.name:4} {word}  {broken.what} ({broken.file})\n{tail}", False


def quickness(test: str) -> int:
    """Rank a test by how long those of its folder take."""
    folders = [number for number, folder in enumerate(TAKES_LONGEST_LAST) if test.startswith(folder)]
    return folders[0] if folders else len(TAKES_LONGEST_LAST)


def run_tests(source: Path, tests: list[str], *, timeout_s: int) -> tuple[int, str]:
    """Run tests against the package in `source`; return pytest's exit status and what it printed."""
    environment = {**os.environ, "PYTHONPATH": str(source), "PYTHONDONTWRITEBYTECODE": "1"}
    command = [
        sys.executable, "-m", "pytest", "-x", "-q", "-p", "no:cacheprovider", "--no-header", "--tb=short",
        f"--timeout={TEST_TIMEOUT_S}", "-rf", *tests,
    ]  # fmt: skip
    try:
        done = subprocess.run(
            command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False, timeout=timeout_s
        )
    except subprocess.TimeoutExpired:
        return _TESTS_FAILED, "FAILED by taking too long"
    return done.returncode, done.stdout + done.stderr


if __name__ == "__main__":
    sys.exit(main())

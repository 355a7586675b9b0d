"""What `./dev check` runs: format, lint, types, layers and documentation, side by side.

Each check prints one line, and its whole output only when it fails.
"""

import functools
import re
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
BIN = Path(sys.executable).parent

_LINK = re.compile(r"(?<!!)\[[^\]]*\]\(([^)\s]+)\)|!\[[^\]]*\]\(([^)\s]+)\)")
_HEADING = re.compile(r"^#{1,6}\s+(.*?)\s*#*\s*$", re.MULTILINE)
_FENCE = re.compile(r"^```.*?^```", re.MULTILINE | re.DOTALL)
_CODE_NAME = re.compile(
    r"`((?:[\w.-]+/)*[\w.-]+\.(?:py|pyi|txt|toml|md|sh|java))(?::([A-Za-z_][\w.]*))?(?:\(\))?`"
)
_DEV_COMMAND = re.compile(r"\./dev ([a-z][\w-]*)")
_DEFINITION = r"^\s*(?:async )?(?:def|class) {0}\b|^\s*{0}\s*(?::[^=\n]+)?="

_PLACES = ("src/barnabas", "", "tests", "src", "docs")
"""Folders that a file named in a document may be relative to."""


def foreign_words() -> re.Pattern[str]:
    """What must not be in a published file: paths of one machine, addresses of private registries."""
    # Put together here, so that this file does not accuse itself.
    paths = [
        "/" + r"root/[.]\w",
        "/" + "work/(?:main|shared)",
        r"\bpip[.]conf\b",
        "arti" + "factory",
    ]
    hosts = [r"https?://(?:10|192[.]168|172[.](?:1[6-9]|2\d|3[01]))[.]\d+", r"\bextra-index-url\b"]
    return re.compile("|".join(paths + hosts))


@functools.cache
def tracked(*patterns: str) -> list[Path]:
    """Return the files that git tracks, or would if they were added."""
    command = ["git", "ls-files", "--cached", "--others", "--exclude-standard", "--", *patterns]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
    return sorted(path for name in set(done.stdout.splitlines()) if (path := ROOT / name).is_file())


def run(*command: str) -> list[str]:
    """Run a tool of this environment and return its output's lines when it fails."""
    program = BIN / command[0]
    done = subprocess.run([str(program), *command[1:]], cwd=ROOT, capture_output=True, text=True, check=False)
    return [] if done.returncode == 0 else (done.stdout + done.stderr).strip().splitlines() or ["failed"]


def anchors(text: str) -> set[str]:
    """Return the anchors that a Markdown page's headings make."""
    headings = (re.sub(r"[`*]", "", heading) for heading in _HEADING.findall(_FENCE.sub("", text)))
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


def check_links() -> list[str]:
    """Relative links of Markdown pages lead to files and headings that exist."""
    return [fault for page in tracked("*.md") for fault in _broken_links(page)]


def _broken_links(page: Path) -> Iterator[str]:
    text = page.read_text()
    for found in _LINK.finditer(_FENCE.sub("", text)):
        target = found[1] or found[2]
        if re.match(r"[a-z]+:", target):
            continue
        name, _, anchor = target.partition("#")
        file = (page.parent / name) if name else page
        where = page.relative_to(ROOT)
        if not file.exists():
            yield f"{where}: link to {target}: no such file"
        elif anchor and file.suffix == ".md" and anchor not in anchors(file.read_text()):
            yield f"{where}: link to {target}: no such heading"


def check_code_names() -> list[str]:
    """Files that pages under docs/ and the README name in backticks exist, functions in them too."""
    return [
        fault for page in tracked("docs/*.md", "README.md", "CONTRIBUTING.md") for fault in _wrong_names(page)
    ]


def _wrong_names(page: Path) -> Iterator[str]:
    where = page.relative_to(ROOT)
    for name, function in _CODE_NAME.findall(_FENCE.sub("", page.read_text())):
        if "NN" in name:  # a pattern for names, such as api_NN_name.py
            continue
        file = find_named(name)
        if file is None:
            yield f"{where}: names {name}: no such file"
        elif function and not defines(file, function):
            yield f"{where}: names {name}:{function}: not defined there"


def find_named(name: str) -> Path | None:
    """Return the file that a document means by a path, or by a bare name that only one file has."""
    for place in _PLACES:
        if (ROOT / place / name).is_file():
            return ROOT / place / name
    if "/" in name:
        return None
    named = [path for path in tracked() if path.name == name]
    return named[0] if named else None


def defines(file: Path, dotted: str) -> bool:
    """Whether a Python file defines a function, class, method or constant."""
    text = file.read_text()
    return all(
        re.search(_DEFINITION.format(re.escape(part)), text, re.MULTILINE) for part in dotted.split(".")
    )


def check_commands() -> list[str]:
    """Every `./dev COMMAND` that a page names is one."""
    dev = (ROOT / "dev").read_text()
    known = set(re.findall(r"^  ([a-z][\w-]*)\)$", dev, re.MULTILINE))
    return [
        f"{page.relative_to(ROOT)}: ./dev {command}: no such command"
        for page in tracked("*.md")
        for command in _DEV_COMMAND.findall(page.read_text())
        if command not in known
    ]


def check_words() -> list[str]:
    """No published file names a path of one machine or a private registry."""
    forbidden = foreign_words()
    faults = []
    for path in tracked():
        try:
            lines = path.read_text().splitlines()
        except UnicodeDecodeError:
            continue
        faults += [
            f"{path.relative_to(ROOT)}:{number}: {found[0]!r}"
            for number, line in enumerate(lines, 1)
            if (found := forbidden.search(line))
        ]
    return faults


CHECKS: dict[str, Callable[[], list[str]]] = {
    "types": lambda: run("mypy"),
    "format": lambda: run("ruff", "format", "--check", "--quiet", "."),
    "lint": lambda: run("ruff", "check", "--quiet", "."),
    "layers": lambda: run("lint-imports"),
    "links": check_links,
    "names in documents": check_code_names,
    "commands in documents": check_commands,
    "foreign words": check_words,
}


def timed(check: Callable[[], list[str]]) -> tuple[list[str], float]:
    began = time.monotonic()
    return check(), time.monotonic() - began


def main() -> int:
    """Run all checks; return 1 when one found something."""
    failed = 0
    with ThreadPoolExecutor(max_workers=3) as pool:
        running = {name: pool.submit(timed, check) for name, check in CHECKS.items()}
        for name, future in running.items():
            faults, took_s = future.result()
            failed += bool(faults)
            print(f"{name:<24}{'FAILED' if faults else 'ok':<8}{took_s:5.1f} s", flush=True)
            for fault in faults:
                print(f"    {fault}", flush=True)
    print("all checks passed" if not failed else f"{failed} of {len(CHECKS)} checks failed", flush=True)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())

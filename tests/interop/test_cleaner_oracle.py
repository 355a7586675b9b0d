"""Our log cleaner beside Apache Kafka's own, on logs made by seeds.

`python -m tests.interop.test_cleaner_oracle` writes tests/golden/compaction.json.xz anew.
"""

import subprocess
import tempfile
from collections.abc import Iterable
from pathlib import Path

import pytest

from tests import toolchain
from tests.compaction_setup import DELETE_RETENTION_MS
from tests.golden.compaction_comparison import (
    GOLDEN_SEEDS,
    Case,
    Cleaning,
    assert_same,
    clean_here,
    make_case,
    save,
)
from tests.oracle.jvm import java

pytestmark = [pytest.mark.interop, pytest.mark.java, pytest.mark.slow, pytest.mark.timeout(400)]

_TIMEOUT_S = 300
_SEEDS = range(1000, 1150)


def clean_there(cases: Iterable[Case], folder: Path) -> list[Case]:
    """Return cases as Apache Kafka's cleaner ends them."""
    cases = list(cases)
    lines = []
    for case in cases:
        directory = folder / f"{case.seed}" / "t-0"
        directory.mkdir(parents=True)
        for base_offset, content in case.segments:
            (directory / f"{base_offset:020d}.log").write_bytes(content)
        words = [
            directory, case.first_uncleanable_offset, case.high_watermark, case.segment_bytes,
            case.index_interval_bytes, DELETE_RETENTION_MS, case.io_buffer_bytes,
            *(f"{cleaning.now_ms}:{cleaning.map_entries}" for cleaning in case.cleanings),
        ]  # fmt: skip
        lines.append(" ".join(map(str, words)))
    classes = toolchain.compiled_java(Path(__file__).parent / "cleaner_oracle")
    done = subprocess.run(
        java("CleanerOracle", classes=classes), input="\n".join(lines), capture_output=True, text=True,
        timeout=_TIMEOUT_S, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return _outcomes(cases, done.stdout.splitlines(), folder)


def _outcomes(cases: list[Case], lines: list[str], folder: Path) -> list[Case]:
    outcomes = []
    left = iter(lines)
    for case in cases:
        outcome = Case(**{**vars(case), "cleanings": [], "producers": []})
        while len(outcome.cleanings) < len(case.cleanings):
            kind, *words = next(left).split()
            numbers = list(map(int, words))
            if kind == "producer":
                outcome.producers.append((numbers[0], numbers[1], numbers[2]))
                continue
            number, cleaned_to, *counts = numbers
            asked = case.cleanings[number]
            files = {
                path.name: path.read_bytes()
                for path in sorted((folder / f"{case.seed}" / "t-0" / f"{number}").iterdir())
                if int(path.name[:20]) < case.first_uncleanable_offset
            }
            outcome.cleanings.append(
                Cleaning(asked.now_ms, asked.map_entries, cleaned_to, tuple(counts), files)
            )
        outcomes.append(outcome)
    return outcomes


def test_random_logs_are_cleaned_as_by_apache_kafka(tmp_path: Path) -> None:
    try:
        theirs = clean_there(map(make_case, _SEEDS), tmp_path)
    except toolchain.ToolchainMissingError as missing:
        toolchain.unavailable(str(missing))
    for case in theirs:
        assert_same(clean_here(make_case(case.seed)), case)


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder:
        save(clean_there(map(make_case, GOLDEN_SEEDS), Path(folder)))

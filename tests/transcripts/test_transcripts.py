"""Play every scenario; what comes of it must be what its file says.

`pytest tests/transcripts --rewrite-transcripts` writes the files anew; the diff is what is reviewed.
"""

from pathlib import Path

import pytest

from tests.transcripts.player import Player
from tests.transcripts.transcript import differences, read, write

FOLDER = Path(__file__).parent
SCENARIOS = sorted(path.relative_to(FOLDER).as_posix() for path in FOLDER.rglob("*.txt"))
SCENARIOS_MIN = 40


@pytest.mark.parametrize("name", SCENARIOS)
def test_scenario(name: str, rewrite: bool) -> None:
    path = FOLDER / name
    blocks = read(path)
    outputs, wrong = differences(path, blocks, Player().run)
    if rewrite:
        write(path, blocks, outputs)
    else:
        assert wrong is None, wrong


def test_what_comes_otherwise_is_shown_line_by_line(tmp_path: Path) -> None:
    path = tmp_path / "wrong.txt"
    path.write_text("# Nobody is there.\n\na beats member=nobody\n----\na <- Heartbeat ok\n")
    _, wrong = differences(path, read(path), Player().run)
    assert wrong is not None
    assert f"{path}:3:" in wrong
    assert "  - a <- Heartbeat ok" in wrong
    assert "  + a <- Heartbeat UNKNOWN_MEMBER_ID" in wrong


def test_there_are_scenarios_enough() -> None:
    assert len(SCENARIOS) >= SCENARIOS_MIN


@pytest.mark.parametrize("name", SCENARIOS)
def test_scenario_says_why(name: str) -> None:
    """Each file begins with a sentence for people."""
    assert (FOLDER / name).read_text().startswith("# ")

"""The leader epoch file of a log whose first records were deleted: it begins where the log does."""

from collections.abc import Sequence

import pytest

from barnabas.base.disk import write_file_durably
from barnabas.cli.doctor.epochs import EpochRuns, check_epoch_file
from barnabas.cli.doctor.findings import PartitionReport
from barnabas.sim.disk import MemoryDisk

PATH = "/t-0/leader-epoch-checkpoint"
SEEN = [(0, 0), (3, 40), (5, 80)]
"""Of batches up to offset 100."""


def cause(
    content: str,
    log_start_offset: int,
    seen: Sequence[tuple[int, int]] = SEEN,
    may_lack_from: int | None = None,
) -> str:
    disk = MemoryDisk()
    disk.make_dirs("/t-0")
    write_file_durably(disk, PATH, content.encode())
    _, finding = check_epoch_file(
        disk,
        PATH,
        seen,
        report=PartitionReport(path="/t-0", name="t-0", log_end_offset=100),
        log_start_offset=log_start_offset,
        may_lack_from=may_lack_from,
        compacted=False,
    )
    return "" if finding is None else finding.cause


@pytest.mark.parametrize(
    ("content", "log_start_offset"),
    [
        ("0\n3\n0 0\n3 40\n5 80\n", 0),
        ("0\n3\n0 20\n3 40\n5 80\n", 20),
        ("0\n2\n3 40\n5 80\n", 40),
        ("0\n1\n5 95\n", 95),
        ("0\n3\n0 0\n3 40\n5 80\n", 95),
    ],
)
def test_what_a_broker_leaves_is_right(content: str, log_start_offset: int) -> None:
    assert cause(content, log_start_offset) == ""


@pytest.mark.parametrize(
    ("content", "log_start_offset", "words"),
    [
        ("0\n2\n3 40\n5 80\n", 39, "leader epoch 0 of offset 0 is not in it"),
        ("0\n1\n5 95\n", 94, "leader epoch 5 begins at 95"),
        ("0\n2\n0 0\n5 80\n", 20, "leader epoch 3 of offset 40 is not in it"),
    ],
)
def test_what_is_missing_is_told(content: str, log_start_offset: int, words: str) -> None:
    assert words in cause(content, log_start_offset)


def test_a_log_without_batches_has_epochs_at_its_end_at_most() -> None:
    assert cause("0\n1\n5 100\n", 100, seen=()) == ""
    assert cause("0\n0\n", 0, seen=()) == ""


def test_after_a_kill_the_file_may_begin_behind_the_checkpointed_start() -> None:
    content = "0\n1\n5 95\n"
    assert cause(content, 0, may_lack_from=100) == ""
    assert "leader epoch 0 of offset 0 is not in it" in cause(content, 0)
    assert "leader epoch 3 of offset 40" in cause("0\n2\n0 10\n5 80\n", 0, may_lack_from=100)


@pytest.mark.parametrize(("may_lack_from", "wrong"), [(None, 1), (41, 1), (40, 0), (0, 0)])
def test_the_last_batches_of_a_killed_broker_may_have_an_epoch_that_was_not_written_yet(
    may_lack_from: int | None, wrong: int
) -> None:
    runs = EpochRuns()
    runs.batch(2, 0, "segment", 0)
    runs.batch(3, 40, "segment", 500)
    found = list(runs.findings([(2, 0)], may_lack_from))
    assert [finding.position for finding in found] == [500] * wrong

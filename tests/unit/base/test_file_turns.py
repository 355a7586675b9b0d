"""Two threads write one file: in turns, and the newest stays."""

import errno
import threading

import pytest

from barnabas.base.file_turns import FileTurns


def test_an_older_content_is_not_written_over_a_newer_one() -> None:
    turns, written = FileTurns(), []
    older, newer = turns.take_number(), turns.take_number()
    turns.write(newer, lambda: written.append("newer"))
    turns.write(older, lambda: written.append("older"))
    assert written == ["newer"]


def test_a_write_under_way_is_waited_for() -> None:
    turns, written = FileTurns(), []
    older, newer = turns.take_number(), turns.take_number()
    begun, go_on = threading.Event(), threading.Event()

    def slow() -> None:
        begun.set()
        assert go_on.wait(20)
        written.append("older")

    threads = [
        threading.Thread(target=turns.write, args=(older, slow)),
        threading.Thread(target=turns.write, args=(newer, lambda: written.append("newer"))),
    ]
    threads[0].start()
    assert begun.wait(20)
    threads[1].start()
    threads[1].join(0.05)
    assert written == []
    go_on.set()
    for thread in threads:
        thread.join(20)
    assert written == ["older", "newer"]


def test_what_could_not_be_written_counts_for_nothing() -> None:
    turns, written = FileTurns(), []
    older, newer = turns.take_number(), turns.take_number()

    def fail() -> None:
        raise OSError(errno.EIO, "Input/output error")

    with pytest.raises(OSError, match="Input/output"):
        turns.write(newer, fail)
    turns.write(older, lambda: written.append("older"))
    assert written == ["older"]

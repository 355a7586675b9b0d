"""A cleaning in a process of its own: its answer, its end, and what is left when it is killed."""

import os
import threading
from collections.abc import Callable
from pathlib import Path

import pytest

from barnabas.base.child_process import ChildProcess
from barnabas.base.dataclass import replace
from barnabas.base.disk import OsDisk
from barnabas.storage.compaction import cleaning_process
from barnabas.storage.compaction.cleaning_process import ProcessCleaning
from barnabas.storage.compaction.task import CleaningResult, CleaningTask, FailureKind
from barnabas.storage.compaction.task_json import decode_answer, decode_task, encode_result, encode_task
from barnabas.storage.indexes.transaction_index import AbortedTransaction
from tests.compaction_setup import PATH, CompactedLog, LogMaker
from tests.waiting import wait_until

DEADLINE_S = 30


def on_disk(log: CompactedLog, folder: Path) -> CleaningTask:
    """Copy a log to a real folder; return its task there."""
    for name in log.disk.list_dir(PATH):
        file = log.disk.open_readonly(f"{PATH}/{name}")
        (folder / name).write_bytes(file.read_at(0, file.size()))
    return replace(log.task(), path=str(folder))


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def run_aside(cleaning: ProcessCleaning) -> Callable[[], CleaningResult]:
    """Run it on a thread; return what waits for the result."""
    results: list[CleaningResult] = []
    thread = threading.Thread(target=lambda: results.append(cleaning.run()))
    thread.start()

    def result() -> CleaningResult:
        thread.join(DEADLINE_S)
        return results[0]

    return result


def test_a_process_makes_the_same_files_as_this_one(tmp_path: Path) -> None:
    log = CompactedLog(LogMaker(7).make())
    task = on_disk(log, tmp_path)
    result = ProcessCleaning(task, OsDisk()).run()
    here = log.cleaning().run()
    assert result.failure is None
    assert result.cleaned_to_offset == here.cleaned_to_offset
    assert result.groups == here.groups
    made = [name for name in names(tmp_path) if name.endswith(".cleaned")]
    assert len(made) == 4
    for name in made:
        file = log.disk.open_readonly(f"{PATH}/{name}")
        assert (tmp_path / name).read_bytes() == file.read_at(0, file.size())
    stated = (tmp_path / made[0].replace(".index", ".log")).stat()
    assert stated.st_mtime_ns // 1_000_000 == result.groups[0].last_modified_ms


def test_a_task_and_a_result_pass_the_pipe_unchanged() -> None:
    log = CompactedLog(LogMaker(7).make())
    task = log.task(aborted_beyond=(AbortedTransaction(1, 2, 3, 4),), hash_seed=2**64 - 1, high_watermark=99)
    assert decode_task(encode_task(task)) == task
    result = log.cleaning().run()
    assert result.groups
    assert decode_answer(encode_result(result)) == result
    failed = log.cleaning(path="/nowhere").run()
    assert failed.failure is not None
    assert decode_answer(encode_result(failed)) == failed


def test_an_abort_kills_the_process_and_removes_what_it_made(tmp_path: Path) -> None:
    log = CompactedLog(LogMaker(7).make())
    # So slow that it would take days.
    task = replace(on_disk(log, tmp_path), io_bytes_per_second_max=0.5, io_buffer_bytes=100)
    before = names(tmp_path)
    cleaning = ProcessCleaning(task, OsDisk())
    result = run_aside(cleaning)
    wait_until(lambda: cleaning.progress.bytes_done > 0, "it has begun")
    (tmp_path / "00000000000000000000.log.cleaned").touch()
    pid = cleaning.pid
    cleaning.abort()
    failure = result().failure
    assert failure is not None
    assert failure.kind is FailureKind.ABORTED
    assert names(tmp_path) == before
    with pytest.raises(ProcessLookupError):
        os.kill(pid, 0)


def test_an_interrupt_at_the_terminal_is_the_brokers_to_act_on(tmp_path: Path) -> None:
    task = replace(
        on_disk(CompactedLog(LogMaker(7).make()), tmp_path), io_bytes_per_second_max=0.5, io_buffer_bytes=100
    )
    cleaning = ProcessCleaning(task, OsDisk())
    result = run_aside(cleaning)
    wait_until(lambda: cleaning.pid > 0, "it has started")
    group = os.getpgid(cleaning.pid)
    cleaning.abort()
    result()
    assert group != os.getpgid(0)


def test_an_abort_before_the_start_starts_nothing(tmp_path: Path) -> None:
    task = on_disk(CompactedLog(LogMaker(7).make()), tmp_path)
    cleaning = ProcessCleaning(task, OsDisk())
    cleaning.abort()
    failure = cleaning.run().failure
    assert failure is not None
    assert failure.kind is FailureKind.ABORTED
    assert cleaning.pid == 0


def test_a_process_that_dies_is_a_failure_of_its_own_kind(tmp_path: Path) -> None:
    log = CompactedLog(LogMaker(7).make())
    task = replace(on_disk(log, tmp_path), io_bytes_per_second_max=0.5, io_buffer_bytes=100)
    cleaning = ProcessCleaning(task, OsDisk())
    result = run_aside(cleaning)
    wait_until(lambda: cleaning.progress.bytes_done > 0, "it has begun")
    os.kill(cleaning.pid, 9)
    failure = result().failure
    assert failure is not None
    assert failure.kind is FailureKind.CRASHED


def test_a_process_that_cannot_start_is_one_too(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cleaning_process, "MODULE", "barnabas.storage.nothing_of_that_name")
    task = on_disk(CompactedLog(LogMaker(7).make()), tmp_path)
    failure = ProcessCleaning(task, OsDisk()).run().failure
    assert failure is not None
    assert failure.kind is FailureKind.CRASHED


def test_damage_is_told_from_the_process_too(tmp_path: Path) -> None:
    log = CompactedLog(LogMaker(7).make())
    task = on_disk(log, tmp_path)
    before = names(tmp_path)
    segment = tmp_path / f"{log.bases[0]:020d}.log"
    segment.write_bytes(segment.read_bytes()[:-1])
    failure = ProcessCleaning(task, OsDisk()).run().failure
    assert failure is not None
    assert failure.kind is FailureKind.CORRUPT
    assert names(tmp_path) == before


def test_an_orphan_ends(tmp_path: Path) -> None:
    """The process of a broker that was killed neither writes beside the next one nor takes its files away."""
    log = CompactedLog(LogMaker(7).make())
    # So slow that it would take an hour: it sleeps when the broker goes.
    task = replace(on_disk(log, tmp_path), io_bytes_per_second_max=10.0, io_buffer_bytes=100)
    pid_file = tmp_path / "pid"
    others = tmp_path / f"{10**9:020d}.log.cleaned"
    broker = os.fork()
    if broker == 0:
        try:
            child = ChildProcess("barnabas.storage.compaction")
            lines = child.run(encode_task(task))
            next(lines)
            pid_file.write_text(str(child.pid))
            others.write_bytes(b"of the next broker")
        finally:
            os._exit(9)  # without a word to the child
    os.waitpid(broker, 0)
    pid = int(pid_file.read_text())
    wait_until(lambda: not _runs(pid), "its process is gone")
    assert others.exists()


def _runs(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0] != "Z"
    except OSError:
        return False

"""A cleaning in a process of its own, as the broker has it.

Cleaning is work for the interpreter, record after record, and in the broker's own process it would take its
lock in turns with serving. In another process it costs serving nothing but a share of the machine, of which
it takes what is left over.
"""

from barnabas.base.child_process import ChildProcess
from barnabas.base.disk import Disk
from barnabas.storage.compaction.cleaned_segment import remove_cleaned_files
from barnabas.storage.compaction.task import (
    CleaningFailure,
    CleaningProgress,
    CleaningResult,
    CleaningStatistics,
    CleaningTask,
    FailureKind,
)
from barnabas.storage.compaction.task_json import decode_answer, encode_task

MODULE = "barnabas.storage.compaction"


class ProcessCleaning:
    """A cleaning that another process does; see `task.Cleaning`.

    Args:
        disk: removes what a killed process left; the process itself works on the operating system's files.
    """

    def __init__(self, task: CleaningTask, disk: Disk) -> None:
        self._task = task
        self._disk = disk
        self._child = ChildProcess(MODULE)
        self._progress = CleaningProgress(0, task.size_bytes)
        self._is_aborted = False

    @property
    def progress(self) -> CleaningProgress:
        """How far it has come; from any thread."""
        return self._progress

    @property
    def pid(self) -> int:
        """Of the process; 0 while there is none."""
        return self._child.pid

    def abort(self) -> None:
        """Kill the process, or do not start it; from any thread, any time."""
        self._is_aborted = True
        self._child.kill()

    def run(self) -> CleaningResult:
        """Start the process and wait for its answer."""
        result: CleaningResult | None = None
        try:
            for line in self._child.run(encode_task(self._task)):
                answer = decode_answer(line)
                if isinstance(answer, CleaningResult):
                    result = answer
                else:
                    self._progress = answer
        except OSError as error:
            return self._failed(FailureKind.CRASHED, f"the cleaning process cannot be started: {error}")
        if result is not None:
            return result
        if self._is_aborted:
            return self._failed(FailureKind.ABORTED, "aborted")
        return self._failed(FailureKind.CRASHED, "the cleaning process ended without an answer")

    def _failed(self, kind: FailureKind, message: str) -> CleaningResult:
        remove_cleaned_files(self._disk, self._task.path)
        return CleaningResult(
            cleaned_to_offset=self._task.first_dirty_offset,
            groups=(),
            statistics=CleaningStatistics(),
            failure=CleaningFailure(kind=kind, message=message),
        )

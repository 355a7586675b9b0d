"""Syncing what `flush.messages` asks for: appends of many clients share syncs, and none holds up the loop.

An append that reaches `flush.messages` is held back (`Log._hold_from`) and its log is entered here. At the
end of the turn every log that was entered is begun: one sync of its file, by a helper thread, for all that
was appended to it in this turn. What is appended meanwhile gathers, and the end of that sync begins the
next. So while the disk takes a millisecond, a millisecond's appends of all connections share one sync, and
logs that are synced at once share the commits of the file system's journal.

Each log goes at its own pace: a round for all of them together, in which the fast ones wait for the
slowest, was rejected, as was one sync of the whole volume for many logs, which waits for everything that
others have written there (see docs/durability.md for the figures).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from barnabas.base.dataclass import dataclass
from barnabas.base.durations import DurationHistogram
from barnabas.base.errors import ApiError
from barnabas.base.hints import TYPE_CHECKING
from barnabas.base.logger import Logger
from barnabas.storage.topic_partition import TopicPartition

if TYPE_CHECKING:
    from barnabas.base.worker import RunBlocking
    from barnabas.storage.flush.work import FlushWork
    from barnabas.storage.log import Log

_log = Logger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupCommitStatistics:
    """What was gathered and synced.

    Attributes:
        appends: that had to wait for a sync; `appends / syncs` of them shared one.
        rounds: times that syncs were begun, of one log or of many at once.
        syncs: of logs; each is one of a file, seldom of more.
        files: files and directories synced.
        syncing: logs being synced now.
        due: logs that wait for the end of the turn, or of their sync under way, for the next one.
    """

    appends: int
    rounds: int
    syncs: int
    files: int
    syncing: int
    due: int


class GroupCommit:
    """The FlushTaker of a broker's logs. All calls come from the loop's thread.

    Args:
        logs: the open logs; one that is not among them any more is not synced.
        run_blocking: where syncs run, several at once if it can.
        call_at_turn_end: runs a call when this turn's requests are handled; None: nothing is gathered, a sync
            begins with the append.
        times: how long syncs take.

    Attributes:
        on_released: told of each log of which more may be shown and acknowledged.
    """

    __slots__ = (
        "_appends",
        "_begin_is_due",
        "_call_at_turn_end",
        "_due",
        "_files",
        "_is_stopping",
        "_logs",
        "_rounds",
        "_run_blocking",
        "_syncing",
        "_syncs",
        "_times",
        "on_released",
    )

    def __init__(
        self,
        logs: Mapping[TopicPartition, Log],
        run_blocking: RunBlocking,
        call_at_turn_end: Callable[[Callable[[], None]], None] | None,
        times: DurationHistogram,
    ) -> None:
        self._logs = logs
        self._run_blocking = run_blocking
        self._call_at_turn_end = call_at_turn_end
        self._times = times
        self._due: dict[Log, None] = {}
        self._syncing: dict[Log, FlushWork] = {}
        self._begin_is_due = False
        self._is_stopping = False
        self._appends = 0
        self._rounds = 0
        self._syncs = 0
        self._files = 0
        self.on_released: Callable[[Log], None] | None = None

    # What logs call

    def flush_soon(self, appended: Log) -> None:
        """See FlushTaker."""
        self._appends += 1
        if self._is_stopping:
            appended.flush()
            return
        self._due[appended] = None
        if self._begin_is_due or appended in self._syncing:
            return
        if self._call_at_turn_end is None:
            self._begin_round()
        else:
            self._begin_is_due = True
            self._call_at_turn_end(self._begin_round)

    def released(self, synced: Log) -> None:
        """See FlushTaker."""
        if self.on_released is not None:
            self.on_released(synced)

    # Rounds

    def _begin_round(self) -> None:
        self._begin_is_due = False
        ready = [due for due in self._due if due not in self._syncing]
        if ready:
            self._rounds += 1
        for due in ready:
            self._begin(due)

    def _begin(self, due: Log) -> None:
        del self._due[due]
        if not self._is_served(due):
            return  # who waits for it has been told so
        try:
            work = due.begin_flush(with_epochs=False)
        except ApiError as error:
            _log.debug("syncing %s: %s", due.name, error)
            return
        if work is None:
            return
        self._syncs += 1
        self._files += work.sync_count
        self._syncing[due] = work
        self._run_blocking(work.run, lambda error: self._synced(due, work, error))

    def _synced(self, synced: Log, work: FlushWork, error: OSError | None) -> None:
        if self._syncing.pop(synced, None) is None:
            return  # `abandon` was quicker
        if error is None:
            self._times.add(work.took_us)
        try:
            synced.finish_flush(work, error)
        except ApiError as failure:
            _log.debug("syncing %s: %s", synced.name, failure)
            if not self._is_served(synced):
                self._due.pop(synced, None)
                return
            # It goes on in another directory than the one that failed.
        if synced.durability.held is not None:
            # Appended meanwhile, or the sync was overtaken by a cut or a roll.
            self._due[synced] = None
            self._rounds += 1
            self._begin(synced)
        else:
            self._due.pop(synced, None)

    def _is_served(self, log: Log) -> bool:
        is_open = self._logs.get(TopicPartition(log.topic, log.partition)) is log
        return is_open and log.directory.online

    # Stopping

    def stop(self) -> None:
        """Sync what is due or under way before this returns; from now on appends sync by themselves."""
        self._is_stopping = True
        for held in list({**self._due, **dict.fromkeys(self._syncing)}):
            if self._is_served(held) and held.durability.held is not None:
                try:
                    held.flush()
                except ApiError as error:
                    _log.debug("syncing %s: %s", held.name, error)
        self._due.clear()

    def abandon(self) -> None:
        """Let go of the files of syncs that will not come back: the threads that ran them have ended."""
        for work in self._syncing.values():
            work.release()
        self._syncing.clear()

    def statistics(self) -> GroupCommitStatistics:
        """Return counts since the start, and what is under way."""
        return GroupCommitStatistics(
            appends=self._appends,
            rounds=self._rounds,
            syncs=self._syncs,
            files=self._files,
            syncing=len(self._syncing),
            due=len(self._due),
        )

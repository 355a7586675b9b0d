"""What must hold after each crash, looked at from outside and from inside of the broker.

Just before the power goes the checker takes stock: what every log's files hold as the page cache has them.
After the start each log must hold a prefix of that, byte for byte, and with it everything that clients were
promised. Indexes, producer states, leader epochs and bounds must say the same as the batches. Then, once the
coordinators have loaded, come metadata, committed offsets and transactions.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from barnabas.protocol import messages as m
from barnabas.storage.checkpoints.checkpoint_file import RECOVERY_POINT_FILE, read_offsets
from barnabas.storage.log import Log
from barnabas.storage.partition_metadata import read_topic_id
from tests.index_entries import wrong_entries
from tests.power_loss.clients import TRANSACTION_TIMEOUT_MS, check_fetched, fetch
from tests.power_loss.history import (
    CommittedOffset,
    PartitionHistory,
    StoredBatch,
    expect,
    split_batches,
    visible_batches,
)
from tests.power_loss.leftovers import check_leftovers
from tests.power_loss.machine import ROOT, SimulatedConnection

if TYPE_CHECKING:
    from tests.power_loss.world import World

_COMPACTED = ("__", "keyed")
"""How the names of compacted topics begin."""

_NO_OFFSET = 1 << 63
LogKey = tuple[str, bytes | None]
_FETCHES_MAX = 100
_RETENTION_MS_MAX = 60_000
_RETENTION_MS = 6000
"""More than retention waits between its checks, and deleted files until they go."""


class Stock(NamedTuple):
    """What was written before a crash.

    Attributes:
        logs: by directory name and topic id.
    """

    logs: dict[LogKey, list[StoredBatch]]


def log_batches(log: Log) -> list[StoredBatch]:
    """Return all batches of an open log; nothing may lie behind the last one of a segment."""
    found: list[StoredBatch] = []
    for segment in log.segments:
        content = segment.leased.file.read_at(0, segment.size + 1000)
        batches = split_batches(content)
        expect(
            len(content) == segment.size == sum(len(batch.raw) for batch in batches),
            f"{log.name}: bytes that are no batch in segment {segment.base_offset}",
        )
        expect(
            not batches or batches[0].base_offset >= segment.base_offset,
            f"{log.name}: segment {segment.base_offset} begins too early",
        )
        found += batches
        for wrong in wrong_entries(segment, content):
            expect(False, f"{log.name}: {wrong}")
    return found


class Checker:
    """Looks after each crash.

    Attributes:
        stock: of the last crash.
    """

    def __init__(self, world: World) -> None:
        self._world = world
        self._stock = Stock({})
        self._kept_since_recovered = True
        self._kept_since_settled = True
        self._deleted_below: dict[LogKey, int] = {}
        self._gone: dict[LogKey, dict[int, StoredBatch]] = {}  # by base offset
        world.machine.on_gone = self._segment_goes
        self._outcomes: dict[str, set[str]] = {}  # by transaction
        self._synced_to: dict[tuple[str, int], int] = {}
        self._records: dict[LogKey, dict[int, tuple[bytes | None, bytes | None]]] = {}

    # Before a crash ----------------------------------------------------------------------------------

    def take_stock(self, *, all_kept: bool) -> None:
        """Note what is written."""
        world = self._world
        self._stock = Stock(self._written())
        for key, batches in self._stock.logs.items():
            if key[0].startswith(_COMPACTED):
                end = batches[-1].next_offset if batches else 0
                ever = {o: record for o, record in self._records.get(key, {}).items() if o < end}
                self._records[key] = ever
                for batch in batches:
                    for record in batch.records:
                        ever[record.offset] = record.key, record.value
        self._kept_since_recovered = self._kept_since_recovered and all_kept
        self._kept_since_settled = self._kept_since_settled and all_kept
        if not all_kept:
            for producer in world.transactional:
                for transaction in producer.transactions:
                    if transaction.outcome == "committed" and not transaction.is_durable:
                        transaction.outcome = "unsure"

    def _written(self) -> dict[LogKey, list[StoredBatch]]:
        disk = self._world.machine.disk
        logs: dict[LogKey, list[StoredBatch]] = {}
        if not disk.is_dir(ROOT):
            return logs
        for name in disk.list_dir(ROOT):
            path = f"{ROOT}/{name}"
            if not disk.is_dir(path) or name.endswith(("-delete", "-stray")):
                continue
            found: list[StoredBatch] = []
            for file_name in disk.list_dir(path):
                if file_name.endswith(".log"):
                    file = disk.open_readonly(f"{path}/{file_name}")
                    found += split_batches(file.read_at(0, file.size()))
            key = self._key_of(path)
            gone = self._gone.get(key, {})
            first = found[0].base_offset if found else _NO_OFFSET
            before = [gone[base] for base in sorted(gone) if base < first]
            logs[key] = before + found
        return logs

    def _key_of(self, path: str) -> LogKey:
        try:
            topic_id = read_topic_id(self._world.machine.disk, path)
        except ValueError:
            topic_id = None  # its write was torn, and nothing was appended
        return path.rpartition("/")[2], topic_id

    def _segment_goes(self, path: str) -> None:
        """Remember what a segment holds that is deleted: a power loss may undo that."""
        file = self._world.machine.disk.open_readonly(path)
        gone = self._gone.setdefault(self._key_of(path.rpartition("/")[0]), {})
        gone.update((batch.base_offset, batch) for batch in split_batches(file.read_at(0, file.size())))

    # After a start -----------------------------------------------------------------------------------

    def before_start(self) -> None:
        """Note up to where logs may have been compacted: only what a checkpoint calls synced is."""
        disk = self._world.machine.disk
        self._synced_to = dict(read_offsets(disk, f"{ROOT}/{RECOVERY_POINT_FILE}"))

    def check_recovered(self) -> dict[str, Any]:
        """Check logs and metadata as they are before anything is appended; return what they come to."""
        world = self._world
        broker = world.broker
        directory = broker.logs.directories[0]
        expect(directory.online, f"the log directory is offline: {directory.failure}")
        expect(not broker.logs.unopened, f"logs were not opened: {broker.logs.unopened}")
        known_ids = {topic.topic_id for topic in world.topics}
        for topic in world.topics:
            topic.check(broker.image, known_ids)
        self._deleted_below = {
            (history.name, history.topic_id): 1 << 60 if history.may_expire else history.start_asked
            for topic in world.topics
            for history in topic.histories
        }
        found: dict[LogKey, list[StoredBatch]] = {}
        digest: dict[str, Any] = {"topics": sorted(broker.image.topics)}
        for log in broker.logs.logs.values():
            expect(log.topic_id is not None, f"{log.name} has no topic id")
            batches = log_batches(log)
            found[log.name, log.topic_id] = batches
            self._check_log(log, batches)
            digest[log.name] = _digest(log, batches)
        for topic in world.topics:
            if topic.state != "there":
                continue
            for history in topic.histories:
                opened = broker.logs.get(topic.name, history.partition)
                expect(opened is not None, f"{history.name} has no log")
                assert opened is not None
                expect(opened.topic_id == topic.topic_id, f"{history.name}: the log of another topic")
                self._check_history(history, opened, found[opened.name, opened.topic_id])
        self._stock = Stock(found)  # what comes next is compared with what is there now
        self._kept_since_recovered = True
        return digest

    def _check_log(self, log: Log, batches: list[StoredBatch]) -> None:
        """Compare a log with what was written to it, and what it knows with what it holds."""
        written = self._stock.logs.get((log.name, log.topic_id), [])
        gone = self._gone.get((log.name, log.topic_id), {})
        self._gone[log.name, log.topic_id] = {
            base: batch for base, batch in gone.items() if base < log.log_end_offset
        }
        if log.config.compact:
            self._check_compacted(log, batches)
            return
        bases = {batch.base_offset: number for number, batch in enumerate(written)}
        first = bases.get(batches[0].base_offset, 0) if batches else 0
        expect(
            [batch.raw for batch in batches] == [b.raw for b in written[first : first + len(batches)]],
            f"{log.name}: {[b.base_offset for b in batches]} is no part of what was written, "
            f"{[b.base_offset for b in written]}",
        )
        if self._kept_since_recovered and written:
            expect(
                log.log_end_offset >= written[-1].next_offset,
                f"{log.name} ends at {log.log_end_offset}, but {written[-1].next_offset} was kept",
            )
        if batches:
            expect(
                log.log_end_offset == batches[-1].next_offset,
                f"{log.name} ends at {log.log_end_offset}, its last batch at {batches[-1].next_offset}",
            )
            expect(
                batches[0].base_offset <= log.log_start_offset
                or batches[0].base_offset == log.segments.first.base_offset == log.log_start_offset,
                f"{log.name}: the log begins at {log.log_start_offset}, its first batch at "
                f"{batches[0].base_offset}",
            )
        expect(log.recovery_point <= log.log_end_offset, f"{log.name}: the recovery point is beyond the end")
        last: dict[int, StoredBatch] = {}
        # Of deleted records the epochs are forgotten at once, the records themselves perhaps later.
        deleted_below = max(log.log_start_offset, self._deleted_below.get((log.name, log.topic_id), 0))
        for batch in batches:
            producer_id = batch.header.producer_id
            if not batch.header.is_control:
                last[producer_id] = batch
            elif (
                producer_id in last and batch.header.producer_epoch > last[producer_id].header.producer_epoch
            ):
                del last[producer_id]  # a marker that raises the epoch: sequences begin anew
            epoch = log.leader_epochs.epoch_for(batch.base_offset)
            expect(
                batch.base_offset < deleted_below or epoch == batch.header.partition_leader_epoch,
                f"{log.name}: offset {batch.base_offset} is of leader epoch "
                f"{batch.header.partition_leader_epoch}, the log says {epoch}",
            )
        last.pop(-1, None)
        for producer_id, batch in last.items():
            state = log.producers.producers.get(producer_id)
            expect(
                state is not None and state.last_offset == batch.header.last_offset
                if batch.base_offset >= log.log_start_offset
                else True,
                f"{log.name}: producer {producer_id} is known as {state and state.last_offset}, the log has "
                f"{batch.header}",
            )

    def _check_compacted(self, log: Log, batches: list[StoredBatch]) -> None:
        """Compare by records: a crash in a compaction leaves old and new batches of the same records."""
        key = (log.name, log.topic_id)
        ever = self._records.get(key, {})
        end = log.log_end_offset
        there = set()
        for batch in batches:
            for record in batch.records:
                there.add(record.offset)
                expect(
                    ever.get(record.offset) == (record.key, record.value),
                    f"{log.name}: the record at {record.offset} was never written",
                )
        if self._kept_since_recovered and ever:
            expect(end > max(ever), f"{log.name} ends at {end}, but {max(ever)} was kept")
        self._records[key] = {offset: record for offset, record in ever.items() if offset < end}
        # Without a compaction nothing is missing; with it, offsets before the first dirty one may be.
        cleaned_to = self._synced_to.get((log.topic, log.partition), 0)
        missing = [offset for offset in self._records[key] if cleaned_to <= offset and offset not in there]
        expect(not missing, f"{log.name}: {missing} are gone, compacted up to {cleaned_to}, end {end}")

    def _check_history(self, history: PartitionHistory, log: Log, batches: list[StoredBatch]) -> None:
        end, start = log.log_end_offset, log.log_start_offset
        history.check_end(end, all_kept=self._kept_since_recovered)
        expect(
            start >= history.start_deleted,
            f"{history.name} begins at {start}, but below {history.start_deleted} all was deleted",
        )
        expect(
            start <= history.start_asked or history.may_expire,
            f"{history.name} begins at {start}, nobody deleted that",
        )
        written = self._stock.logs.get((history.name, history.topic_id), [])
        history.has_lost |= not self._kept_since_recovered or bool(written and written[-1].next_offset > end)
        history.cut(end)
        history.check_content(batches, start)

    def check_settled(self) -> None:
        """Check what coordinators know, now that they have loaded."""
        world = self._world
        for client in (*world.committers, *world.transactional):
            found = self._committed_offset(client.group)
            self._check_offset(client.committed, found, client.group)
        self._kept_since_settled = True

    def _check_offset(self, committed: CommittedOffset, found: int, group: str) -> None:
        committed.check(found, all_kept=self._kept_since_settled, what=f"the offset of {group}")

    def _ask(self, request: Any, version: int) -> Any:
        answers: list[Any] = []
        broker = self._world.broker
        connection = SimulatedConnection("checker")
        connection.ask(
            broker.dispatcher, request, version, next(self._world.machine.correlation_ids), answers.append
        )
        broker.settle()
        expect(len(answers) == 1, f"{type(request).__name__} is never answered")
        return answers[0]

    def _committed_offset(self, group: str) -> int:
        if "__consumer_offsets" not in self._world.broker.image.topics:
            return -1
        topic = m.OffsetFetchRequestOffsetFetchRequestTopics(
            name=self._world.offsets_topic, partition_indexes=[0]
        )
        asked = m.OffsetFetchRequestOffsetFetchRequestGroup(group_id=group, topics=[topic])
        answer = self._ask(m.OffsetFetchRequest(groups=[asked]), 9)
        told = answer.groups[0]
        expect(not told.error_code, f"offsets of {group} cannot be fetched: {told.error_code}")
        return int(told.topics[0].partitions[0].committed_offset)

    # At the end --------------------------------------------------------------------------------------

    def check_at_the_end(self) -> None:
        """Let every transaction end, then read everything as a committed reader does."""
        world = self._world
        world.machine.preempt = None
        for _ in range(5):
            world.machine.clock.advance_ms(TRANSACTION_TIMEOUT_MS // 2)
            world.broker.settle()
        for topic in world.topics:
            if topic.state == "there":
                for history in topic.histories:
                    self._check_partition_at_the_end(history)
        if world.internal_durable:
            torn = [name for name, outcomes in self._outcomes.items() if len(outcomes) > 1]
            expect(not torn, f"{torn} are committed in part")
        for number in range(6):
            world.machine.clock.advance_ms(_RETENTION_MS if number else 2 * _RETENTION_MS_MAX)
            world.broker.settle()
        check_leftovers(world.machine.disk, world.broker.logs)

    def _check_partition_at_the_end(self, history: PartitionHistory) -> None:
        partition = self._world.broker.replicas.partitions.get(history.topic, history.partition)
        log = partition.log
        batches = log_batches(log)
        committed, aborted, first_open = visible_batches(batches)
        stable = partition.last_stable_offset_metadata().message_offset
        expect(
            first_open is None and stable == partition.high_watermark == log.log_end_offset,
            f"{history.name}: LSO {stable}, HW {partition.high_watermark}, end {log.log_end_offset}, "
            f"open from {first_open}",
        )
        if history.is_compacted:
            committed, aborted = [], []  # by records, elsewhere; nothing there is transactional
        for batch in committed:
            attempt = history.attempts[batch.tail]
            expect(
                attempt.transaction is None or attempt.transaction.may_be_committed,
                f"{history.name}: {attempt.transaction} is committed at {batch.base_offset}",
            )
        for batch in aborted:
            attempt = history.attempts[batch.tail]
            assert attempt.transaction is not None
            expect(
                attempt.transaction.may_be_aborted,
                f"{history.name}: {attempt.transaction} is aborted at {batch.base_offset}",
            )
        for batches_of, outcome in ((committed, "committed"), (aborted, "aborted")):
            for batch in batches_of:
                transaction = history.attempts[batch.tail].transaction
                if transaction is not None:
                    self._outcomes.setdefault(transaction.name, set()).add(outcome)
        offset, seen = log.log_start_offset, list[StoredBatch]()
        for _ in range(_FETCHES_MAX):
            if offset >= stable:
                break
            asked = fetch(history, offset, isolation=1)
            answer = self._ask(asked.request, asked.version)
            told = answer.responses[0].partitions[0]
            expect(not told.error_code, f"{history.name}: the last fetch got {told.error_code}")
            offset, visible = check_fetched(history, told, isolation=1)
            seen += visible
        expect(offset == stable, f"{history.name}: reading ends at {offset}, not at {stable}")
        # A transaction that began before the log's start is not told of any more where its records are gone.
        wanted = [batch.raw for batch in committed if batch.base_offset >= log.log_start_offset]
        got = [batch.raw for batch in seen if batch.base_offset >= log.log_start_offset]
        expect(
            history.is_compacted or got == wanted or log.log_start_offset > 0,
            f"{history.name}: committed readers get {len(got)} batches of {len(wanted)}",
        )


def _digest(log: Log, batches: list[StoredBatch]) -> Any:
    producers = {
        producer_id: (state.epoch, state.last_sequence, state.last_offset, state.txn_first_offset)
        for producer_id, state in log.producers.producers.items()
    }
    return (
        log.topic_id,
        log.log_start_offset,
        log.log_end_offset,
        [batch.raw for batch in batches],
        sorted(producers.items()),
        [entry for entry in log.leader_epochs.entries if entry.start_offset < log.log_end_offset],
    )

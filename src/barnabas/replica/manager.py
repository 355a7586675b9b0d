"""Every request that spans partitions: fetch, append and their waiting, list offsets, delete records.

Each call reads or writes at once and then either answers or parks what must wait. Who is woken by a change is
decided here too: partitions only say what moved. Wakes come at the end of the loop's turn, so a produce to
a hundred partitions, or a hundred produces in one turn, try each waiting fetch once.

A queue between the network and this layer, as Apache Kafka has, was rejected: on one loop it only adds
a turn.
"""

from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Sequence

from barnabas.base.clock import Clock
from barnabas.base.cold_reads import ColdReadError, ColdReads
from barnabas.base.errors import ApiError, ErrorCode
from barnabas.base.hints import TYPE_CHECKING, Final
from barnabas.metadata.image import (
    DIRECTORY_LOST,
    DIRECTORY_MIGRATING,
    DIRECTORY_UNASSIGNED,
    MetadataDelta,
    MetadataImage,
    PartitionImage,
)
from barnabas.replica.appends import Appends
from barnabas.replica.cold_lookups import ColdLookups
from barnabas.replica.delayed_delete_records import DelayedDeleteRecords, DeleteRecordsReason
from barnabas.replica.delayed_fetch import (
    DelayedFetch,
    DelayedSessionFetch,
    IsThrottled,
    reason_to_answer_now,
)
from barnabas.replica.fetch import (
    FetchOutcome,
    FetchParams,
    FetchPartition,
    FetchPartitionResult,
    FetchReason,
    SharedOutcome,
    release_records,
)
from barnabas.replica.fetch_reader import FetchReader, SelectReplica
from barnabas.replica.hosted_partitions import HostedPartitions, LogStore
from barnabas.replica.list_offsets import OffsetsByTime, end_offset_for_leader_epoch
from barnabas.replica.offset_requests import (
    DeleteRecordsPartition,
    DeleteRecordsResult,
    EpochEndOffset,
    LeaderEpochPartition,
)
from barnabas.replica.partition import Partition
from barnabas.replica.partition_traffic import count_out
from barnabas.replica.produce import INTERNAL_TOPICS, AppendReason
from barnabas.replica.replica_statistics import ReplicaManagerStatistics, WaitingStatistics
from barnabas.replica.session_partitions import QuietChanges, SessionPartitions
from barnabas.replica.shared_reads import READS_MAX as SHARED_READS_MAX
from barnabas.replica.shared_reads import SharedRead, SharedReads, key_of
from barnabas.storage.log import Log
from barnabas.storage.log_config import LogConfig
from barnabas.storage.log_directory import LogDirectory
from barnabas.timing.purgatory import TRIES_MAX_PER_TURN, Held, Purgatory
from barnabas.timing.timer_wheel import TimerWheel

if TYPE_CHECKING:
    from barnabas.replica.fetch_verifier import FetchVerifier

# Looking a member up in its enum costs as much as a small call.
_NONE: Final = ErrorCode.NONE


class ReplicaManager:
    """Lookup, fetch, append, and what waits for them. All calls come from the loop's thread.

    Args:
        local_id: this broker's node id.
        wheel: shared with others; its owner advances it.
        call_soon: see Purgatory.
        image: the live image; `apply_delta` is one of its subscribers.
        log_config_for: the effective log configuration of a topic as the image has it now.
        tries_max_per_turn: waiting operations tried in one turn of the loop.
        select_replica: None: consumers are never sent elsewhere.
        is_throttled: None: followers are never throttled.
        cold_reads: who brings in what a look-up needs (F44); None: look-ups wait for the disk.
        verifier: checks what fetches are served with; None: nobody does.
        held: see Purgatory, for the owners of fetches.

    Attributes:
        verifier: the same.
        partitions: those this broker hosts.
        reader: what fetches read by.
        selects_replicas: the same as the reader's.
        append: see `Appends.append`.
        list_offsets: see `OffsetsByTime.list_offsets`.
    """

    def __init__(
        self,
        *,
        local_id: int,
        clock: Clock,
        wheel: TimerWheel,
        call_soon: Callable[[Callable[[], None]], None],
        log_manager: LogStore,
        image: MetadataImage,
        log_config_for: Callable[[str], LogConfig],
        tries_max_per_turn: int = TRIES_MAX_PER_TURN,
        select_replica: SelectReplica | None = None,
        is_throttled: IsThrottled | None = None,
        cold_reads: ColdReads | None = None,
        verifier: "FetchVerifier | None" = None,
        held: Held | None = None,
    ) -> None:
        self._clock = clock
        self._log_manager = log_manager
        self._image = image
        self._is_throttled = is_throttled
        self.verifier = verifier
        self._cold_lookups = ColdLookups(cold_reads)
        self.partitions = HostedPartitions(
            local_id=local_id,
            image=image,
            log_manager=log_manager,
            log_config_for=log_config_for,
            now_ms=clock.monotonic_ms,
            call_soon=call_soon,
        )
        self.reader = FetchReader(
            local_id=local_id,
            partitions=self.partitions,
            now_ms=clock.monotonic_ms,
            watermark_moved=self._watermark_moved,
            select_replica=select_replica,
            is_throttled=is_throttled,
            cold_tries_max=self._cold_lookups.tries_max,
            verifier=verifier,
        )
        self.selects_replicas = self.reader.selects_replicas
        self.list_offsets = OffsetsByTime(self.partitions, self._cold_lookups).list_offsets
        self._fetches = Purgatory("Fetch", wheel, call_soon, tries_max=tries_max_per_turn, held=held)
        self._produces = Purgatory("Produce", wheel, call_soon, tries_max=tries_max_per_turn)
        self.append = Appends(self.partitions, self._produces, clock, self._wake).append
        self._deletions = Purgatory("DeleteRecords", wheel, call_soon, tries_max=tries_max_per_turn)
        self._quiet_changes = QuietChanges(call_soon)
        self._fetch_reasons: Counter[FetchReason] = Counter()
        self._call_soon = call_soon
        self._shared_reads = SharedReads()
        self._shares_reads = select_replica is None and verifier is None
        # One bound method for all parked fetches, not one each.
        self._answer_parked = self._answer_parked_fetch

    # Partitions come and go

    def start(self) -> None:
        """Open every partition the image gives this broker; call once, when the logs are loaded."""
        self.partitions.load()

    def apply_delta(self, delta: MetadataDelta, image: MetadataImage) -> None:
        """Create, change and delete partitions as the image now says; whoever waited for them is told.

        Raises:
            ApiError: a log could not be made for another reason than its disk.
        """
        assert image is self._image, "there is one image"
        self._wake_all(self.partitions.apply_delta(delta))

    def log_directory_failed(self, directory: LogDirectory) -> None:
        """Take a directory's partitions offline; parked requests hear KAFKA_STORAGE_ERROR (F43)."""
        self._wake_all(self.partitions.directory_failed(directory))

    def bounds_moved(self, partition: Partition) -> None:
        """Wake readers after a change that came from outside: LSO up at a transaction's end, say (F29)."""
        self._fetches.check_later(partition)

    def checkpoint_high_watermarks(self) -> None:
        """Write every log directory's replication-offset-checkpoint."""
        self._log_manager.checkpoint_high_watermarks(self.partitions.high_watermarks())

    def shutdown(self) -> None:
        """Answer what is parked, then checkpoint. Logs are closed by their manager."""
        self._fetches.shutdown(FetchReason.SHUTDOWN)
        self._produces.shutdown(AppendReason.SHUTDOWN)
        self._deletions.shutdown(DeleteRecordsReason.SHUTDOWN)
        self.partitions.delete_waiting()
        self.checkpoint_high_watermarks()

    def statistics(self) -> ReplicaManagerStatistics:
        """Return gauges; walks the partitions."""
        leading = [partition for partition in self.partitions if partition.is_leader]
        return ReplicaManagerStatistics(
            partition_count=len(self.partitions),
            leader_count=len(leading),
            offline_partition_count=self.partitions.offline_count,
            under_min_isr_partition_count=sum(len(p.isr) < p.min_insync_replicas for p in leading),
        )

    def waiting_statistics(self) -> WaitingStatistics:
        """Return what waits and why fetches were answered; does not walk the partitions."""
        return WaitingStatistics(
            fetches_by_reason=dict(self._fetch_reasons),
            fetch_purgatory=self._fetches.statistics(),
            produce_purgatory=self._produces.statistics(),
            delete_records_purgatory=self._deletions.statistics(),
        )

    # What others want to know

    def compression_type(self, topic: str, partition: int) -> str:
        """Return a partition's compression.type, for old readers of zstd (F2b); "producer" when unknown."""
        found = self.partitions.by_name.get((topic, partition))
        return "producer" if found is None else found.log.config.compression_type

    def offline_replicas(self, partition: PartitionImage) -> list[int]:
        """Return the replicas of a partition that cannot serve it, for Metadata.

        Their broker is unknown or fenced, or has told that their log directory is lost.
        """
        return [
            replica
            for replica, directory in zip(partition.replicas, partition.directories, strict=True)
            if not self._is_replica_online(replica, directory)
        ]

    def _is_replica_online(self, replica: int, directory: bytes) -> bool:
        broker = self._image.brokers.get(replica)
        if broker is None or broker.fenced or directory == DIRECTORY_LOST:
            return False
        if directory in (DIRECTORY_UNASSIGNED, DIRECTORY_MIGRATING) or not broker.log_dirs:
            return True
        return directory in broker.log_dirs

    # Connections

    def complete_parked_fetches(self, owner: Hashable) -> int:
        """Answer what is parked for a connection at once, with what is there (F33); return how many."""
        return self._fetches.complete_owner(owner, FetchReason.NEXT_REQUEST)

    def connection_gone(self, owner: Hashable) -> int:
        """Drop everything parked for a connection, unanswered (F31); return how many."""
        return (
            self._fetches.cancel_owner(owner)
            + self._cold_lookups.cancel_owner(owner)
            + self._produces.cancel_owner(owner)
            + self._deletions.cancel_owner(owner)
        )

    # Fetch

    def fetch(
        self,
        params: FetchParams,
        partitions: Sequence[FetchPartition] | SessionPartitions,
        respond: Callable[[FetchOutcome], None],
        owner: Hashable | None = None,
    ) -> None:
        """Read, then answer now (F15) or when one of the cases of F27 holds or max_wait_ms has passed.

        Args:
            partitions: kept while parked; each partition once. Of a session's, those that have to be.
            respond: called exactly once, possibly before this returns; never after `connection_gone(owner)`.
                It owns the slices of the outcome.
            owner: the connection, so that `connection_gone` finds what is parked for it.
        """
        session: SessionPartitions | None = None
        requests: Sequence[FetchPartition]
        if isinstance(partitions, SessionPartitions):
            session, requests = partitions, partitions.to_read()
        else:
            requests = partitions
        try:
            results, records_bytes, notable = self.reader.read(params, requests, is_first=True)
        except ColdReadError as cold:
            self._cold_lookups.fetch_later(cold, self.fetch, params, partitions, respond, owner)
            return
        reason = reason_to_answer_now(params, len(partitions), records_bytes, notable)
        if reason is None:
            release_records(results)
            self._park(params, session, requests, results, respond, owner)
            return
        self._fetch_reasons[reason] += 1
        if records_bytes:
            count_out(self.partitions.by_name, requests, results)
        respond(FetchOutcome(requests, results, reason, records_bytes))

    def _park(  # noqa: PLR0917 - what the fetch knows by now
        self,
        params: FetchParams,
        session: SessionPartitions | None,
        requests: Sequence[FetchPartition],
        results: Sequence[FetchPartitionResult],
        respond: Callable[[FetchOutcome], None],
        owner: Hashable | None,
    ) -> None:
        by_name = self.partitions.by_name
        watched = tuple([by_name[request.topic, request.partition] for request in requests])
        parked_us = self._clock.monotonic_us()
        shares = self._shares_reads and session is None and len(requests) == 1 and not params.is_from_follower
        operation = (DelayedFetch if session is None else DelayedSessionFetch)(
            parked_us // 1000 + params.max_wait_ms,
            params=params,
            requests=requests,
            watched=watched,
            positions=tuple([result.offset_metadata for result in results]),
            respond=respond,
            parked_us=parked_us,
            answer=self._answer_parked,
            is_throttled=self._is_throttled,
            shared_reads=self._shared_reads if shares else None,
        )
        keys: tuple[Hashable, ...] = watched
        if session is not None:
            assert isinstance(operation, DelayedSessionFetch)
            operation.follow(session, self._fetches)
            keys = (session, *watched)
        self._fetches.try_complete_else_watch(operation, keys, owner)

    def _answer_parked_fetch(self, operation: DelayedFetch, reason: FetchReason) -> None:
        self._fetch_reasons[reason] += 1
        if operation.shared_read is not None:
            self._answer_shared(operation, operation.shared_read, operation.requests, reason)
            return
        requests = operation.to_read()
        try:
            partition = self._sharing_partition(operation, requests)
            if partition is not None:
                read = self._shared_reads.find(partition, key_of(operation.params, requests[0]))
                if read is not None:
                    self._answer_shared(operation, read, requests, reason)
                    return
            results, records_bytes, _ = self.reader.read(operation.params, requests, is_first=False)
        except Exception:
            # A fault of ours, for the loop to report; but no request stands behind this call any more that
            # dispatch could answer, and a consumer left without an answer would wait for ever.
            failed = [FetchPartitionResult(ErrorCode.UNKNOWN_SERVER_ERROR) for _ in requests]
            now_us = self._clock.monotonic_us()
            operation.respond(FetchOutcome(requests, failed, reason, 0, operation.parked_us, now_us))
            raise
        if records_bytes:
            count_out(self.partitions.by_name, requests, results)
            if partition is not None:
                self._share(operation, partition, requests[0], results[0], reason)
        now_us = self._clock.monotonic_us()
        operation.respond(FetchOutcome(requests, results, reason, records_bytes, operation.parked_us, now_us))

    def _answer_shared(
        self,
        operation: DelayedFetch,
        read: SharedRead,
        requests: Sequence[FetchPartition],
        reason: FetchReason,
    ) -> None:
        traffic = read.partition.traffic
        traffic.fetches += 1
        traffic.bytes_out += read.records.length
        now_us = self._clock.monotonic_us()
        operation.respond(SharedOutcome(read, requests, reason, operation.parked_us, now_us))

    def _sharing_partition(
        self, operation: DelayedFetch, requests: Sequence[FetchPartition]
    ) -> Partition | None:
        """Return the one partition of a parked fetch that may share its read, if others are left for that.

        Nearly always there are none, and it is answered as if nothing were shared.
        """
        if len(requests) != 1 or not self._shares_reads or operation.params.is_from_follower:
            return None
        partition = self.partitions.by_name.get((requests[0].topic, requests[0].partition))
        if partition is None:
            return None
        fetches = self._fetches
        if self._shared_reads.by_key or fetches.is_watched(partition):
            return partition
        # Who waits for a session's quiet partitions does not watch them.
        return partition if fetches.has_more_to_try and isinstance(operation, DelayedSessionFetch) else None

    def _share(
        self,
        operation: DelayedFetch,
        partition: Partition,
        request: FetchPartition,
        result: FetchPartitionResult,
        reason: FetchReason,
    ) -> None:
        """Keep for the others what was read for this one, until the end of the turn."""
        shared_reads = self._shared_reads
        if result.records is None or len(shared_reads.by_key) >= SHARED_READS_MAX:
            return
        if not shared_reads.by_key:
            self._call_soon(shared_reads.clear)
        # Of a session's fetch the places are not those of what it reads.
        is_session = isinstance(operation, DelayedSessionFetch)
        read = SharedRead(
            partition,
            result,
            result.records,
            reason=None if is_session else reason,
            min_bytes=operation.params.min_bytes,
            position=None if is_session else operation.positions[0],
        )
        shared_reads.keep(key_of(operation.params, request), read)

    def settle(self, session: SessionPartitions, outcome: FetchOutcome) -> None:
        """Its client is told of `outcome`: what is quiet need not be read until something changes (F37)."""
        by_name = self.partitions.by_name
        session.settle(outcome.partitions, outcome.results, by_name, self._quiet_changes)

    # Offsets

    def offset_for_leader_epoch(self, partitions: Sequence[LeaderEpochPartition]) -> list[EpochEndOffset]:
        """Tell where leader epochs end, in request order."""
        results = []
        for request in partitions:
            try:
                partition = self.partitions.get(request.topic, request.partition)
                results.append(end_offset_for_leader_epoch(partition, request))
            except ApiError as error:
                results.append(EpochEndOffset(error_code=error.code))
        return results

    def delete_records(
        self,
        timeout_ms: int,
        partitions: Sequence[DeleteRecordsPartition],
        respond: Callable[[list[DeleteRecordsResult]], None],
        owner: Hashable | None = None,
    ) -> None:
        """Advance log starts, then answer when every replica has followed or timeout_ms has passed.

        What is answered as deleted stays deleted, whatever happens: the new starts are on the disk by then.
        """
        deadline_ms = self._clock.monotonic_ms() + timeout_ms
        results: list[DeleteRecordsResult] = []
        moved: list[tuple[DeleteRecordsResult, Partition, int]] = []
        for request in partitions:
            try:
                if request.topic in INTERNAL_TOPICS:
                    raise ApiError(ErrorCode.INVALID_TOPIC_EXCEPTION)
                partition = self.partitions.get(request.topic, request.partition)
                wanted = partition.delete_records(request.offset)
            except ApiError as error:
                results.append(DeleteRecordsResult(error.code))
                continue
            results.append(DeleteRecordsResult(_NONE, partition.low_watermark()))
            moved.append((results[-1], partition, wanted))
        directories = [partition.log.directory for _, partition, _ in moved]

        def persisted() -> None:
            waiting = []
            for result, partition, wanted in moved:
                if not partition.log.directory.online:
                    result.error_code, result.low_watermark = ErrorCode.KAFKA_STORAGE_ERROR, -1
                elif result.low_watermark < wanted:
                    waiting.append((result, partition, wanted))
            if not waiting:
                respond(results)
                return
            operation = DelayedDeleteRecords(deadline_ms, waiting, results, respond)
            self._deletions.try_complete_else_watch(operation, [entry[1] for entry in waiting], owner)

        self._log_manager.when_log_starts_are_written(directories, persisted)

    # Wakes

    def log_released(self, log: Log) -> None:
        """Of a log that held records back until they were synced, more may be shown and acknowledged."""
        partition = self.partitions.by_name.get((log.topic, log.partition))
        if partition is not None and partition.log is log:
            partition.maybe_advance_high_watermark()
            # Also when it did not move: with acks=1 the sync alone was waited for.
            self._wake(partition, True)

    def _wake(self, partition: Partition, high_watermark_moved: bool) -> None:
        self._fetches.check_later(partition)
        if high_watermark_moved:
            self._produces.check_later(partition)
            self._deletions.check_later(partition)

    def _watermark_moved(self, partition: Partition) -> None:
        self._wake(partition, True)

    def _wake_all(self, partitions: Iterable[Partition]) -> None:
        for partition in partitions:
            self._wake(partition, True)

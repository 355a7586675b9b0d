"""`__cluster_metadata-0`: the log whose replay is the cluster's state.

Loading replays the newest snapshot and what follows it without changing anything (log_replay.py); opening
makes the log ready for appends. Becoming leader takes the next epoch, written
to `quorum-state` first, and says so in the log, as a Raft leader's first record does. Every append is synced
before it returns, so nothing that was answered is ever missing after a crash; a failed sync takes the
directory offline and the record is not applied.

The files follow Apache Kafka's conventions to the letter, so that it can take the directory over. What one
node does not need (votes, followers, fetching) is left out rather than pretended.
"""

from __future__ import annotations

from collections.abc import Sequence

from barnabas.base.clock import Clock
from barnabas.base.dataclass import dataclass
from barnabas.base.entropy import Entropy
from barnabas.base.hints import Final
from barnabas.base.logger import Logger
from barnabas.base.uuids import METADATA_TOPIC_ID
from barnabas.metadata.batches import build_control_batch, build_data_batches
from barnabas.metadata.image import MetadataDelta, MetadataImage
from barnabas.metadata.log_replay import MetadataReplay
from barnabas.metadata.quorum_state import QuorumState, read_quorum_state, write_quorum_state
from barnabas.metadata.records import MetadataError, VersionedRecord
from barnabas.metadata.snapshot_records import image_records
from barnabas.metadata.snapshots import (
    Quorum,
    SnapshotId,
    encode_snapshot,
    remove_leftovers,
    remove_snapshot,
    write_snapshot_file,
)
from barnabas.metadata.takeover import check_first_features, check_image, check_quorum
from barnabas.protocol import messages
from barnabas.protocol.control_records import ControlType
from barnabas.storage.deletions import PendingDeletions
from barnabas.storage.loading.recovery import OpeningLog, open_log
from barnabas.storage.log import Log
from barnabas.storage.log_config import LogConfig
from barnabas.storage.log_directory import LogDirectory
from barnabas.storage.producer_state.states import AppendOrigin
from barnabas.storage.segment_cache import SegmentCache

log = Logger(__name__)

TOPIC: Final = "__cluster_metadata"
DIRECTORY_NAME: Final = "__cluster_metadata-0"


@dataclass(frozen=True, slots=True, kw_only=True)
class MetadataLogConfig:
    """Kafka's metadata.log.* and metadata.max.* configs.

    Attributes:
        max_record_bytes_between_snapshots: metadata.log.max.record.bytes.between.snapshots.
        max_snapshot_interval_ms: metadata.log.max.snapshot.interval.ms; 0 turns it off.
        clean_stop_snapshot_bytes: a clean stop leaves no more than this to replay; it is ours, and keeps
            the next start short.
    """

    segment_bytes: int = 1024 * 1024 * 1024
    segment_ms: int = 7 * 86_400_000
    max_record_bytes_between_snapshots: int = 20 * 1024 * 1024
    max_snapshot_interval_ms: int = 3_600_000
    max_retention_bytes: int = 100 * 1024 * 1024
    max_retention_ms: int = 7 * 86_400_000
    clean_stop_snapshot_bytes: int = 64 * 1024


class MetadataLog:
    """The metadata log of a single-node quorum.

    Use: load(), open(), become_leader(), write() what the start has to say, flush(); then append() any number
    of times, close().

    Attributes:
        epoch: the leader epoch this broker appends in; 0 before become_leader().
        bootstrap_records: what the formatter's checkpoint wants the log to begin with.
    """

    def __init__(
        self,
        *,
        directory: LogDirectory,
        node_id: int,
        clock: Clock,
        entropy: Entropy,
        config: MetadataLogConfig,
    ) -> None:
        self.node_id = node_id
        self.epoch = 0
        self.bootstrap_records: list[VersionedRecord] = []
        self._directory = directory
        self._path = f"{directory.path}/{DIRECTORY_NAME}"
        self._clock = clock
        self._config = config
        self._deletions = PendingDeletions(directory.disk)
        self._entropy = entropy
        self._log: Log | None = None
        self._loaded: MetadataReplay | None = None
        self._quorum = Quorum(kraft_version=0)
        self._snapshots: list[SnapshotId] = []
        self._last_timestamp = -1
        self._last_epoch = 0
        self._bytes_since_snapshot = 0
        self._snapshot_at_ms = clock.monotonic_ms()

    @property
    def end_offset(self) -> int:
        """The offset the next record gets."""
        return self._opened.log_end_offset

    @property
    def high_watermark(self) -> int:
        """Same as end_offset: one voter commits by itself."""
        return self._opened.log_end_offset

    @property
    def log_start_offset(self) -> int:
        """The first offset that is still in the log."""
        return self._opened.log_start_offset

    @property
    def quorum(self) -> Quorum:
        """The voters as the log has them."""
        return self._quorum

    @property
    def last_timestamp(self) -> int:
        """Milliseconds since 1970 of the last record; -1 when there is none."""
        return self._last_timestamp

    @property
    def _opened(self) -> Log:
        assert self._log is not None, "the metadata log is not open"
        return self._log

    def load(self, image: MetadataImage, bootstrap: Sequence[VersionedRecord] = ()) -> MetadataDelta:
        """Replay the newest snapshot and all that follows into `image`; changes nothing on disk.

        Args:
            bootstrap: what the log begins with when the formatter left no checkpoint of it.
        Raises:
            MetadataError: damaged or unknown content, or a cluster that this node cannot go on with alone.
            ApiError: KAFKA_STORAGE_ERROR.
        """
        replay = MetadataReplay(self._directory.disk, self._path, image)
        try:
            replay.run()
        except OSError as error:
            raise self._directory.failed(error, f"reading {self._path}") from error
        self.bootstrap_records = replay.bootstrap_records or list(bootstrap)
        try:
            check_quorum(replay.quorum, replay.elected_voters, self.node_id)
            if not image.features:
                check_first_features(_feature_levels(self.bootstrap_records))
            check_image(image, self.node_id)
        except MetadataError as error:
            raise MetadataError(f"{self._directory.path}: {error}") from error
        self._loaded = replay
        self._quorum = replay.quorum
        self._snapshots = list(replay.snapshots)
        self._last_timestamp = replay.last_timestamp
        self._last_epoch = replay.last_epoch
        self._bytes_since_snapshot = replay.bytes_since_snapshot
        return replay.delta

    def open(self) -> None:
        """Open what load() has read, for appends; what a crash left behind is tidied up.

        Raises:
            MetadataError: the log was changed meanwhile.
            ApiError: KAFKA_STORAGE_ERROR.
        """
        assert self._loaded is not None, "open before load"
        latest, end_offset = self._loaded.latest, self._loaded.end_offset
        self._open_log(latest)
        if self.end_offset != end_offset:
            raise MetadataError(
                f"{self._path} ends at offset {self.end_offset}, but it was read up to {end_offset}"
            )
        remove_leftovers(self._directory.disk, self._path)

    def _open_log(self, latest: SnapshotId) -> None:
        opening = OpeningLog(
            directory=self._directory,
            path=self._path,
            topic=TOPIC,
            partition=0,
            config=LogConfig(
                segment_bytes=self._config.segment_bytes,
                segment_ms=self._config.segment_ms,
                max_message_bytes=2**31 - 1,
                retention_bytes=-1,
                retention_ms=-1,
            ),
            clock=self._clock,
            cache=SegmentCache(),
            deletions=self._deletions,
            random_below=self._entropy.random_below,
            # Everything a snapshot covers was synced before the snapshot was.
            recovery_point=latest.end_offset,
            topic_id=METADATA_TOPIC_ID,
        )
        result = open_log(opening)
        opened = self._log = result.log
        if result.truncated_bytes:
            log.warning(
                "%s: cut %d bytes of an append that was never answered", self._path, result.truncated_bytes
            )
        if opened.log_end_offset < latest.end_offset:
            opened.truncate_fully(latest.end_offset)

    def become_leader(self) -> None:
        """Take the next epoch and say so in the log; a flush() is to follow.

        Raises:
            MetadataError: quorum-state is damaged.
            ApiError: KAFKA_STORAGE_ERROR.
        """
        disk = self._directory.disk
        before = read_quorum_state(disk, self._path) or QuorumState()
        self.epoch = max(before.leader_epoch, self._last_epoch) + 1
        data_version = 1 if self._quorum.kraft_version >= 1 else 0
        state = QuorumState(leader_id=self.node_id, leader_epoch=self.epoch, data_version=data_version)
        try:
            write_quorum_state(disk, self._path, state, [self.node_id])
        except OSError as error:
            raise self._directory.failed(error, f"writing {self._path}/quorum-state") from error
        # The next flush syncs the directory and so the file's name. Where that is lost, the log's last epoch
        # tells the next one all the same: no epoch is taken twice that anything durable was written in.
        self._opened.durability.names_unsynced = True
        voter = messages.LeaderChangeMessageVoter(voter_id=self.node_id)
        change = messages.LeaderChangeMessage(
            version=0, leader_id=self.node_id, voters=[voter], granting_voters=[voter]
        )
        controls = [(ControlType.LEADER_CHANGE, change)]
        if self.end_offset == 0:
            controls += self._quorum.controls()
        now_ms = self._clock.wall_ms()
        batch = build_control_batch(controls, base_offset=self.end_offset, epoch=self.epoch, timestamp=now_ms)
        self._write([batch], now_ms)

    def append(self, records: Sequence[VersionedRecord]) -> int:
        """Append records and return the offset of the first one, once they are durable.

        Raises:
            ApiError: KAFKA_STORAGE_ERROR; they may or may not be there after a restart.
        """
        base_offset = self.write(records)
        self.flush()
        return base_offset

    def write(self, records: Sequence[VersionedRecord]) -> int:
        """As append(), but they are durable with the next flush(), and nobody may be told of them before.

        A start writes several times and waits for the disk once.
        """
        assert self.epoch > 0, "append before become_leader"
        base_offset = self.end_offset
        now_ms = self._clock.wall_ms()
        self._write(
            build_data_batches(records, base_offset=base_offset, epoch=self.epoch, timestamp=now_ms), now_ms
        )
        return base_offset

    def _write(self, batches: list[bytes], now_ms: int) -> None:
        info = self._opened.append_batches(
            [[batch] for batch in batches], leader_epoch=self.epoch, origin=AppendOrigin.COORDINATOR
        )
        self._bytes_since_snapshot += info.bytes_appended
        self._last_timestamp = now_ms
        self._last_epoch = self.epoch

    def flush(self) -> None:
        """Return once everything written is durable.

        Raises:
            ApiError: KAFKA_STORAGE_ERROR.
        """
        opened = self._opened
        # Leader epochs behind the newest snapshot are made again of the log's batches.
        work = opened.begin_flush(with_epochs=False)
        if work is not None:
            opened.finish_flush(work, work.try_run())

    def snapshot_due(self) -> bool:
        """Whether enough was appended, or enough time passed with something appended, since the last one."""
        if not self._bytes_since_snapshot or self._newest_end() == self.end_offset:
            return False
        if self._bytes_since_snapshot >= self._config.max_record_bytes_between_snapshots:
            return True
        interval_ms = self._config.max_snapshot_interval_ms
        return interval_ms > 0 and self._clock.monotonic_ms() - self._snapshot_at_ms >= interval_ms

    def _newest_end(self) -> int:
        return self._snapshots[-1].end_offset if self._snapshots else 0

    def write_snapshot(self, image: MetadataImage) -> SnapshotId:
        """Write what the log comes to, then drop snapshots and log segments beyond the retention.

        Args:
            image: with every record of the log replayed, outside of a metadata transaction.
        Raises:
            ApiError: KAFKA_STORAGE_ERROR.
        """
        assert not image.in_transaction, "a snapshot within a metadata transaction"
        self._opened.flush()  # with the leader epochs: the next start reads batches only from the snapshot on
        snapshot_id = SnapshotId(self.end_offset, self._last_epoch)
        batches = encode_snapshot(
            image_records(image),
            quorum=self._quorum,
            epoch=self._last_epoch,
            last_timestamp=self._last_timestamp,
            timestamp=self._clock.wall_ms(),
        )
        try:
            write_snapshot_file(self._directory.disk, self._path, snapshot_id, batches)
            if snapshot_id not in self._snapshots:
                self._snapshots.append(snapshot_id)
            self._bytes_since_snapshot = 0
            self._snapshot_at_ms = self._clock.monotonic_ms()
            self._clean_up()
        except OSError as error:
            raise self._directory.failed(error, f"writing a snapshot in {self._path}") from error
        return snapshot_id

    def _clean_up(self) -> None:
        """Drop the oldest snapshots, and the log up to the one that is then oldest, beyond the retention."""
        disk = self._directory.disk
        config = self._config
        now_ms = self._clock.wall_ms()

        def total_bytes() -> int:
            sizes = map(self._snapshot_bytes, self._snapshots)
            return self._opened.size + sum(sizes)

        while len(self._snapshots) > 1:
            successor = self._snapshots[1]
            age_ms = now_ms - disk.mtime_ms(f"{self._path}/{successor.file_name}")
            too_old = config.max_retention_ms >= 0 and age_ms > config.max_retention_ms
            too_large = config.max_retention_bytes >= 0 and total_bytes() > config.max_retention_bytes
            if not too_old and not too_large:
                return
            # The log must begin where a snapshot ends, so it is cut before its own snapshot goes.
            self._opened.advance_log_start(successor.end_offset)
            remove_snapshot(disk, self._path, self._snapshots.pop(0))

    def _snapshot_bytes(self, snapshot_id: SnapshotId) -> int:
        file = self._directory.disk.open_readonly(f"{self._path}/{snapshot_id.file_name}")
        try:
            return file.size()
        finally:
            file.close()

    def run_deletions(self) -> None:
        """Unlink dropped segments that are due; call now and then."""
        self._deletions.run(self._clock.monotonic_ms())

    def close(self, image: MetadataImage | None = None) -> None:
        """Flush and close; with the image, leave a snapshot when a start would have much to replay."""
        if self._log is None:
            return
        if (
            image is not None
            and not image.in_transaction
            and self._directory.online
            and self._bytes_since_snapshot > self._config.clean_stop_snapshot_bytes
        ):
            self.write_snapshot(image)
        opened, self._log = self._log, None
        if self._directory.online:
            opened.close()
        else:
            opened.abandon()

    def statistics(self) -> dict[str, int]:
        """Return offsets, epoch and sizes for metrics."""
        return {
            "log_start_offset": self.log_start_offset,
            "end_offset": self.end_offset,
            "epoch": self.epoch,
            "log_bytes": self._opened.size,
            "bytes_since_snapshot": self._bytes_since_snapshot,
            "snapshots": len(self._snapshots),
        }


def _feature_levels(records: Sequence[VersionedRecord]) -> dict[str, int]:
    return {r.message.name: r.message.feature_level for r in records if r.type_name == "FeatureLevelRecord"}

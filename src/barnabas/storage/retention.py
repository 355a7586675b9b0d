"""Which segments of a log are too old or too many, and the search for them through all logs.

Only whole segments go, from the oldest on, and none that reaches to the high watermark. Time goes by the
largest record timestamp of a segment, else by its file's mtime. A timestamp in the future keeps a segment
until then, as in Kafka, so it is told once per check; `log.retention.future.timestamps=mtime` has such a
segment age by its file instead.

The search goes in turns, a bounded number of logs and of dropped segments each, so that ten thousand logs
hold up nobody. What it must read of sealed segments after a start, the ends of their time indexes, is read
off the loop (`segment_age.py`). A generator through all logs was rejected: logs come and go between turns.
"""

from collections import deque
from collections.abc import Callable, Iterator, Mapping

from barnabas.base.clock import Clock
from barnabas.base.dataclass import dataclass
from barnabas.base.disk import Disk
from barnabas.base.errors import ApiError
from barnabas.base.logger import Logger
from barnabas.base.worker import RunBlocking, run_inline
from barnabas.storage.log import Log
from barnabas.storage.segment import LogSegment
from barnabas.storage.segment_age import SegmentAge, read_age
from barnabas.storage.topic_partition import TopicPartition

log = Logger(__name__)

LOGS_PER_TURN = 256
SEGMENTS_PER_TURN = 16
"""Of one log; each is four renames, and a log may have thousands to drop when its retention is lowered."""

_LOOKS_AT_ONCE = 16
"""Segments of one log whose age is read together, once its first ones turned out to be old."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RetentionRules:
    """What holds for all logs.

    Attributes:
        now_ms: wall time.
        trusts_future: a timestamp later than now keeps its segment.
    """

    now_ms: int
    trusts_future: bool = True


def delete_expired(
    retained: Log, high_watermark: int, rules: RetentionRules, *, segments_max: int | None = None
) -> int:
    """Drop what retention.ms, retention.bytes and the log's start allow to drop; return the segments dropped.

    Args:
        high_watermark: nothing at or beyond it goes.
        segments_max: drop no more than these; None for no such bound.

    Raises:
        ApiError: KAFKA_STORAGE_ERROR.
    """
    dropped = 0
    if retained.config.delete:
        # By time first: what is old does not count against the size.
        for reason, expired in (("retention.ms", expired_by_time), ("retention.bytes", expired_by_size)):
            room = None if segments_max is None else segments_max - dropped
            gone = expired(retained, high_watermark, rules)[:room]
            if gone:
                retained.delete_oldest_segments(gone)
                log.info(
                    "%s starts at offset %d: %s let %d segments go (%d bytes)",
                    retained.name, retained.log_start_offset, reason, len(gone),
                    sum(segment.size for segment in gone),
                )  # fmt: skip
            dropped += len(gone)
    return dropped + retained.delete_segments_before_start()


def expired_by_time(retained: Log, high_watermark: int, rules: RetentionRules) -> list[LogSegment]:
    """Return the oldest segments whose records are all older than retention.ms; -1 keeps everything."""
    expired: list[LogSegment] = []
    if retained.config.retention_ms < 0:
        return expired
    for segment, end_offset in _with_end_offsets(retained):
        if end_offset > high_watermark or _is_new(segment) or not _is_old(retained, segment, rules):
            break
        expired.append(segment)
    return expired


def _is_new(segment: LogSegment) -> bool:
    """Whether nothing has been appended to it yet; compaction leaves empty ones that are sealed."""
    return not segment.size and not segment.sealed


def _is_old(retained: Log, segment: LogSegment, rules: RetentionRules) -> bool:
    largest = segment.largest_timestamp
    if largest > rules.now_ms:
        if rules.trusts_future:
            log.warning(
                "%r has a record timestamp in the future (%d) and is kept until then; "
                "log.retention.future.timestamps=mtime would have it age by its file", segment, largest,
            )  # fmt: skip
            return False
        largest = segment.mtime_ms
    return rules.now_ms - largest > retained.config.retention_ms


def expired_by_size(retained: Log, high_watermark: int, _: RetentionRules) -> list[LogSegment]:
    """Return the oldest segments without which the log still has retention.bytes; -1 keeps everything."""
    retention_bytes = retained.config.retention_bytes
    expired: list[LogSegment] = []
    if retention_bytes < 0:
        return expired
    excess = retained.size - retention_bytes
    for segment, end_offset in _with_end_offsets(retained):
        if end_offset > high_watermark or excess < segment.size or _is_new(segment):
            break
        excess -= segment.size
        expired.append(segment)
    return expired


def of_unknown_age(
    retained: Log, high_watermark: int, rules: RetentionRules, count_max: int
) -> list[LogSegment]:
    """Return the segments whose largest timestamps must be read before `expired_by_time` can be asked."""
    unknown: list[LogSegment] = []
    if retained.config.retention_ms < 0 or not retained.config.delete:
        return unknown
    for segment, end_offset in _with_end_offsets(retained):
        if end_offset > high_watermark or not segment.sealed or len(unknown) >= count_max:
            break
        if not segment.knows_max_timestamp:
            unknown.append(segment)
        elif unknown or not _is_old(retained, segment, rules):
            break
    return unknown


def _with_end_offsets(retained: Log) -> Iterator[tuple[LogSegment, int]]:
    """Yield each segment with the offset behind it: the next one's base, at last the log's end."""
    before: LogSegment | None = None
    for segment in retained.segments:
        if before is not None:
            yield before, segment.base_offset
        before = segment
    if before is not None:
        yield before, retained.log_end_offset


class Retention:
    """The search for expired segments: `begin`, then `take_turn` whenever it `wants_turn`.

    Args:
        logs: the open logs, as they are whenever it looks.
        high_watermark: of a partition; None means that nothing of it expires.
        run_blocking: where segments' ages are read.

    Attributes:
        trusts_future: see RetentionRules.
        dropped_segments: since the start.
    """

    def __init__(
        self,
        *,
        disk: Disk,
        clock: Clock,
        logs: Mapping[TopicPartition, Log],
        high_watermark: Callable[[TopicPartition], int | None],
        run_blocking: RunBlocking = run_inline,
    ) -> None:
        self._disk = disk
        self._clock = clock
        self._logs = logs
        self._high_watermark = high_watermark
        self._run_blocking = run_blocking
        self._left: deque[TopicPartition] = deque()
        self._reading = False  # segments' ages, off the loop
        self._dropping: set[TopicPartition] = set()  # logs that have lost segments in this search
        self.trusts_future = True
        self.dropped_segments = 0

    @property
    def wants_turn(self) -> bool:
        """Whether there is something to do now; while ages are read it goes on by itself."""
        return bool(self._left) and not self._reading

    def begin(self) -> None:
        """Begin a search, unless one is under way."""
        if not self._left and not self._reading:
            self._left.extend(self._logs)
            self._dropping.clear()

    def look_at_soon(self, key: TopicPartition) -> None:
        """Have one log looked at without waiting for the next search."""
        if key not in self._left:
            self._left.append(key)

    def take_turn(self) -> None:
        """Look at some logs. I/O errors take directories offline."""
        rules = RetentionRules(now_ms=self._clock.wall_ms(), trusts_future=self.trusts_future)
        dropped = 0
        unknown: list[tuple[TopicPartition, Log, list[LogSegment]]] = []
        for _ in range(LOGS_PER_TURN):
            if not self._left or dropped >= SEGMENTS_PER_TURN:
                break
            key = self._left.popleft()
            known, high_watermark = self._logs.get(key), self._high_watermark(key)
            if known is None or not known.directory.online or high_watermark is None:
                continue
            if known.cleaning is not None:
                continue  # its segments stay until that is over; the cleaner asks again then
            count = _LOOKS_AT_ONCE if key in self._dropping else 1
            segments = of_unknown_age(known, high_watermark, rules, count)
            if segments:
                unknown.append((key, known, segments))
            else:
                dropped += self._drop(key, known, high_watermark, rules)
        self.dropped_segments += dropped
        if unknown:
            self._read_ages(unknown)

    def _drop(self, key: TopicPartition, known: Log, high_watermark: int, rules: RetentionRules) -> int:
        try:
            dropped = delete_expired(known, high_watermark, rules, segments_max=SEGMENTS_PER_TURN)
        except ApiError as error:
            log.error("retention of %s: %s", key, error)
            return 0
        if dropped:
            self._dropping.add(key)
            self._left.appendleft(key)  # until nothing more of it goes
        return dropped

    def _read_ages(self, unknown: list[tuple[TopicPartition, Log, list[LogSegment]]]) -> None:
        disk, ages = self._disk, dict[LogSegment, SegmentAge]()
        places = [
            (segment, segment.directory, segment.base_offset, segment.size)
            for _, _, segments in unknown
            for segment in segments
        ]
        failures: list[tuple[LogSegment, OSError]] = []

        def work() -> None:
            for segment, directory, base_offset, size in places:
                try:
                    ages[segment] = read_age(disk, directory, base_offset, size)
                except OSError as error:
                    failures.append((segment, error))

        def done(_: OSError | None) -> None:
            self._reading = False
            failed = dict(failures)
            for key, known, segments in reversed(unknown):
                if self._logs.get(key) is known and known.directory.online:
                    self._learn(key, known, segments, ages, failed)
            # What is known by now, and the reading of what comes next.
            self.take_turn()
            if self.wants_turn:
                self.take_turn()

        self._reading = True
        self._run_blocking(work, done)

    def _learn(
        self,
        key: TopicPartition,
        known: Log,
        segments: list[LogSegment],
        ages: Mapping[LogSegment, SegmentAge],
        failed: Mapping[LogSegment, OSError],
    ) -> None:
        for segment in segments:
            if segment in ages:
                segment.learn_age(*ages[segment])
            elif segment in known.segments:  # else it was dropped meanwhile
                log.error("%s", known.directory.failed(failed[segment], f"reading the age of {segment!r}"))
                return
        self._left.appendleft(key)

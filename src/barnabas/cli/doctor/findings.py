"""What the doctor finds, in a form that tables, JSON and the repair share."""

from collections.abc import Iterable, Iterator

from barnabas.base.dataclass import dataclass, field
from barnabas.base.enums import Enum
from barnabas.base.hints import Any

FINDINGS_PER_PARTITION_MAX = 10_000
"""A disk that returns noise would otherwise fill the memory with what is wrong with it."""


class Severity(Enum):
    """How bad it is."""

    DAMAGE = "damage"
    """Records are lost, or what is served of them would be wrong."""
    DERIVED = "derived"
    """What is made of the records is wrong; making it anew loses nothing."""
    START = "start"
    """A broker, ours or Apache Kafka, would not start, or would set it aside."""
    NOTE = "note"
    """Worth knowing, no fault."""


class Fix(Enum):
    """What a repair does about it."""

    NONE = "none"
    """Nothing: a start does it, or a person has to decide."""
    RESTORE = "restore"
    """Put the right bytes back; loses nothing."""
    REBUILD = "rebuild"
    """Make the file anew of the records; loses nothing."""
    CUT = "cut"
    """End the log there: all that follows is lost."""
    DROP = "drop"
    """Leave the damaged batches out; offsets keep a gap."""
    SET_ASIDE = "set-aside"
    """Move it into the copy."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Loss:
    """What mending loses.

    Attributes:
        first_offset, last_offset: of the records, as far as their neighbours tell; -1 for unknown.
        records: how many offsets that are; -1 for unknown.
        size_bytes: of the file.
    """

    first_offset: int = -1
    last_offset: int = -1
    records: int = 0
    size_bytes: int = 0

    @property
    def is_nothing(self) -> bool:
        return not self.records and not self.size_bytes


@dataclass(frozen=True, slots=True, kw_only=True)
class Patch:
    """Bytes to put back at a position."""

    position: int
    content: bytes


NO_LOSS = Loss()


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """One thing that is wrong or remarkable.

    Attributes:
        kind: a stable word for programs, such as "batch-crc".
        file: path.
        position: byte in the file; None when it is about the file.
        offset: of the log, where there is one.
        cause: what is wrong, for people.
        fix: what a repair does.
        loss: what that loses when only this is mended: of a damaged batch, its records. `cut` of the
        partition's
            report tells what ending the log there would lose.
        end: behind the damage in the file; of batches only.
        leader_epoch: in force where batches are damaged; -1 for unknown.
        patches: for RESTORE.
    """

    severity: Severity
    kind: str
    file: str
    cause: str
    position: int | None = None
    offset: int | None = None
    fix: Fix = Fix.NONE
    loss: Loss = NO_LOSS
    end: int | None = None
    leader_epoch: int = -1
    patches: tuple[Patch, ...] = ()

    def to_json(self) -> dict[str, Any]:
        """Return it with keys that stay as they are."""
        return {
            "kind": "finding",
            "severity": self.severity.value,
            "what": self.kind,
            "file": self.file,
            "position": self.position,
            "offset": self.offset,
            "cause": self.cause,
            "repair": self.fix.value,
            "loss": {
                "first_offset": self.loss.first_offset,
                "last_offset": self.loss.last_offset,
                "records": self.loss.records,
                "bytes": self.loss.size_bytes,
            },
        }


@dataclass(slots=True, kw_only=True)
class PartitionReport:
    """What was read of a partition and what was found.

    Attributes:
        path: its directory.
        name: `topic-partition`.
        log_start_offset: of the first segment.
        log_end_offset: behind the last good batch.
        cut_loss: what ending the log at its first damage would lose.
        more_findings: that were not kept.
        epochs: (leader epoch, first offset) as the batches have them.
        readable: False when the disk refused: nothing is known of its offsets then.
    """

    path: str
    name: str
    log_start_offset: int = 0
    log_end_offset: int = 0
    segments: int = 0
    batches: int = 0
    records: int = 0
    size_bytes: int = 0
    findings: list[Finding] = field(default_factory=list)
    more_findings: int = 0
    cut_loss: Loss = NO_LOSS
    epochs: list[tuple[int, int]] = field(default_factory=list)
    topic_id: bytes | None = None
    readable: bool = True

    def add(self, finding: Finding) -> None:
        """Keep a finding, up to the bound."""
        if len(self.findings) < FINDINGS_PER_PARTITION_MAX:
            self.findings.append(finding)
        else:
            self.more_findings += 1

    def add_all(self, findings: Iterable[Finding]) -> None:
        for finding in findings:
            self.add(finding)

    @property
    def damage(self) -> Iterator[Finding]:
        """Damage of batches that nothing but cutting or dropping mends."""
        return (f for f in self.findings if f.fix in (Fix.CUT, Fix.DROP))

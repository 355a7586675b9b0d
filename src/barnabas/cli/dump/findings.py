"""What a reader yields while it goes through a file: rows to show and problems found."""

from collections.abc import Iterator

from barnabas.base.dataclass import dataclass, field
from barnabas.base.hints import Any


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """One thing in a file: a batch, a record, an index entry.

    Args:
        kind: "batch", "record", "entry" ...
        values: its fields in the order to show them, JSON-ready.
    """

    kind: str
    values: dict[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class Problem:
    """Damage, or with `damage` False something worth knowing that is no fault.

    Args:
        position: byte in the file, or None when it is about the file as a whole.
    """

    text: str
    position: int | None = None
    damage: bool = True


Finding = Row | Problem
Findings = Iterator[Finding]


@dataclass(slots=True, kw_only=True)
class Tally:
    """Counts over all files."""

    files: int = 0
    batches: int = 0
    records: int = 0
    problems: list[tuple[str, Problem]] = field(default_factory=list)

    def add(self, path: str, finding: Finding) -> None:
        """Count one finding of a file."""
        if isinstance(finding, Problem):
            self.problems.append((path, finding))
            return
        self.batches += finding.kind == "batch"
        self.records += finding.kind == "record"

    @property
    def damaged(self) -> bool:
        """Something is wrong, as opposed to only remarkable."""
        return any(problem.damage for _, problem in self.problems)

"""What a run found, one line of JSON per turn, written as it comes: a run cut short has told what it has."""

import json
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from benchmarks.figures import Spread, ratio, spread

Key = tuple[str, str]
"""Workload and case."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Result:
    """One server's turn at a case, or why there was none.

    Attributes:
        case: "" when it concerns the whole workload.
        number: the round, from 0.
        figures: by the names of metrics.py; empty when skipped or failed.
        skipped: the server cannot do that.
        failed: something went wrong.
    """

    workload: str
    case: str
    server: str
    number: int = 0
    figures: dict[str, float] = field(default_factory=dict)
    skipped: str = ""
    failed: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Run:
    """A whole run as read back.

    Attributes:
        about: host, settings, versions.
        results: in order.
    """

    about: dict[str, dict[str, str]]
    results: list[Result]

    def cases(self, workload: str) -> list[str]:
        """Return the names of a workload's cases in order."""
        return list(dict.fromkeys(one.case for one in self.results if one.workload == workload and one.case))

    def servers(self) -> list[str]:
        """Return the servers' names in the order they were named."""
        return list(self.about["servers"])

    def by_round(self, key: Key, server: str, metric: str) -> dict[int, float]:
        """Return a figure by round."""
        return {
            one.number: one.figures[metric]
            for one in self.results
            if (one.workload, one.case) == key and one.server == server and metric in one.figures
        }

    def spread(self, key: Key, server: str, metric: str) -> Spread | None:
        """Return a figure's spread over the rounds; None when there is none."""
        found = self.by_round(key, server, metric)
        return spread(list(found.values())) if found else None

    def median(self, key: Key, server: str, metric: str) -> float | None:
        """Return a figure's median over the rounds; None when there is none."""
        found = self.spread(key, server, metric)
        return None if found is None else found.median

    def ratio(self, key: Key, server: str, other: str, metric: str) -> Spread | None:
        """Return the spread of one server's figure to another's, formed within rounds."""
        return ratio(self.by_round(key, server, metric), self.by_round(key, other, metric))

    def reasons(self, workload: str, case: str, server: str) -> str:
        """Return why a server has no figures in a case; "" when nothing is known."""
        for one in self.results:
            if one.workload == workload and one.case in (case, "") and one.server in (server, ""):
                if one.failed:
                    return f"failed: {one.failed}"
                if one.skipped:
                    return one.skipped
        return ""


class Writer:
    """Appends results to a file."""

    def __init__(self, path: Path, about: Mapping[str, Mapping[str, str]]) -> None:
        self._file = path.open("w")
        self._line({"about": about})

    def add(self, result: Result) -> None:
        """Write one result."""
        self._line({name: value for name, value in asdict(result).items() if value not in ("", {})})

    def add_about(self, about: Mapping[str, Mapping[str, str]]) -> None:
        """Tell more about the run; what is told last counts."""
        self._line({"about": about})

    def _line(self, data: object) -> None:
        self._file.write(json.dumps(data) + "\n")
        self._file.flush()

    def close(self) -> None:
        self._file.close()


def read(path: Path) -> Run:
    """Read a run back, also one that was cut short in the middle of a line."""
    about: dict[str, dict[str, str]] = {}
    results = []
    for data in _lines(path):
        if "about" in data:
            about.update(data["about"])
        else:
            results.append(Result(**{"case": "", "server": "", **data}))
    return Run(about=about, results=results)


def _lines(path: Path) -> Iterator[dict[str, Any]]:
    for line in path.read_text().splitlines():
        try:
            yield json.loads(line)
        except json.JSONDecodeError:
            return

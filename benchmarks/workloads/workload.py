"""What a workload is: cases, each of which one server can be put through in a few seconds.

The harness starts the servers once per workload (or uses those that run already), lets each prepare, and then
takes case by case, round by round, server by server: A B A B. A case returns figures by name; the harness
adds the server's processor time and peak memory, which it takes around the case.
"""

import enum
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from benchmarks.brokers.barnabas import CompiledServer
from benchmarks.brokers.known import SERVERS
from benchmarks.brokers.server import Kind, Server

Figures = dict[str, float]
WARM_UP = -1
COMPILED = CompiledServer.name
"""Takes part where the interpreter's share is told of."""
BROKERS = frozenset(server.name for server in SERVERS.values() if server.kind is Kind.BROKER) - {COMPILED}
OTHERS = BROKERS - {"Barnabas", "Apache Kafka"}


class SkipError(Exception):
    """This server cannot do that, and nothing is wrong; the message says why."""


class Lifetime(enum.Enum):
    """Which servers a workload is given."""

    SHARED = "running already, shared with other workloads"
    OWN = "started for this workload, all at once, stopped after it"
    NONE = "not running: the cases start and stop them"


@dataclass(frozen=True, slots=True, kw_only=True)
class Scale:
    """How much is measured.

    Attributes:
        rounds: how often each server has its turn.
        seconds: of load per turn, for throughput.
        is_quick: fewer cases, smaller data, and no uncounted first turns.
    """

    rounds: int = 3
    seconds: float = 1.0
    is_quick: bool = False

    def turns(self, workload: "Workload", case: "Case", server: str) -> range:
        """Return the numbers of a server's turns at a case, WARM_UP first where there is such a turn."""
        most = self.rounds
        if server in OTHERS:
            most = workload.others_rounds - (1 if self.is_quick else 0)
        has_warm_up = case.warm_up and not self.is_quick
        return range(WARM_UP if has_warm_up else 0, min(self.rounds, most, case.rounds_max))


@dataclass(frozen=True, slots=True, kw_only=True)
class Turn:
    """What a case is given.

    Attributes:
        folder: for files of the harness, on disk.
        number: the round, from 0; warm-up turns have -1.
        kept: what `prepare` returned for this server.
    """

    server: Server
    folder: Path
    scale: Scale
    number: int
    kept: object


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """One thing to measure.

    Attributes:
        name: unique within the workload.
        run: returns the figures; raises when it cannot.
        figures: what to tell in the table, names of metrics.py, the most important first.
        seconds: what a turn takes, for the estimate.
        warm_up: whether each server has an uncounted turn first.
        servers: names of those that take part; None for all of the workload's.
        rounds_max: no more turns than that, for what takes long.
    """

    name: str
    run: Callable[[Turn], Figures]
    figures: Sequence[str]
    seconds: float
    warm_up: bool = True
    servers: frozenset[str] | None = None
    rounds_max: int = 99


@dataclass(frozen=True, slots=True, kw_only=True)
class Workload:
    """Cases that share what is prepared for them.

    Attributes:
        name: for the command line.
        title: a heading.
        method: how it is measured, for the report: a sentence or two.
        prepare: makes topics and data once per server.
        prepare_s: what that takes per server, for the estimate.
        overrides: broker settings (only with Lifetime.OWN).
        servers: names of those that take part.
        needs_warm_servers: whether a server that gains from it is loaded before (see warming.py).
        others_rounds: turns at most of brokers other than Barnabas and Apache Kafka, whose figures are
            context; one less in a quick run.
    """

    name: str
    title: str
    method: str
    cases: Callable[[Scale], list[Case]]
    prepare: Callable[[Server, Scale], object] = lambda _server, _scale: None
    prepare_s: float = 1.0
    lifetime: Lifetime = Lifetime.SHARED
    overrides: Mapping[str, str] = field(default_factory=dict)
    servers: frozenset[str] = BROKERS
    needs_warm_servers: bool = True
    others_rounds: int = 2

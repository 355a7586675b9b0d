"""Takes servers through workloads: A B A B. What goes wrong is written down and does not end the run.

Turns of one case follow each other round by round, and within a round server by server, every other round in
the opposite order, so that neither a slow drift of the machine nor a place in the row favours one. Servers
stay up over all workloads that share them: a JVM that has run for a while is faster than one that starts, and
so each case has an uncounted first turn.
"""

import contextlib
import shutil
import signal
import time
import traceback
from collections.abc import Callable, Collection, Iterable, Iterator
from pathlib import Path

from benchmarks.brokers.server import Server
from benchmarks.host import ROOT
from benchmarks.metrics import derived
from benchmarks.processes import Meter
from benchmarks.programs import UnavailableError
from benchmarks.results import Result, Writer
from benchmarks.warming import warm_up
from benchmarks.workloads.workload import WARM_UP, Case, Lifetime, Scale, SkipError, Turn, Workload

TURN_OVERHEAD_S = 0.35
"""Of starting a generator and connecting, for the estimate."""
REASON_CHARS = 300
PATIENCE_S = 60
PATIENCE_FACTOR = 4
"""A turn is ended after so long: one slow broker is not to take up the run."""


class Comparison:
    """One run.

    Args:
        servers: those that are available.
        folder: for all files, on disk.
        tell: takes lines for the user.
    """

    def __init__(
        self,
        servers: Iterable[type[Server]],
        folder: Path,
        scale: Scale,
        writer: Writer,
        tell: Callable[[str], None],
    ) -> None:
        self._kinds = list(servers)
        self._folder = folder
        self._scale = scale
        self._writer = writer
        self._tell = tell
        self._shared: dict[str, Server] = {}

    def run(self, workloads: Iterable[Workload]) -> None:
        """Take all servers through all workloads; stop them, whatever happens."""
        left = list(workloads)
        try:
            while left:
                workload = left.pop(0)
                if not any(one.lifetime is Lifetime.SHARED for one in [workload, *left]):
                    self._stop_shared()
                self._tell(f"{workload.title}")
                with self._servers_for(workload) as servers:
                    self._run_workload(workload, servers)
        finally:
            self._stop_shared()

    def _stop_shared(self) -> None:
        for server in self._shared.values():
            server.stop()
        self._shared.clear()

    @contextlib.contextmanager
    def _servers_for(self, workload: Workload) -> Iterator[list[Server]]:
        cases = workload.cases(self._scale)
        kinds = [
            kind
            for kind in self._kinds
            if kind.name in workload.servers
            and any(self._scale.turns(workload, case, kind.name) for case in cases)
        ]
        if workload.lifetime is Lifetime.SHARED:
            yield [server for kind in kinds if (server := self._shared_server(workload, kind)) is not None]
            return
        folder = self._folder / workload.name
        servers = [kind(folder / kind.name.replace(" ", "-"), workload.overrides) for kind in kinds]
        if workload.lifetime is Lifetime.OWN:
            servers = [server for server in servers if self._start(workload, server)]
        try:
            yield servers
        finally:
            for server in servers:
                server.stop()
            shutil.rmtree(folder, ignore_errors=True)

    def _shared_server(self, workload: Workload, kind: type[Server]) -> Server | None:
        server = self._shared.get(kind.name)
        if server is None:
            server = kind(self._folder / "shared" / kind.name.replace(" ", "-"))
        if not server.is_running and not self._start(workload, server):
            return None
        self._shared[kind.name] = server
        return server

    def _start(self, workload: Workload, server: Server) -> bool:
        try:
            server.start()
            if workload.needs_warm_servers:
                seconds = server.warm_up_s / (2 if self._scale.is_quick else 1)
                warm_up(server, self._folder, seconds)
        except Exception as error:  # others can be measured all the same
            self._fail(workload, "", server, error)
            server.stop()
            return False
        return True

    def _run_workload(self, workload: Workload, servers: list[Server]) -> None:
        kept: dict[str, object] = {}
        with still({*self._shared.values(), *servers}):
            for server in servers:
                patience_s = PATIENCE_S + PATIENCE_FACTOR * workload.prepare_s
                with self._recorded(workload, "", server), limited(patience_s), going(server):
                    kept[server.name] = workload.prepare(server, self._scale)
            for case in workload.cases(self._scale):
                taking_part = [
                    server
                    for server in servers
                    if server.name in kept and (case.servers is None or server.name in case.servers)
                ]
                self._run_case(workload, case, taking_part, kept)

    def _run_case(
        self, workload: Workload, case: Case, servers: list[Server], kept: dict[str, object]
    ) -> None:
        able = {server.name for server in servers}
        turns = {server.name: self._scale.turns(workload, case, server.name) for server in servers}
        for number in range(WARM_UP, self._scale.rounds):
            for server in servers if number % 2 == 0 else reversed(servers):
                if server.name not in able or number not in turns[server.name]:
                    continue
                able.discard(server.name)
                with self._recorded(workload, case.name, server), going(server):
                    self._take_turn(workload, case, server, number, kept)
                    able.add(server.name)

    def _take_turn(
        self, workload: Workload, case: Case, server: Server, number: int, kept: dict[str, object]
    ) -> None:
        if workload.lifetime is not Lifetime.NONE and not server.is_running:
            self._tell(f"  {server.name} has ended and is started again: {server.log_tail()[-REASON_CHARS:]}")
            server.kill()
            server.start()
            kept[server.name] = workload.prepare(server, self._scale)
        turn = Turn(
            server=server, folder=self._folder, scale=self._scale, number=number, kept=kept[server.name]
        )
        starts_itself = workload.lifetime is Lifetime.NONE
        meter = Meter(None if starts_itself else server.pid, time.monotonic())
        with limited(PATIENCE_S + PATIENCE_FACTOR * case.seconds):
            found = case.run(turn)
        use = meter.stop(time.monotonic())
        figures = {**found, "foreign_share": use.foreign_share} if starts_itself else derived(found, use)
        if number == WARM_UP:
            return
        self._writer.add(
            Result(workload=workload.name, case=case.name, server=server.name, number=number, figures=figures)
        )
        shown = "  ".join(f"{name} {figures[name]:.6g}" for name in case.figures if name in figures)
        busy = figures.get("foreign_share", 0)
        self._tell(f"  {number + 1} {case.name:34} {server.name:15} {shown}  (others {busy:.0%})")

    @contextlib.contextmanager
    def _recorded(self, workload: Workload, case: str, server: Server) -> Iterator[None]:
        """Write down what goes wrong inside."""
        try:
            yield
        except (SkipError, UnavailableError) as reason:
            self._writer.add(
                Result(workload=workload.name, case=case, server=server.name, skipped=brief(str(reason)))
            )
            self._tell(f"    {case or 'all'}: {server.name} skipped: {brief(str(reason))}")
        except Exception as error:  # a broker can fail in any way; the others go on
            self._fail(workload, case, server, error)

    def _fail(self, workload: Workload, case: str, server: Server, error: Exception) -> None:
        reason = brief(f"{type(error).__name__}: {error}")
        self._writer.add(Result(workload=workload.name, case=case, server=server.name, failed=reason))
        self._tell(f"    {case or 'all'}: {server.name} failed: {reason}")
        last = traceback.extract_tb(error.__traceback__)[-1:]
        if last:
            self._tell(f"      at {Path(last[0].filename).name}:{last[0].lineno}")


@contextlib.contextmanager
def still(servers: Iterable[Server]) -> Iterator[None]:
    """Keep servers from working while nobody asks: some save, compact or compile for seconds after a load.

    It would take the processors from those whose turn is next. In their own turns they do it all, and it
    counts as theirs.
    """
    for server in servers:
        server.pause()
    try:
        yield
    finally:
        for server in servers:
            server.resume()


@contextlib.contextmanager
def going(server: Server) -> Iterator[None]:
    """Let one of the servers that stand still have its turn."""
    server.resume()
    try:
        yield
    finally:
        server.pause()


@contextlib.contextmanager
def limited(seconds: float) -> Iterator[None]:
    """End what takes longer.

    Raises:
        TimeoutError: it did; what it had started is ended by its own clean-up.
    """

    def ring(*_: object) -> None:
        raise TimeoutError(f"took longer than {seconds:.0f} s")

    before = signal.signal(signal.SIGALRM, ring)
    others_timer = signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
        signal.setitimer(signal.ITIMER_REAL, *others_timer)


def brief(text: str) -> str:
    """Return a text on one line, cut to what a table can hold, without this machine's paths."""
    line = " ".join(text.split()).replace(str(ROOT), ".").replace(str(Path.home()), "~")
    return line if len(line) <= REASON_CHARS else line[: REASON_CHARS - 3] + "..."


def estimate_s(workloads: Iterable[Workload], servers: Collection[type[Server]], scale: Scale) -> float:
    """Return about how long a run takes."""
    names = {server.name for server in servers}
    warm_up_s = sum(server.warm_up_s for server in servers) / (2 if scale.is_quick else 1)
    total = 6.0 + warm_up_s
    for workload in workloads:
        cases = workload.cases(scale)
        for server in names & workload.servers:
            turns = sum(
                len(scale.turns(workload, case, server)) * (case.seconds + TURN_OVERHEAD_S)
                for case in cases
                if case.servers is None or server in case.servers
            )
            if turns:
                total += turns + workload.prepare_s / (2 if scale.is_quick else 1)
        if workload.lifetime is Lifetime.OWN and workload.needs_warm_servers:
            total += warm_up_s
    return total

"""A consumer at the end of a partition beside one that reads from the disk (KAFKA-7504)."""

import os
from pathlib import Path

from barnabas.base.page_cache import PageCache
from benchmarks.asking import Asker, batch
from benchmarks.brokers.server import Server
from benchmarks.generators import load
from benchmarks.watching import Watch, layout
from benchmarks.workloads.workload import Case, Figures, Scale, SkipError, Turn, Workload

MIB = 1 << 20
COLD_BYTES = 1 << 30
QUICK_COLD_BYTES = 1 << 28
BATCH_BYTES = 64 * 1024
POLLS_PER_S = 1000
ALONE_S = 3.0
READER_S_MAX = 60
ALONE_CASE = "alone"
WARM_CASE = "beside a reader of warm data"
COLD_CASE = "beside a reader of cold data"


def prepare(server: Server, scale: Scale) -> None:
    """Write what is to be read."""
    with Asker(server.port) as asker:
        asker.produce(asker.make_topic("hot"), batch(1024))
        cold = asker.make_topic("cold")
        if not server.log_files("cold"):
            raise SkipError("it keeps no files that could be cold")
        asker.fill(cold, QUICK_COLD_BYTES if scale.is_quick else COLD_BYTES, BATCH_BYTES)


def hold(files: list[Path], *, in_memory: bool) -> float:
    """Bring files into the page cache or push them out; return the share of MiB that are in it."""
    held = total = 0
    cache = PageCache()
    for path in files:
        with path.open("rb") as file:
            fd, size = file.fileno(), path.stat().st_size
            os.fsync(fd)
            if in_memory:
                cache.bring_in(fd, 0, size)
            else:
                os.posix_fadvise(fd, 0, 0, os.POSIX_FADV_DONTNEED)
            pieces = range(0, size, MIB)
            held += sum(cache.holds(fd, at, min(MIB, size - at)) for at in pieces)
            total += len(pieces)
    return held / max(1, total)


def poll(turn: Turn, *, reader: bool, in_memory: bool) -> Figures:
    """Poll the hot partition by the clock, with or without a reader beside."""
    port = turn.server.port
    with Asker(port) as asker:
        frame, _ = asker.fetch_frame(asker.find_topic("hot"), offset=0)
        if not reader:
            return hot(turn, frame, ALONE_S)
        found = layout(asker, asker.find_topic("cold"), offset=0, partition_max_bytes=MIB, max_wait_ms=0)
        with Watch(port, turn.folder, READER_S_MAX) as watch:
            watch.greet(asker)
            watch.watch(1, found, 0)
            watch.until_empty()
            watch.connect()
            cached = hold(turn.server.log_files("cold"), in_memory=in_memory)
            watch.park_all()
            figures = hot(turn, frame, ALONE_S, watch)
    return figures | {"cached_share": cached}


def hot(turn: Turn, frame: bytes, seconds: float, watch: Watch | None = None) -> Figures:
    """Return the hot consumer's latencies over so many seconds; the reader may take more or less."""
    import threading

    told: list[Figures] = []
    if watch is not None:
        thread = threading.Thread(target=lambda: told.append(watch.finish()))
        thread.start()
    found = load(
        port=turn.server.port,
        frame=frame,
        folder=turn.folder,
        connections=1,
        seconds=seconds,
        rate=POLLS_PER_S,
        answer_bytes_min=1024,
    )
    figures = {name: found[name] for name in ("p50_us", "p99_us", "p999_us", "max_us")}
    if watch is not None:
        thread.join()
        if not told:
            raise SkipError("the reader failed")
        figures["reader_megabytes_per_second"] = told[0]["bytes"] / told[0]["seconds"] / 1e6
    return figures


def cases(scale: Scale) -> list[Case]:
    """Return the cases."""
    figures = ("p99_us", "p50_us", "p999_us", "reader_megabytes_per_second", "cached_share")
    seconds = ALONE_S + (1 if scale.is_quick else 2)
    return [
        Case(
            name=ALONE_CASE,
            run=lambda turn: poll(turn, reader=False, in_memory=True),
            figures=figures,
            seconds=ALONE_S,
        ),
        Case(
            name=WARM_CASE,
            run=lambda turn: poll(turn, reader=True, in_memory=True),
            figures=figures,
            seconds=seconds,
        ),
        Case(
            name=COLD_CASE,
            run=lambda turn: poll(turn, reader=True, in_memory=False),
            figures=figures,
            seconds=seconds,
            warm_up=False,
        ),
    ]


WORKLOAD = Workload(
    name="cold-reads",
    title="Cold reads beside hot ones",
    method="load.c polls the same 1-KiB record 1,000 times a second by the clock (open loop) for 3 s;"
    " beside it watch.c reads 1 GiB in batches of 64 KiB from first to last offset, 1 MiB a fetch,"
    " as fast as it can, after the files were synced and pushed out of the page cache"
    " (posix_fadvise; what stayed is told) or brought in. A reader that is done sooner leaves the rest of"
    " the 3 s undisturbed.",
    cases=cases,
    prepare=prepare,
    prepare_s=5,
    servers=frozenset({"Barnabas", "Apache Kafka"}),
)

"""What compaction costs: our log cleaner alone, by record and by megabyte, without a broker.

    python benchmarks/compaction.py [--megabytes N] [--folder FOLDER]

Logs of keyed records are made on a disk, each key many times or most of them once, and cleaned in this
process, so that its own processor time can be told; the best of five runs counts. "records/s" counts a
record once, though it is looked at twice: for the offset map and when segments are written. Peak memory is
that of the offset map and of everything else.

Producers' records in batches of 16 KiB: 100 bytes or 1 KiB of value, keys of 16 bytes; the same uncompressed
and compressed. "kept" is the share of the records that stay.
"""

from __future__ import annotations

import argparse
import json
import resource
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from random import Random

from barnabas.base.clock import SystemClock, sleep_ms
from barnabas.base.disk import OsDisk
from barnabas.protocol.compression import Codec
from barnabas.protocol.record_batch_builder import BatchBuilder
from barnabas.storage.compaction.cleaning import InProcessCleaning
from barnabas.storage.compaction.task import CleaningTask, SegmentToClean

BATCH_BYTES = 16 * 1024
SEGMENT_BYTES = 64 << 20
ROUNDS = 5
NOW_MS = 1_700_000_000_000

CASES = [
    # value bytes, codec, share of records whose key comes again later
    (100, Codec.NONE, 0.5),
    (100, Codec.NONE, 0.95),
    (100, Codec.NONE, 0.02),
    (1024, Codec.NONE, 0.5),
    (100, Codec.LZ4, 0.5),
    (100, Codec.ZSTD, 0.5),
    (1024, Codec.ZSTD, 0.5),
]


def make_log(folder: Path, size: int, value_bytes: int, codec: Codec, repeated: float) -> int:
    """Write segments; return how many records there are."""
    random = Random(1)
    offset = 0
    records = size // (value_bytes + 26)
    keys = max(int(records * (1 - repeated)), 1)
    filler = "".join(random.choice("abcdefgh ") for _ in range(4096)).encode()
    while offset < records:
        base = offset
        with (folder / f"{base:020d}.log").open("wb") as file:
            while file.tell() < SEGMENT_BYTES and offset < records:
                builder = BatchBuilder(base_offset=offset, codec=codec)
                while builder.size_bytes < BATCH_BYTES:
                    start = random.randrange(2048)
                    builder.append(
                        timestamp=NOW_MS + offset // 8,
                        key=b"%016d" % random.randrange(keys),
                        value=filler[start : start + value_bytes],
                    )
                    offset += 1
                file.write(builder.build())
    return offset


def measure(folder: Path, records: int, index_interval_bytes: int = 4096) -> dict[str, float]:
    """Clean the log a few times and return the best figures: whatever else the machine does only adds."""
    paths = sorted(folder.glob("*.log"))
    task = CleaningTask(
        path=str(folder),
        segments=tuple(SegmentToClean(int(path.stem), path.stat().st_size, NOW_MS) for path in paths),
        first_dirty_offset=0,
        first_uncleanable_offset=records,
        now_ms=NOW_MS,
        delete_retention_ms=1000,
        segment_bytes=SEGMENT_BYTES,
        segment_index_bytes=10 << 20,
        index_interval_bytes=index_interval_bytes,
        max_message_bytes=1 << 20,
        dedupe_buffer_bytes=128 << 20,
    )
    runs = []
    for _ in range(ROUNDS):
        began, processor = time.monotonic(), time.process_time()
        result = InProcessCleaning(task, OsDisk(), SystemClock(), sleep_ms).run()
        assert result.failure is None, result.failure
        runs.append(
            (time.process_time() - processor, time.monotonic() - began, result.statistics.map_elapsed_ms)
        )
    size = task.size_bytes
    statistics = result.statistics
    processor, elapsed, map_ms = min(runs)
    return {
        "megabytes": size / 1e6,
        "records": records,
        "kept": statistics.records_written / records,
        "elapsed_s": elapsed,
        "processor_s": processor,
        "map_s": map_ms / 1000,
        "records_per_s": records / processor,
        "megabytes_per_s": size / 1e6 / processor,
        "us_per_record": processor / records * 1e6,
        "map_entries": statistics.map_entries,
        "peak_mib": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024,
    }


def main() -> None:
    parser = argparse.ArgumentParser(description="Measure the log cleaner alone.")
    parser.add_argument("--megabytes", type=int, default=256)
    parser.add_argument("--folder", type=Path, default=Path(tempfile.gettempdir()))
    parser.add_argument("--case", type=int, help="only this one, in this process, as JSON")
    options = parser.parse_args()
    if options.case is None:
        print("value  codec  repeated    kept   us/record  records/s   MB/s   map s  all s   peak MiB")
        for number, (value_bytes, codec, repeated) in enumerate(CASES):
            # A process each: peak memory only ever grows.
            command = [sys.executable, __file__, "--case", str(number), "--megabytes", str(options.megabytes)]
            done = subprocess.run(command, stdout=subprocess.PIPE, check=True, text=True)
            found = json.loads(done.stdout)
            print(
                f"{value_bytes:5}  {codec.name.lower():6} {repeated:7.0%}  {found['kept']:7.1%}"
                f"  {found['us_per_record']:9.2f}  {found['records_per_s']:9,.0f}"
                f"  {found['megabytes_per_s']:5.0f}  {found['map_s']:6.2f} {found['elapsed_s']:6.2f}"
                f"  {found['peak_mib']:9.0f}"
            )
        return
    value_bytes, codec, repeated = CASES[options.case]
    with tempfile.TemporaryDirectory(dir=options.folder) as made:
        folder = Path(made)
        records = make_log(folder, options.megabytes << 20, value_bytes, codec, repeated)
        print(json.dumps(measure(folder, records)))
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir()


if __name__ == "__main__":
    main()

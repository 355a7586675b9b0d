"""Capture tests/golden/request_log afresh: a script asks Apache Kafka, whose request logger tells of it.

    python -m tools.record_request_log

Needs the toolchain of the interop tests. Kept are the frames of each exchange and the line of the log that
belongs to it; times, ids and ports differ from run to run.
"""

import base64
import gzip
import json
import os
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from barnabas.protocol.api_keys import ApiKey
from barnabas.protocol.frames import decode_request_header
from tests.golden import script
from tests.golden.request_log.lines import FILE
from tests.oracle.kafka import KafkaBroker

LOGGER = "-Dorg.slf4j.simpleLogger.log.kafka.request.logger=debug"
MARK = "Completed request:"


def main() -> None:
    """Record and write everything."""
    os.environ["JAVA_TOOL_OPTIONS"] = f"{os.environ.get('JAVA_TOOL_OPTIONS', '')} {LOGGER}".strip()
    with tempfile.TemporaryDirectory() as folder, KafkaBroker(Path(folder)) as broker:
        exchanges = script.play(broker.port)
        time.sleep(1)  # the line is written after the answer
        told = broker.log_path.read_text(errors="replace").splitlines()
    lines = {}
    for line in told:
        if MARK in line:
            entry = json.loads(line.partition(MARK)[2])
            header = entry["requestHeader"]
            if header["clientId"] == script.CLIENT_ID:
                lines[header["requestApiKey"], header["correlationId"]] = entry
    kept = []
    for exchange in exchanges:
        header = decode_request_header(memoryview(exchange.request))
        entry = lines.get((exchange.key, header.correlation_id))
        if entry is None:
            print(f"no line of {exchange.name}")
            continue
        frames = [base64.b64encode(frame).decode() for frame in (exchange.request, exchange.response)]
        kept.append({"name": exchange.name, "frames": frames, "line": entry})
    text = "".join(json.dumps(entry, separators=(",", ":")) + "\n" for entry in kept)
    FILE.write_bytes(gzip.compress(text.encode(), mtime=0))
    apis = sorted({ApiKey(entry["line"]["requestHeader"]["requestApiKey"]).name for entry in kept})
    print(f"{len(kept)} lines of {', '.join(apis)}, {FILE.stat().st_size // 1024} KiB")


if __name__ == "__main__":
    main()

"""Capture tests/golden/frames afresh: real clients and a script ask Apache Kafka, a proxy listens.

    python -m tools.record_golden_frames

Needs the toolchain of the interop tests. Correlation ids, times and topic ids differ from run to run,
so a new capture is a new baseline: look at what changed in the index.
"""

import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from tests.golden import script
from tests.golden.client_traffic import play_clients
from tests.golden.exchanges import FOLDER, save
from tests.golden.proxy import RecordingProxy
from tests.oracle.kafka import KafkaBroker


def main() -> None:
    """Record and write everything."""
    proxy = RecordingProxy()
    # The name goes into DescribeLogDirs' answer.
    with tempfile.TemporaryDirectory(prefix="golden-", dir="/tmp") as folder:
        overrides = {"advertised.listeners": f"PLAINTEXT://127.0.0.1:{proxy.port}"}
        with KafkaBroker(Path(folder), overrides=overrides) as broker:
            proxy.target_port = broker.port
            scripted = script.play(broker.port)
            play_clients(f"127.0.0.1:{proxy.port}", proxy)
    recorded = proxy.exchanges()
    proxy.close()
    save([*scripted, *recorded])
    size = sum(path.stat().st_size for path in FOLDER.iterdir())
    print(f"{len(scripted)} scripted and {len(recorded)} recorded exchanges, {size // 1024} KiB")


if __name__ == "__main__":
    main()

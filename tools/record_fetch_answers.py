"""Record what Apache Kafka 4.4 answers to the fetch situations: tests/golden/fetch.json.gz.

Run it when a situation changes: `python -m tools.record_fetch_answers`; with `--logs` the logs they are asked
over are written anew first, by Apache Kafka as well. It needs Java and Kafka's jars, as the tests marked java
do.
"""

import argparse
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from tests.interop.fetch_situations.logs import ARCHIVE, write_logs
from tests.interop.fetch_situations.play import play_all, running_kafka
from tests.interop.fetch_situations.recorded import RECORD
from tests.interop.situations.record import save_frames


def main() -> None:
    """Start Apache Kafka on a copy of the logs, ask everything, keep the frames."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--logs", action="store_true", help="write the logs anew, too")
    with tempfile.TemporaryDirectory(prefix="fetch-answers-") as scratch:
        directory = Path(scratch)
        if parser.parse_args().logs:
            write_logs(directory / "writer")
            print(f"{ARCHIVE.stat().st_size} bytes of logs in {ARCHIVE}")
        with running_kafka(directory / "kafka") as broker:
            talks = play_all(broker.port)
    save_frames(RECORD, talks)
    print(f"{len(talks)} situations, {sum(map(len, talks.values()))} requests in {RECORD}")


if __name__ == "__main__":
    main()

"""Record what Apache Kafka 4.4 answers to the group situations: tests/golden/groups.json.gz.

Run it when a situation changes: `python -m tools.record_group_answers`. It needs Java and Kafka's jars, as
the tests marked java do.
"""

import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from tests.interop.group_situations.play import play_all, running_kafka
from tests.interop.group_situations.recorded import RECORD
from tests.interop.situations.playing import whole
from tests.interop.situations.record import save_frames


def main() -> None:
    """Start Apache Kafka, ask everything, keep the frames."""
    with (
        tempfile.TemporaryDirectory(prefix="group-answers-") as scratch,
        running_kafka(Path(scratch)) as broker,
    ):
        told = whole(play_all(broker.port))
    save_frames(RECORD, told)
    print(f"{len(told)} situations and steps, {sum(map(len, told.values()))} requests in {RECORD}")


if __name__ == "__main__":
    main()

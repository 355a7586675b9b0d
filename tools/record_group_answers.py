"""Record what Apache Kafka 4.4 answers to the group situations: tests/golden/groups.json.gz.

Run it when a situation changes: `python -m tools.record_group_answers`. It needs Java and Kafka's jars, as
the tests marked java do.
"""

import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from tests.interop.group_situations.play import play_all, running_kafka
from tests.interop.group_situations.recorded import RECORD, Told, save


def main() -> int:
    """Start Apache Kafka, ask everything, keep the frames."""
    with (
        tempfile.TemporaryDirectory(prefix="group-answers-") as scratch,
        running_kafka(Path(scratch)) as broker,
    ):
        played = play_all(broker.port)
    told = {name: one for name, one in played.items() if isinstance(one, Told)}
    broken = {name: one for name, one in played.items() if not isinstance(one, Told)}
    for name, error in broken.items():
        print(f"{name}: {error!r}")
    if broken:
        return 1
    save(told)
    print(f"{len(told)} situations and steps, {sum(map(len, told.values()))} requests in {RECORD}")
    return 0


if __name__ == "__main__":
    sys.exit(main())

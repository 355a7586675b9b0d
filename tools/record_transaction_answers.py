"""Record what Apache Kafka 4.4 answers to the transaction situations: tests/golden/transactions.json.gz.

Run it when a situation changes: `python -m tools.record_transaction_answers`. It needs Java and Kafka's jars,
as the tests marked java do.
"""

import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from tests.interop.transaction_situations.play import RECORD, play_all, running_kafka, save


def main() -> int:
    """Start Apache Kafka, ask everything, keep the answers."""
    with (
        tempfile.TemporaryDirectory(prefix="transaction-answers-") as scratch,
        running_kafka(Path(scratch)) as broker,
    ):
        played = play_all(broker.port)
    told = {name: one for name, one in played.items() if not isinstance(one, Exception)}
    for name, one in played.items():
        if isinstance(one, Exception):
            print(f"{name}: {one!r}")
    if len(told) < len(played):
        return 1
    save(told)
    print(f"{len(told)} situations and ages, {sum(map(len, told.values()))} answers in {RECORD}")
    return 0


if __name__ == "__main__":
    sys.exit(main())

"""Record what Apache Kafka 4.4 answers to the transaction situations: tests/golden/transactions.json.gz.

Run it when a situation changes: `python -m tools.record_transaction_answers`. It needs Java and Kafka's jars,
as the tests marked java do.
"""

import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from tests.interop.situations.playing import whole
from tests.interop.situations.record import save_plain
from tests.interop.transaction_situations.play import RECORD, play_all, running_kafka


def main() -> None:
    """Start Apache Kafka, ask everything, keep the answers."""
    with (
        tempfile.TemporaryDirectory(prefix="transaction-answers-") as scratch,
        running_kafka(Path(scratch)) as broker,
    ):
        told = whole(play_all(broker.port))
    save_plain(RECORD, told)
    print(f"{len(told)} situations and ages, {sum(map(len, told.values()))} answers in {RECORD}")


if __name__ == "__main__":
    main()

"""Record what Apache Kafka 4.4's assignors and its hash of topics answer: tests/golden/assignors.txt.gz.

Run it when the cases change: `python -m tools.record_assignor_answers`. It needs Java and Kafka's jars, as
the tests marked java do.
"""

import gzip
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from tests.interop.assignor_oracle.ask import ask
from tests.interop.assignor_oracle.cases import RECORD, cases


def main() -> None:
    """Ask everything and keep the answers."""
    answers = ask([line for line, _ in cases()])
    RECORD.write_bytes(gzip.compress("".join(f"{answer}\n" for answer in answers).encode(), mtime=0))
    print(f"{len(answers)} answers in {RECORD}, {RECORD.stat().st_size} bytes")


if __name__ == "__main__":
    main()

"""Record what Apache Kafka 4.4 answers to the administration script: tests/golden/admin.

Run it when the script changes: `python -m tools.record_admin_answers`. It needs Java and Kafka's jars, as
the tests marked java do.
"""

import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from tests.golden.admin_comparison import RECORDED, SHARED_OVERRIDES
from tests.golden.admin_script import play
from tests.golden.exchanges import save
from tests.oracle import kafka

SETTLE_S = 0.3


def main() -> None:
    """Start a fresh broker, ask everything, keep the frames."""
    with (
        tempfile.TemporaryDirectory(prefix="admin-answers-") as directory,
        kafka.running(Path(directory), overrides=SHARED_OVERRIDES) as broker,
    ):
        answers = play(broker.port, settle_s=SETTLE_S)
    save([exchange for exchange, _ in answers], RECORDED)
    print(f"{len(answers)} answers in {RECORDED}")


if __name__ == "__main__":
    main()

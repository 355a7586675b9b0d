"""Assignors and the hash of topics come to what Apache Kafka 4.4's own classes came to, without a JVM.

tools/record_assignor_answers.py writes the record, and tests/interop/test_assignor_oracle.py checks that it
is true.
"""

import gzip

from tests.interop.assignor_oracle.cases import RECORD, cases


def test_assignments_and_hashes_are_those_of_apache_kafka() -> None:
    recorded = gzip.decompress(RECORD.read_bytes()).decode().splitlines()
    asked = cases()
    assert len(recorded) == len(asked)
    wrong = [
        f"{line}\n  ours {ours}\n  Apache Kafka's {theirs}"
        for (line, ours), theirs in zip(asked, recorded, strict=True)
        if ours != theirs
    ]
    assert not wrong, f"{len(wrong)} differ, among them:\n" + "\n".join(wrong[:5])

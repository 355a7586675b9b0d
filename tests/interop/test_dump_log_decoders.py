"""dump-log shows records of the metadata and of transactions as Kafka's own tool does, field by field."""

import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka import Producer

from tests.broker import BarnabasBroker
from tests.net.wire import Wire
from tests.oracle.kafka_tools import dump_log

pytestmark = [pytest.mark.interop, pytest.mark.java, pytest.mark.timeout(300)]

TOPIC = "dumped"
_METADATA = re.compile(r"^\| offset: (\d+) .*?payload: (\{.*\})$", re.MULTILINE)
_TRANSACTION = re.compile(r"^\| offset: (\d+) .* key: (\{.*\}) payload: (.*)$", re.MULTILINE)


def ours(log: Path) -> dict[int, dict[str, Any]]:
    line = [sys.executable, "-m", "barnabas", "dump-log", str(log), "--deep-iteration", "-o", "json"]
    said = subprocess.run(line, check=True, capture_output=True, text=True).stdout
    return {row["offset"]: row for row in map(json.loads, said.splitlines()) if row["kind"] == "record"}


@pytest.mark.slow
def test_records_of_the_broker_itself_are_told_alike(tmp_path: Path) -> None:
    with BarnabasBroker(tmp_path) as broker:
        with Wire(broker.port) as wire:
            wire.make_topic(TOPIC, 2, retention_ms="1000000")
        for commit in (True, False):
            producer = Producer({"bootstrap.servers": broker.bootstrap, "transactional.id": f"t-{commit}"})
            producer.init_transactions(30)
            producer.begin_transaction()
            for number in range(10):
                producer.produce(TOPIC, b"%d" % number)
            producer.flush(30)
            (producer.commit_transaction if commit else producer.abort_transaction)(30)
    (metadata,) = broker.data_dir.glob("__cluster_metadata-0/*.log")
    right = ours(metadata)
    theirs = _METADATA.findall(dump_log(metadata, extra=("--cluster-metadata-decoder",)))
    assert len(theirs) > 20
    for offset, payload in theirs:
        told = json.loads(payload)
        row = right[int(offset)]
        assert (row["version"], row["data"]) == (told["version"], told["data"])
        assert row["type"].upper() == told["type"].replace("_", "")
    statuses: list[str] = []
    for log in broker.data_dir.glob("__transaction_state-*/*.log"):
        if not log.stat().st_size:
            continue
        right = ours(log)
        for offset, key, payload in _TRANSACTION.findall(dump_log(log, extra=("--transaction-log-decoder",))):
            row, told = right[int(offset)], json.loads(payload)
            assert row["key_data"] == json.loads(key)["data"]
            assert (str(row["version"]), row["data"]) == (told["version"], told["data"])
            statuses.append(row["data"]["transactionStatus"])
        assert len(right) == len(_TRANSACTION.findall(dump_log(log, extra=("--transaction-log-decoder",))))
    assert {"Ongoing", "PrepareCommit", "CompleteAbort"} <= set(statuses), statuses

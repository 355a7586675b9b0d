"""The request log: what a line says, where it goes, and that it never stands in the way (F46)."""

import errno
import json
import logging
import os
from types import SimpleNamespace

import pytest

from barnabas.base.errors import ErrorCode
from barnabas.handlers import request_log
from barnabas.handlers.client_information import ClientInformation
from barnabas.handlers.request_log import LOGGER_NAME, RequestLog, RequestLogEntry
from barnabas.protocol import messages
from barnabas.protocol.message_json import message_json
from barnabas.replica.fetch import FetchOutcome, FetchPartition, FetchPartitionResult, FetchReason


@pytest.fixture(autouse=True)
def level():
    """Leave the logger as it was."""
    logger = logging.getLogger(LOGGER_NAME)
    before = logger.level
    yield logger
    logger.setLevel(before)


class Turn:
    """Keeps what is to run at the end of the loop's turn."""

    def __init__(self):
        self.calls = []

    def __call__(self, call):
        self.calls.append(call)

    def end(self):
        calls, self.calls = self.calls, []
        for call in calls:
            call()


@pytest.fixture
def turn():
    return Turn()


@pytest.fixture
def log(turn, tmp_path):
    made = RequestLog(turn, path=str(tmp_path / "requests.log"), max_bytes=400)
    yield made
    made.close()


def context_of(api_key, version, **more):
    connection = SimpleNamespace(
        id="127.0.0.1:9092-127.0.0.1:50000-1",
        listener_name="INSIDE",
        context=ClientInformation("librdkafka", "2.10.0"),
    )
    return SimpleNamespace(
        spec=messages.BY_KEY[api_key],
        api_version=version,
        correlation_id=7,
        client_id="reader",
        received_us=1_000,
        parked_us=-1,
        connection=connection,
        services=SimpleNamespace(advertised={"INSIDE": SimpleNamespace(security_protocol=1)}),
        **more,
    )


def fetch_entry(log):
    asked = messages.FetchRequestFetchPartition(partition=2, fetch_offset=10, partition_max_bytes=100)
    request = messages.FetchRequest(
        max_wait_ms=500,
        min_bytes=1,
        max_bytes=1000,
        session_id=3,
        session_epoch=4,
        topics=[messages.FetchRequestFetchTopic(topic="orders", partitions=[asked])],
    )
    return RequestLogEntry(log, request, 7)


def test_f46_a_line_of_a_fetch(log, turn, tmp_path):
    entry = fetch_entry(log)
    result = FetchPartitionResult(ErrorCode.NONE, 11, 11, 0, records=SimpleNamespace(length=74))
    partition = FetchPartition("orders", bytes(16), 2, 10, 100)
    answered = []
    respond = entry.telling(answered.append)
    respond(FetchOutcome([partition], [result], FetchReason.CASE_G_ENOUGH_BYTES, 74, 1_200, 301_000))
    assert len(answered) == 1
    entry.answered(messages.FetchResponse(session_id=3))
    context = context_of(1, 7)
    context.parked_us = 1_200
    entry.write(context, 301_250, 301_300)
    turn.end()
    text = (tmp_path / "requests.log").read_text()
    assert text.endswith("}\n")
    assert ": " not in text.replace("G: min", "")
    assert json.loads(text) == json.loads("""
        {"isForwarded": false,
        "requestHeader": {"requestApiKey": 1, "requestApiVersion": 7, "correlationId": 7,
            "clientId": "reader", "requestApiKeyName": "FETCH"},
        "request": {"replicaId": -1, "maxWaitMs": 500, "minBytes": 1, "maxBytes": 1000, "isolationLevel": 0,
            "sessionId": 3, "sessionEpoch": 4,
            "topics": [{"topic": "orders", "partitions": [{"partition": 2, "fetchOffset": 10,
                "logStartOffset": -1, "partitionMaxBytes": 100}]}],
            "forgottenTopicsData": []},
        "response": {"throttleTimeMs": 0, "errorCode": 0, "sessionId": 3, "responses": []},
        "connection": "127.0.0.1:9092-127.0.0.1:50000-1",
        "totalTimeMs": 300.3, "requestQueueTimeMs": 0.0, "localTimeMs": 0.2, "remoteTimeMs": 300.05,
        "throttleTimeMs": 0, "responseQueueTimeMs": 0.0, "sendTimeMs": 0.05,
        "securityProtocol": "SSL", "principal": "User:ANONYMOUS", "listener": "INSIDE",
        "clientInformation": {"softwareName": "librdkafka", "softwareVersion": "2.10.0"},
        "fetch": {"reason": "G: min_bytes reached while waiting", "sizeInBytes": 74, "partitionCount": 1,
            "partitions": [{"topic": "orders", "partition": 2, "fetchOffset": 10, "highWatermark": 11,
                "sizeInBytes": 74, "errorCode": 0}]}}
    """)


def test_it_is_off_unless_asked_for(level):
    log = RequestLog()
    assert not log.on
    level.setLevel(logging.DEBUG)
    log.refresh()
    assert log.on
    level.setLevel(logging.INFO)
    log.refresh()
    assert not log.on


def test_an_empty_path_is_none(turn, level):
    level.setLevel(logging.INFO)
    assert not RequestLog(turn, path="").on


def test_without_a_file_lines_go_to_the_logger(level, caplog):
    level.setLevel(logging.DEBUG)
    log = RequestLog()
    log.write({"a": 1})
    assert [record.getMessage() for record in caplog.records] == ['Completed request:{"a":1}']


def test_lines_of_a_turn_are_written_at_once(log, turn, tmp_path):
    log.write({"n": 1})
    log.write({"n": 2})
    assert len(turn.calls) == 1
    assert not (tmp_path / "requests.log").exists()
    turn.end()
    assert (tmp_path / "requests.log").read_text() == '{"n":1}\n{"n":2}\n'
    assert log.statistics() == {"lines": 2, "dropped": 0}


def test_a_full_file_makes_room_for_a_new_one(log, turn, tmp_path):
    for number in range(9):
        log.write({"n": number, "text": "x" * 100})
        turn.end()
    kept = [(tmp_path / name).read_text().splitlines() for name in ("requests.log.1", "requests.log")]
    assert [json.loads(line)["n"] for lines in kept for line in lines] == [3, 4, 5, 6, 7, 8]
    assert all((tmp_path / name).stat().st_size <= 400 for name in ("requests.log.1", "requests.log"))


def test_a_file_that_was_moved_away_is_begun_anew(log, turn, tmp_path):
    log.write({"n": 0})
    turn.end()
    os.rename(tmp_path / "requests.log", tmp_path / "moved")
    for number in range(1, request_log._RECHECK_WRITES + 1):
        log.write({"n": number})
        turn.end()
    assert json.loads((tmp_path / "requests.log").read_text())["n"] == request_log._RECHECK_WRITES


def test_a_full_disk_is_told_once_and_loses_lines_only(log, turn, tmp_path, monkeypatch, caplog):
    def full(fd, data):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    with monkeypatch.context() as patched:
        patched.setattr(request_log.os, "write", full)
        for number in range(5):
            log.write({"n": number})
            turn.end()
    assert log.statistics() == {"lines": 0, "dropped": 5}
    assert [record.levelname for record in caplog.records if "request log" in record.getMessage()] == [
        "ERROR"
    ]
    log.write({"n": 5})
    turn.end()
    assert (tmp_path / "requests.log").read_text() == '{"n":5}\n'


def test_a_line_that_was_cut_by_a_full_disk_does_not_spoil_the_next(log, turn, tmp_path, monkeypatch):
    def room_for_ten_bytes(fd, data, write=os.write):
        if fd == log._fd and log.dropped == 0 and len(data) == len('{"n":0,"x":"yyyyyyyyyy"}\n'):
            return write(fd, data[:10])
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    with monkeypatch.context() as patched:
        patched.setattr(request_log.os, "write", room_for_ten_bytes)
        log.write({"n": 0, "x": "yyyyyyyyyy"})
        turn.end()
    for number in (1, 2):
        log.write({"n": number})
        turn.end()
    assert log.statistics() == {"lines": 2, "dropped": 1}
    lines = (tmp_path / "requests.log").read_text().splitlines()
    assert lines == ['{"n":0,"x"', '{"n":1}', '{"n":2}']


def test_a_file_that_cannot_be_renamed_stays_within_its_bound_and_is_told_of_once(
    log, turn, tmp_path, caplog
):
    (tmp_path / "requests.log.1").mkdir()
    for number in range(20):
        log.write({"n": number, "text": "x" * 100})
        turn.end()
    assert (tmp_path / "requests.log").stat().st_size <= 400
    assert log.statistics() == {"lines": 3, "dropped": 17}
    assert sum("cannot be written" in record.getMessage() for record in caplog.records) == 1
    (tmp_path / "requests.log.1").rmdir()
    log.write({"n": 20, "text": "x" * 100})
    turn.end()
    assert (tmp_path / "requests.log").read_text().startswith('{"n":20,')


def test_a_pipe_that_nobody_reads_holds_up_nobody(turn, tmp_path):
    os.mkfifo(tmp_path / "pipe")
    log = RequestLog(turn, path=str(tmp_path / "pipe"))
    log.write({"n": 1})
    turn.end()
    assert log.statistics()["dropped"] == 1


def test_more_than_a_turn_may_hold_is_dropped(log, turn, monkeypatch):
    monkeypatch.setattr(request_log, "PENDING_BYTES_MAX", 50)
    for _ in range(10):
        log.write({"text": "x" * 20})
    turn.end()
    assert log.statistics() == {"lines": 1, "dropped": 9}


@pytest.mark.parametrize(
    ("kind", "name", "shown"),
    [
        (4, "ssl.keystore.password", "[hidden]"),
        (4, "nobody.knows.this", "[hidden]"),
        (4, "fetch.max.bytes", "geheim"),
        (2, "retention.ms", "geheim"),
        (8, "barnabas.net", "geheim"),
        (16, "metrics", "[hidden]"),
    ],
)
def test_secret_and_unknown_config_values_are_hidden(log, turn, tmp_path, kind, name, shown):
    config = messages.IncrementalAlterConfigsRequestAlterableConfig(name=name, value="geheim")
    resource = messages.IncrementalAlterConfigsRequestAlterConfigsResource(
        resource_type=kind, resource_name="1", configs=[config]
    )
    entry = RequestLogEntry(log, messages.IncrementalAlterConfigsRequest(resources=[resource]), 1)
    entry.write(context_of(44, 1), 1_100, 1_200)
    turn.end()
    line = json.loads((tmp_path / "requests.log").read_text())
    assert line["request"]["resources"][0]["configs"][0]["value"] == shown


def test_a_long_list_is_cut_and_says_so():
    topics = [messages.MetadataRequestMetadataRequestTopic(name=f"t{number}") for number in range(1_000)]
    shown = message_json(messages.MetadataRequest(topics=topics), 1, values_max=10)
    assert len(shown["topics"]) == 11
    assert shown["topics"][-1] == "... 990 more"

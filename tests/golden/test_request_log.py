"""What our request log says of a request and its response is what Apache Kafka's says (F46)."""

import json
import logging
from types import SimpleNamespace

import pytest

from barnabas.handlers.client_information import ClientInformation
from barnabas.handlers.request_log import LOGGER_NAME, RequestLog, RequestLogEntry
from barnabas.protocol import messages
from barnabas.protocol.frames import decode_request_header, decode_response_header
from barnabas.protocol.message_json import message_json
from tests.golden.exchanges import noted
from tests.golden.request_log.lines import LoggedExchange, load

EXCHANGES = load()


def api_of(exchange: LoggedExchange) -> str:
    return exchange.line["requestHeader"]["requestApiKeyName"]


def test_every_api_of_the_script_was_captured():
    assert len(EXCHANGES) > 150
    assert len(set(map(api_of, EXCHANGES))) >= 10


@pytest.mark.parametrize("api", sorted({api_of(exchange) for exchange in EXCHANGES}))
def test_f46_messages_are_told_in_kafkas_words_and_order(api: str):
    for exchange in EXCHANGES:
        if api_of(exchange) == api:
            with noted(exchange.name):
                check_messages(exchange)


def check_messages(exchange: LoggedExchange) -> None:
    header = decode_request_header(memoryview(exchange.request))
    spec, version = messages.BY_KEY[header.api_key], header.api_version
    request = spec.request.decode(memoryview(exchange.request), version, header.body_offset)
    _, body = decode_response_header(memoryview(exchange.response), header.api_key, version)
    response = spec.response.decode(memoryview(exchange.response)[body:], version)
    # As text, since the order of the fields counts too.
    assert json.dumps(message_json(request, version)) == json.dumps(exchange.line["request"])
    assert json.dumps(message_json(response, version)) == json.dumps(exchange.line["response"])


def test_f46_a_line_has_kafkas_fields_in_its_order(tmp_path):
    exchange = next(
        exchange for exchange in EXCHANGES if exchange.line["requestHeader"]["requestApiKey"] == 3
    )
    header = decode_request_header(memoryview(exchange.request))
    request = messages.MetadataRequest.decode(
        memoryview(exchange.request), header.api_version, header.body_offset
    )
    log = RequestLog(path=str(tmp_path / "log"))
    entry = RequestLogEntry(log, request, header.api_version)
    entry.answered(messages.MetadataResponse())
    told = exchange.line["clientInformation"]
    client = ClientInformation(told["softwareName"], told["softwareVersion"])
    connection = SimpleNamespace(id="a:1-b:2-3", listener_name="PLAINTEXT", context=client)
    context = SimpleNamespace(
        spec=messages.BY_KEY[3],
        api_version=header.api_version,
        correlation_id=header.correlation_id,
        client_id=header.client_id,
        received_us=0,
        parked_us=-1,
        connection=connection,
        services=SimpleNamespace(advertised={}),
    )
    entry.write(context, 10, 20)
    log.close()
    logging.getLogger(LOGGER_NAME).setLevel(logging.NOTSET)
    line = json.loads((tmp_path / "log").read_text())
    # Apache Kafka also tells how much memory a request took besides its own, when it did.
    assert list(line) == [name for name in exchange.line if name != "temporaryMemoryBytes"]
    assert line["requestHeader"] == exchange.line["requestHeader"]
    same = ("isForwarded", "request", "securityProtocol", "principal", "listener", "clientInformation")
    assert {name: line[name] for name in same} == {name: exchange.line[name] for name in same}
    assert {name: type(line[name]) for name in line} == {name: type(exchange.line[name]) for name in line}

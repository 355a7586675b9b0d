"""The request log: one line of JSON a request, in the words of Apache Kafka's `kafka.request.logger` (F46).

It is on while that logger lets DEBUG through: set in the configuration of Python's logging, or at run time
like any broker logger, or by `request.log.file`, which also gives the lines a file of their own. Lines are
gathered and written at the end of the loop's turn, in one call. What cannot be written, on a full disk say,
is dropped and counted, and the first loss is logged: a log must not hold up what it tells of.

The file is bounded by a size: it is then renamed to NAME.1, so that the newest one or two sizes are there.
Rotation by time was left to logrotate and its like, for which the file is opened anew when it was moved away.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Callable

from barnabas.base.hints import TYPE_CHECKING, Any, Final
from barnabas.base.logger import Logger
from barnabas.handlers.client_information import ClientInformation
from barnabas.protocol.api_keys import ApiKey

if TYPE_CHECKING:
    from barnabas.handlers.request import RequestContext
    from barnabas.protocol.structures import Message
    from barnabas.replica.fetch import FetchOutcome

LOGGER_NAME: Final = "kafka.request.logger"

PARTITIONS_MAX: Final = 500
"""Partitions of one fetch that a line shows."""

PENDING_BYTES_MAX: Final = 4 * 1024 * 1024
"""Lines of one turn that are held; more are dropped, and counted."""

_MODE: Final = 0o640
_HIDDEN: Final = "[hidden]"
_PROTOCOLS: Final = {0: "PLAINTEXT", 1: "SSL", 2: "SASL_PLAINTEXT", 3: "SASL_SSL"}
_RECHECK_WRITES: Final = 16
"""Writes after which it is looked whether the file was moved away."""

_log = Logger(__name__)
_requests = Logger(LOGGER_NAME)


def _call(call: Callable[[], object]) -> None:
    call()


class RequestLog:
    """The log of one broker's requests.

    Attributes:
        on: whether requests are logged; what every request asks.
        lines, dropped: written, and lost.
    """

    __slots__ = (
        "_call_at_turn_end",
        "_fd",
        "_has_failed",
        "_is_torn",
        "_max_bytes",
        "_path",
        "_pending",
        "_pending_bytes",
        "_until_recheck",
        "_written_bytes",
        "dropped",
        "lines",
        "on",
    )

    def __init__(
        self,
        call_at_turn_end: Callable[[Callable[[], object]], object] = _call,
        *,
        path: str | None = None,
        max_bytes: int = 2**63 - 1,
    ) -> None:
        """
        Args:
            call_at_turn_end: runs a call when this turn's requests are handled.
            path: where lines go; None or empty: to the handlers of the logger.
            max_bytes: of the file.
        """
        self._call_at_turn_end = call_at_turn_end
        self._path = path or None
        self._max_bytes = max_bytes
        self._fd = -1
        self._pending: list[bytes] = []
        self._pending_bytes = 0
        self._written_bytes = 0
        self._until_recheck = 0
        self._has_failed = False
        self._is_torn = False  # the last line is there in part
        self.lines = 0
        self.dropped = 0
        self.on = False
        if self._path is not None:
            _requests.set_level_debug()
        self.refresh()

    def refresh(self) -> None:
        """Look at the logger's level again, since it may have been changed."""
        self.on = _requests.is_enabled_for_debug()

    def write(self, entry: dict[str, Any]) -> None:
        """Log one request."""
        import json  # noqa: PLC0415 - no start needs it

        text = json.dumps(entry, separators=(",", ":"), default=str)
        if self._path is None:
            self.lines += 1
            _requests.debug("Completed request:%s", text)
            return
        line = text.encode("utf-8", "surrogateescape") + b"\n"
        if self._pending_bytes + len(line) > PENDING_BYTES_MAX:
            self.dropped += 1
            return
        if not self._pending:
            self._call_at_turn_end(self.flush)
        self._pending.append(line)
        self._pending_bytes += len(line)

    def flush(self) -> None:
        """Write what is pending."""
        if not self._pending:
            return
        count, data = len(self._pending), b"".join(self._pending)
        self._pending, self._pending_bytes = [], 0
        try:
            self._append(data)
        except OSError as error:
            self.dropped += count
            if not self._has_failed:
                self._has_failed = True
                _log.error(
                    "the request log %s cannot be written, requests are missing in it: %s",
                    self._path,
                    os.strerror(error.errno or 0),
                )
            self._close()
        else:
            self._has_failed = False
            self.lines += count

    def statistics(self) -> dict[str, int]:
        """Return how many lines were written and lost."""
        return {"lines": self.lines, "dropped": self.dropped}

    def close(self) -> None:
        """Write what is pending and close the file."""
        self.flush()
        self._close()

    def _append(self, data: bytes) -> None:
        assert self._path is not None
        if self._fd >= 0 and self._until_recheck <= 0 and not self._is_same_file():
            self._close()
        if self._fd < 0:
            self._open(self._path)
        if self._written_bytes and self._written_bytes + len(data) > self._max_bytes:
            os.replace(self._path, f"{self._path}.1")
            self._close()
            self._open(self._path)
        self._until_recheck -= 1
        self._write_all(b"\n" + data if self._is_torn else data)

    def _open(self, path: str) -> None:
        # Non-blocking: the path may be a pipe that nobody reads.
        flags = os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC | os.O_NONBLOCK
        self._fd = os.open(path, flags, _MODE)
        status = os.fstat(self._fd)
        self._written_bytes = status.st_size
        self._until_recheck = _RECHECK_WRITES
        if stat.S_ISREG(status.st_mode) and status.st_size == 0:
            self._is_torn = False

    def _write_all(self, data: bytes) -> None:
        """Write lines; when only a part of them gets through, the next ones begin with a fresh line."""
        written = os.write(self._fd, data)
        self._written_bytes += written
        self._is_torn = written < len(data)
        if self._is_torn:
            self._written_bytes += os.write(
                self._fd, data[written:]
            )  # tells why: the disk is full, the pipe is
            self._is_torn = False

    def _is_same_file(self) -> bool:
        assert self._path is not None
        self._until_recheck = _RECHECK_WRITES
        try:
            return os.path.samestat(os.stat(self._path), os.fstat(self._fd))
        except FileNotFoundError:
            return False

    def _close(self) -> None:
        if self._fd >= 0:
            os.close(self._fd)
        self._fd = -1
        self._written_bytes = 0


class RequestLogEntry:
    """What one line will say, gathered while the request is handled."""

    __slots__ = ("_as_json", "_fetch", "_log", "_request", "_response", "_version")

    def __init__(self, log: RequestLog, request: Message, version: int) -> None:
        from barnabas.protocol.message_json import message_json  # noqa: PLC0415 - no start needs it

        self._log = log
        self._version = version
        self._as_json: Callable[[Message, int], dict[str, Any]] = message_json
        self._request = _hide_secrets(message_json(request, version), request.api_key)
        self._response: dict[str, Any] | None = None
        self._fetch: dict[str, Any] | None = None

    def answered(self, response: Message) -> None:
        """Take down the response, before its slices are sent and released."""
        self._response = self._as_json(response, self._version)

    def answered_encoded(self, response: type[Message], body: bytes) -> None:
        """Take down a response that is encoded already."""
        self._response = self._as_json(response.decode(body, self._version), self._version)

    def fetched(self, outcome: FetchOutcome) -> None:
        """Take down what was read, also of a session that a request does not repeat, and why it was told."""
        partitions = outcome.partitions
        shown = [
            {
                "topic": partition.topic,
                "partition": partition.partition,
                "fetchOffset": partition.fetch_offset,
                "highWatermark": result.high_watermark,
                "sizeInBytes": 0 if result.records is None else result.records.length,
                "errorCode": int(result.error_code),
            }
            for partition, result in zip(partitions[:PARTITIONS_MAX], outcome.results, strict=False)
        ]
        self._fetch = {
            "reason": outcome.reason.value,
            "sizeInBytes": outcome.records_bytes,
            "partitionCount": len(partitions),
            "partitions": shown,
        }

    def telling(self, respond: Callable[[FetchOutcome], None]) -> Callable[[FetchOutcome], None]:
        """Return `respond` with `fetched` before it."""

        def told(outcome: FetchOutcome) -> None:
            self.fetched(outcome)
            respond(outcome)

        return told

    def write(self, context: RequestContext, responded_us: int, sent_us: int) -> None:
        """Write the line of an answered request; the moments are as in `request_times.count_request`."""
        connection = context.connection
        parked_us = responded_us if context.parked_us < 0 else context.parked_us
        client = connection.context
        if not isinstance(client, ClientInformation):
            client = ClientInformation()
        listener = connection.listener_name
        endpoint = context.services.advertised.get(listener)
        entry = {
            "isForwarded": False,
            "requestHeader": {
                "requestApiKey": context.spec.key,
                "requestApiVersion": context.api_version,
                "correlationId": context.correlation_id,
                "clientId": context.client_id,
                "requestApiKeyName": ApiKey(context.spec.key).name,
            },
            "request": self._request,
            "response": self._response,
            "connection": connection.id,
            "totalTimeMs": (sent_us - context.received_us) / 1000,
            "requestQueueTimeMs": 0.0,
            "localTimeMs": (parked_us - context.received_us) / 1000,
            "remoteTimeMs": (responded_us - parked_us) / 1000,
            "throttleTimeMs": (self._response or {}).get("throttleTimeMs", 0),
            "responseQueueTimeMs": 0.0,
            "sendTimeMs": (sent_us - responded_us) / 1000,
            "securityProtocol": _PROTOCOLS[0 if endpoint is None else endpoint.security_protocol],
            "principal": "User:ANONYMOUS",
            "listener": listener,
            "clientInformation": {"softwareName": client.name, "softwareVersion": client.version},
        }
        if self._fetch is not None:
            entry["fetch"] = self._fetch
        self._log.write(entry)


def _hide_secrets(request: dict[str, Any], api_key: int | None) -> dict[str, Any]:
    """Hide config values that are secret, or that nobody knows not to be."""
    if api_key in (ApiKey.ALTER_CONFIGS, ApiKey.INCREMENTAL_ALTER_CONFIGS):
        for resource in request["resources"]:
            if isinstance(resource, dict):
                _hide_configs(resource)
    return request


def _hide_configs(resource: dict[str, Any]) -> None:
    from barnabas.metadata.config_definitions import BROKER, GROUP, TOPIC  # noqa: PLC0415
    from barnabas.metadata.image import ConfigResourceType  # noqa: PLC0415

    kind = resource["resourceType"]
    if kind == ConfigResourceType.BROKER_LOGGER:
        return
    tables = {
        ConfigResourceType.BROKER: BROKER,
        ConfigResourceType.TOPIC: TOPIC,
        ConfigResourceType.GROUP: GROUP,
    }
    table = tables.get(kind)
    for config in resource["configs"]:
        if not isinstance(config, dict):
            continue
        name = config["name"]
        if table is None or name not in table or table.definition(name).sensitive:
            config["value"] = _HIDDEN

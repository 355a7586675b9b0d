"""What a running broker tells of itself: its request log and its statistics."""

import json
import time
from pathlib import Path
from typing import Any

from barnabas.net.local_client import ask, socket_path
from tools.fetch_client import Answer
from tools.fetch_experiments import BrokerTimes, SentBytes

LOG_TIMEOUT_S = 20.0


class BrokerSide:
    """The broker's own view of experiments on it.

    Args:
        data_dir: the first of its log.dirs, where it can be asked.
        request_log: its request.log.file.
        pid: its process.
    """

    def __init__(self, data_dir: Path, request_log: Path, pid: int) -> None:
        self.data_dir = data_dir
        self.pid = pid
        self._request_log = request_log

    def statistics(self) -> dict[str, Any]:
        """Ask for its figures."""
        found: dict[str, Any] = ask(socket_path(str(self.data_dir)), "statistics", {"partitions": False})
        return found

    def delayed_fetches(self) -> int:
        """Ask how many fetches are parked."""
        return int(self.statistics()["waiting"]["fetch_purgatory"]["num_delayed_operations"])

    def sent_bytes(self) -> SentBytes:
        """Ask how the slices of all answers went out."""
        listeners = self.statistics()["reactor"]["listeners"]
        return SentBytes(
            zero_copy=sum(listener["zero_copy_bytes"] for listener in listeners),
            staged=sum(listener["staged_bytes"] for listener in listeners),
        )

    def times_of(self, answer: Answer) -> BrokerTimes | None:
        """Return an answer's times from the request log, which is written once the answer is out."""
        deadline = time.monotonic() + LOG_TIMEOUT_S
        while time.monotonic() < deadline:
            for line in self._request_log.read_text().splitlines() if self._request_log.exists() else ():
                entry = json.loads(line)
                header = entry["requestHeader"]
                if (header["clientId"], header["correlationId"]) == (answer.client_id, answer.correlation_id):
                    return BrokerTimes(local_ms=entry["localTimeMs"], remote_ms=entry["remoteTimeMs"])
            time.sleep(0.01)
        return None

    def log_file(self, topic: str) -> Path:
        """Return the one segment of a topic's one partition."""
        (found,) = (self.data_dir / f"{topic}-0").glob("*.log")
        return found

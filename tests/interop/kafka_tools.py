"""Apache Kafka's command line tools in one JVM (tools/ToolRunner.java), asked one after the other."""

import base64
import subprocess
import threading
from pathlib import Path
from typing import NamedTuple

from tests import toolchain
from tests.oracle.kafka import java

ANSWER_TIMEOUT_S = 60


class Said(NamedTuple):
    """What a tool said and how it ended."""

    status: int
    out: str
    err: str


class KafkaTools:
    """The JVM starts with the first tool.

    Raises:
        ToolchainMissingError: no Java, or no jars.
    """

    def __init__(self) -> None:
        classes = toolchain.compiled_java(Path(__file__).parent / "tools")
        self._process = subprocess.Popen(
            java("ToolRunner", classes=classes),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
        )

    def run(self, name: str, *arguments: str, stdin: str = "") -> Said:
        """Run a main class; one without dots is ours, one with a leading dot is of org.apache.kafka.tools."""
        main_class = f"org.apache.kafka.tools{name}" if name.startswith(".") else name
        words = [base64.b64encode(word.encode()).decode() for word in (stdin, main_class, *arguments)]
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        watchdog = threading.Timer(ANSWER_TIMEOUT_S, self._process.kill)
        watchdog.start()
        try:
            self._process.stdin.write("\t".join(words) + "\n")
            self._process.stdin.flush()
            answer = self._process.stdout.readline()
        finally:
            watchdog.cancel()
        assert answer, f"{main_class} {arguments} did not answer in {ANSWER_TIMEOUT_S} s, or ended its JVM"
        status, out, err = answer.rstrip("\n").split("\t")
        return Said(int(status), base64.b64decode(out).decode(), base64.b64decode(err).decode())

    def close(self) -> None:
        assert self._process.stdin is not None
        self._process.stdin.close()
        try:
            self._process.wait(5)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()

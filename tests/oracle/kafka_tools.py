"""Apache Kafka's command line tools: in one JVM for all of a process's tests, or each in a JVM of its own.

tools/ToolRunner.java runs main methods one after the other, which spares each tool a second of a core: the
start of its JVM. Few tools work on when their main method has returned; run_tool() is for them.
"""

import atexit
import base64
import functools
import re
import subprocess
import threading
from pathlib import Path
from typing import NamedTuple

from tests import toolchain
from tests.oracle.jvm import java

TOOL_TIMEOUT_S = 120
CLOSE_TIMEOUT_S = 5

DUMP_LOG = "org.apache.kafka.tools.DumpLogSegments"
TOPICS = "org.apache.kafka.tools.TopicCommand"
STORAGE = "kafka.tools.StorageTool"

COMPLAINTS = (
    "Exception",
    "isvalid: false",
    "isValid: false",
    "invalid bytes at the end of",
    "Non-consecutive offsets in",
    "Mismatches in",
    "not found in",
    "out of order timestamp",
    "timestamp mismatch",
    "Error at",
    "Ignoring unknown file",
)
"""What kafka-dump-log prints when a file is wrong; it exits with 0 all the same."""

_FALSE_GAP = re.compile(r"^Non-consecutive offsets in .*\n  -1 is followed by \d+\n(?!  )", re.MULTILINE)
"""What it says of any sound uncompressed segment that does not begin at offset 0."""


class Said(NamedTuple):
    """What a tool said and how it ended."""

    status: int
    out: str
    err: str


class KafkaTools:
    """The JVM starts with the first tool, and again after a tool that did not end.

    Raises:
        ToolchainMissingError: no Java, or no jars.
    """

    def __init__(self) -> None:
        classes = toolchain.compiled_java(Path(__file__).parent / "tools")
        self._command = java("ToolRunner", classes=classes)
        self._process: subprocess.Popen[str] | None = None
        self._turn = threading.Lock()

    def run(self, name: str, *arguments: str, stdin: str = "", timeout_s: float = TOOL_TIMEOUT_S) -> Said:
        """Run a main class; one without dots is ours, one with a leading dot is of org.apache.kafka.tools."""
        main_class = f"org.apache.kafka.tools{name}" if name.startswith(".") else name
        words = [base64.b64encode(word.encode()).decode() for word in (stdin, main_class, *arguments)]
        with self._turn:
            answer = self._ask("\t".join(words) + "\n", timeout_s)
        assert answer, f"{main_class} {arguments} did not answer in {timeout_s} s, or ended its JVM"
        status, out, err = answer.rstrip("\n").split("\t")
        return Said(int(status), base64.b64decode(out).decode(), base64.b64decode(err).decode())

    def _ask(self, line: str, timeout_s: float) -> str:
        process = self._running()
        assert process.stdin is not None
        assert process.stdout is not None
        watchdog = threading.Timer(timeout_s, process.kill)
        watchdog.start()
        try:
            process.stdin.write(line)
            process.stdin.flush()
            return process.stdout.readline()
        finally:
            watchdog.cancel()

    def _running(self) -> subprocess.Popen[str]:
        if self._process is None or self._process.poll() is not None:
            self._process = subprocess.Popen(
                self._command,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                text=True,
            )
        return self._process

    def close(self) -> None:
        """End the JVM."""
        if self._process is None:
            return
        try:
            self._process.communicate(timeout=CLOSE_TIMEOUT_S)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.communicate()
        self._process = None


@functools.cache
def shared_tools() -> KafkaTools:
    """The tools of this process, which end with it.

    Raises:
        ToolchainMissingError: no Java, or no jars.
    """
    tools = KafkaTools()
    atexit.register(tools.close)
    return tools


def run_tool(
    main_class: str, *arguments: str, stdin: str | None = None, timeout_s: float = TOOL_TIMEOUT_S
) -> subprocess.CompletedProcess[str]:
    """Run one of Apache Kafka's command line tools, by its class name, in a JVM of its own."""
    done = subprocess.run(
        java(main_class, *arguments),
        input=stdin,
        capture_output=True,
        text=True,
        check=False,
        timeout=timeout_s,
    )
    toolchain.publish_archives()
    return done


def dump_log(*files: Path, deep: bool = True, index_sanity: bool = False, extra: tuple[str, ...] = ()) -> str:
    """Let kafka-dump-log judge segments, indexes, snapshots; return its output.

    Raises:
        AssertionError: it exited with an error, or found a mismatch, a wrong CRC or trailing bytes.
    """
    arguments = ["--files", ",".join(map(str, files)), *extra]
    if deep:
        arguments.append("--deep-iteration")
    if index_sanity:
        arguments.append("--index-sanity-check")
    done = shared_tools().run(DUMP_LOG, *arguments)
    said = _FALSE_GAP.sub("", done.out + done.err)
    bad = [line for line in said.splitlines() if any(word in line for word in COMPLAINTS)]
    assert not bad, "kafka-dump-log complains:\n" + "\n".join(bad) + done.err[-2000:] + done.out[-500:]
    assert done.status == 0, f"kafka-dump-log failed:\n{said[-3000:]}"
    return done.out

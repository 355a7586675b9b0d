"""Asks Apache Kafka's classes."""

from __future__ import annotations

import subprocess
from collections.abc import Sequence
from pathlib import Path

from tests import toolchain

TIMEOUT_S = 120


def ask(lines: Sequence[str]) -> list[str]:
    """Return the answer to each line."""
    try:
        classes = toolchain.compiled_java(Path(__file__).parent)
        command = [
            toolchain.java_command(),
            *toolchain.JVM_FLAGS,
            "-Xmx512m",
            "-cp",
            f"{classes}:{toolchain.kafka_classpath()}",
            "-Dfile.encoding=UTF-8",
            "AssignorOracle",
        ]
    except toolchain.ToolchainMissingError as missing:
        toolchain.unavailable(str(missing))
    done = subprocess.run(
        command,
        input="\n".join(lines) + "\n",
        capture_output=True,
        encoding="utf-8",
        timeout=TIMEOUT_S,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()

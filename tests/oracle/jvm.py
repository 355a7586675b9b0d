"""How a Java program on Apache Kafka's class path is started."""

from pathlib import Path

from tests import toolchain

SIMPLE_LOGGER = "-Dorg.slf4j.simpleLogger"


def java(main_class: str, *arguments: str, classes: Path | None = None, archive: str = "tool") -> list[str]:
    """Return the command line of a Java program on Apache Kafka's class path.

    Args:
        classes: a folder of compiled classes to add.
        archive: name of the shared class archive.
    """
    classpath = toolchain.kafka_classpath() + (f":{classes}" if classes else "")
    # An archive refuses a class path with folders in it.
    archive_flags = [] if classes else toolchain.shared_archive_flags(archive)
    return [
        toolchain.java_command(),
        "-Xmx512m",
        *toolchain.JVM_FLAGS,
        *archive_flags,
        f"{SIMPLE_LOGGER}.defaultLogLevel=warn",
        "-cp",
        classpath,
        main_class,
        *arguments,
    ]

"""Apache Kafka's Java client, in one JVM that serves all steps (java/InteropClient.java)."""

from collections.abc import Mapping
from pathlib import Path

from tests import toolchain
from tests.interop.client import ProduceSettings
from tests.interop.client_process import ProcessClient
from tests.oracle.jvm import java


class JavaClient(ProcessClient):
    """Raises:
    ToolchainMissingError: no Java, no Maven, or the download failed.
    """

    def __init__(self) -> None:
        classes = toolchain.compiled_java(Path(__file__).parent / "java")
        super().__init__("java", java("InteropClient", classes=classes))

    def produce_options(self, settings: ProduceSettings) -> Mapping[str, object]:
        return {
            "compression.type": settings.codec,
            "acks": settings.acks,
            "enable.idempotence": str(settings.idempotent).lower(),
            "linger.ms": 5,
            "batch.size": 64 * 1024,
        }

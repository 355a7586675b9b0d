"""The Go clients: franz-go, sarama and segmentio's kafka-go, in one program (go/main.go).

`go build` fetches the modules the first time and keeps the program in the cache.
"""

from pathlib import Path

from tests import toolchain
from tests.interop.client_process import ProcessClient
from tests.interop.records import Record


class GoClient(ProcessClient):
    """franz-go or sarama, or the base of another.

    Raises:
        ToolchainMissingError: no Go, or the modules could not be fetched.
    """

    def __init__(self, name: str) -> None:
        program = toolchain.built_go(Path(__file__).parent / "go")
        super().__init__(name, [str(program), name])


class KafkaGoClient(GoClient):
    """segmentio's kafka-go: it has no idempotent producer, and its consumer shows what is empty as null."""

    def __init__(self) -> None:
        super().__init__("kafka-go")

    def seen(self, record: Record) -> Record:
        return record._replace(
            key=record.key or None,
            value=record.value or None,
            headers=tuple((key, value or None) for key, value in record.headers),
        )

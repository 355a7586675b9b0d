"""The Node.js clients: kafkajs and Confluent's (node/kafkajs.js, node/confluent.js)."""

import shutil
from pathlib import Path

from tests import toolchain
from tests.interop.client_process import ProcessClient
from tests.interop.records import Record

FOLDER = Path(__file__).parent / "node"


class NodeClient(ProcessClient):
    """Args:
        program: of the folder, without its ending.

    Raises:
        ToolchainMissingError: no Node.js, or the packages could not be fetched or built.
    """

    def __init__(self, name: str, program: str) -> None:
        path = toolchain.installed_node(FOLDER, program)
        super().__init__(name, [shutil.which("node") or "node", str(path)])


class ConfluentJsClient(NodeClient):
    """@confluentinc/kafka-javascript, with its interface that assigns partitions."""

    def __init__(self) -> None:
        super().__init__("confluent-js", "confluent")

    def sendable(self, record: Record) -> Record:
        """Its producer refuses null header values."""
        return self.seen(record)

    def seen(self, record: Record) -> Record:
        """Its consumer shows null header values as empty."""
        return record._replace(headers=tuple((key, value or b"") for key, value in record.headers))


class KafkajsClient(NodeClient):
    """kafkajs, whose consumer is a group's only member."""

    def __init__(self) -> None:
        super().__init__("kafkajs", "kafkajs")

    def sendable(self, record: Record) -> Record:
        """kafkajs keeps headers in an object: those of one key come together, and none is null."""
        keys = dict.fromkeys(key for key, _ in record.headers)
        together = [(key, value or b"") for wanted in keys for key, value in record.headers if key == wanted]
        return record._replace(headers=tuple(together))

    def seen(self, record: Record) -> Record:
        """Headers of one key come together, and null ones are as they were."""
        keys = dict.fromkeys(key for key, _ in record.headers)
        together = [(key, value) for wanted in keys for key, value in record.headers if key == wanted]
        return record._replace(headers=tuple(together))

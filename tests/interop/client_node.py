"""kafkajs: its producer and its admin client (node/main.js). Its consumer needs groups."""

import shutil
from pathlib import Path

from tests import toolchain
from tests.interop.client_process import ProcessClient
from tests.interop.records import Record


class KafkajsClient(ProcessClient):
    """Raises:
    ToolchainMissingError: no Node.js, or the packages could not be fetched.
    """

    def __init__(self) -> None:
        program = toolchain.installed_node(Path(__file__).parent / "node")
        super().__init__("kafkajs", [shutil.which("node") or "node", str(program)])

    def sendable(self, record: Record) -> Record:
        """kafkajs keeps headers in an object: those of one key come together, and none is null."""
        keys = dict.fromkeys(key for key, _ in record.headers)
        together = [(key, value or b"") for wanted in keys for key, value in record.headers if key == wanted]
        return record._replace(headers=tuple(together))

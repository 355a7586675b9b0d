"""A controller over a disk in memory, and the same one again after a stop or a crash."""

from __future__ import annotations

from barnabas.metadata.controller import Controller, NodeIdentity
from barnabas.metadata.formatting import LogDirs, open_log_dirs
from barnabas.metadata.image import Endpoint
from barnabas.metadata.metadata_log import MetadataLog, MetadataLogConfig
from barnabas.sim.clock import ManualClock
from barnabas.sim.disk import MemoryDisk
from barnabas.storage.log_directory import LogDirectory
from tests.seeded_entropy import SeededEntropy

DIRECTORY = "/data"
CONTROLLER = Endpoint(name="CONTROLLER", host="localhost", port=9093)


class Node:
    """One node over one disk; `start` may be called again after `stop`, `crash` or `abandon`."""

    def __init__(self, *, seed: int = 1, config: MetadataLogConfig | None = None) -> None:
        self.clock = ManualClock()
        self.disk = MemoryDisk(self.clock)
        self.entropy = SeededEntropy(seed)
        self.config = config or MetadataLogConfig()

    def format(self) -> LogDirs:
        return open_log_dirs(
            disk=self.disk,
            log_dirs=[DIRECTORY],
            metadata_dir=DIRECTORY,
            node_id=1,
            controller_endpoint=CONTROLLER,
            entropy=self.entropy,
            now_ms=self.clock.wall_ms(),
        )

    def start(self, **static_configs: str) -> Controller:
        dirs = self.format()
        log = MetadataLog(
            directory=LogDirectory(self.disk, DIRECTORY),
            node_id=1,
            clock=self.clock,
            entropy=self.entropy,
            config=self.config,
        )
        identity = NodeIdentity(
            node_id=1,
            endpoints=(Endpoint(name="PLAINTEXT", host="localhost", port=9092),),
            controller_endpoint=CONTROLLER,
            log_dirs=tuple(dirs.directory_ids.values()),
            static_configs={name.replace("_", "."): value for name, value in static_configs.items()},
        )
        controller = Controller(log=log, node=identity, clock=self.clock, entropy=self.entropy)
        controller.start()
        return controller

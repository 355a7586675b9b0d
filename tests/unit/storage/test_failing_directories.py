"""F43: a disk that refuses any one operation, of whatever use: its directory goes offline, nothing else
happens.

A script uses two directories in every way a broker does. It is run once for each operation on the one whose
disk fails there, with each error a disk may give; what was acknowledged before must be there after a restart.
"""

import random
from collections.abc import Callable
from typing import Any

import pytest

from barnabas.base.errors import ApiError, ErrorCode
from barnabas.sim.clock import ManualClock
from barnabas.sim.disk import MemoryDisk, MemoryFile
from barnabas.storage.log import Log
from barnabas.storage.log_config import LogConfig
from barnabas.storage.log_directory import LogDirectory
from barnabas.storage.log_manager import LogManager
from tests.storage_setup import FIRST_TIMESTAMP, TOPIC_ID, batch

SIZE = len(batch())
MINUTE_MS = 60_000
ERRORS = {"EIO": 5, "EACCES": 13, "ENOSPC": 28, "EROFS": 30, "ESTALE": 116}


class LookedAtDisk(MemoryDisk):
    """Tells `on_operation` of look-ups, too."""

    def open(self, path: str, *, create: bool = False, exclusive: bool = False) -> MemoryFile:
        self.operation("open", path)
        return super().open(path, create=create, exclusive=exclusive)

    def open_readonly(self, path: str) -> MemoryFile:
        self.operation("open", path)
        return super().open_readonly(path)

    def list_dir(self, path: str) -> list[str]:
        self.operation("list_dir", path)
        return super().list_dir(path)

    def size(self, path: str) -> int:
        self.operation("size", path)
        return super().size(path)

    def mtime_ms(self, path: str) -> int:
        self.operation("mtime", path)
        return super().mtime_ms(path)

    def identity(self, path: str) -> tuple[int, int]:
        self.operation("identity", path)
        return super().identity(path)


class Zeros:
    def random_bytes(self, length: int) -> bytes:
        return bytes(length)

    def random_below(self, limit: int) -> int:
        return 0


class Scene:
    """Logs in /a and /b, and what was acknowledged of each.

    Attributes:
        acknowledged: by log, the offsets behind what was appended.
        started: by log, the offset that was acknowledged as its start.
    """

    def __init__(self) -> None:
        self.clock = ManualClock(FIRST_TIMESTAMP)
        self.disk = LookedAtDisk(self.clock)
        self.config = LogConfig(
            segment_bytes=3 * SIZE, retention_ms=10 * MINUTE_MS, file_delete_delay_ms=1000, flush_messages=5
        )
        self.failed: list[LogDirectory] = []
        self.acknowledged: dict[str, int] = {}
        self.deleted: set[str] = set()
        self.manager: LogManager
        self.manager = self.make()
        self.manager.start()

    def make(self) -> LogManager:
        return LogManager(
            disk=self.disk, clock=self.clock, entropy=Zeros(), directories=["/a", "/b"],
            config_for=lambda _: self.config, on_directory_failure=self.failed.append,
        )  # fmt: skip

    def run(self) -> None:
        """The script. Everything that is refused is refused with KAFKA_STORAGE_ERROR."""
        manager = self.manager
        manager.retention_high_watermark = lambda key: manager.logs[key].log_end_offset
        for number in range(4):
            self.attempt(lambda number=number: manager.get_or_create("t", number, TOPIC_ID, self.config))  # type: ignore[misc]
        for _ in range(3):
            for log in list(manager.logs.values()):
                for _ in range(3):
                    self.attempt(lambda log=log: self.append(log))  # type: ignore[misc]
                self.attempt(lambda log=log: log.offset_for_timestamp(FIRST_TIMESTAMP + MINUTE_MS))  # type: ignore[misc]
                self.attempt(lambda log=log: self.read(log))  # type: ignore[misc]
            self.clock.advance_ms(4 * MINUTE_MS)
            manager.handle_timer(self.clock.monotonic_ms())
            manager.checkpoint_high_watermarks({key: log.log_end_offset for key, log in manager.logs.items()})
        for log in list(manager.logs.values()):
            self.attempt(log.roll)
            self.attempt(lambda log=log: log.delete_records(min(5, log.log_end_offset), log.log_end_offset))  # type: ignore[misc]
            self.attempt(log.flush)
        self.attempt(lambda: self.delete("t", 2))
        self.attempt(lambda: self.delete("t", 3))
        for _ in range(3):
            self.clock.advance_ms(6 * MINUTE_MS)
            manager.handle_timer(self.clock.monotonic_ms())
        for log in list(manager.logs.values()):
            self.attempt(lambda log=log: self.append(log))  # type: ignore[misc]
        manager.flush()

    def attempt(self, call: Callable[[], Any]) -> None:
        try:
            call()
        except ApiError as error:
            if error.code is not ErrorCode.KAFKA_STORAGE_ERROR:
                raise

    def append(self, log: Log) -> None:
        info = log.append([batch(timestamp=self.clock.wall_ms())], leader_epoch=1)
        self.acknowledged[log.name] = info.last_offset + 1

    def read(self, log: Log) -> None:
        data = log.read(log.log_start_offset, log.log_end_offset_metadata, SIZE)
        if data.records is not None:
            try:
                data.records.read()
            except OSError as error:  # on its way to a socket: see SliceErrors
                log.directory.failed(error, "sending")
            data.records.release()

    def delete(self, topic: str, number: int) -> None:
        self.deleted.add(f"{topic}-{number}")
        self.manager.delete(topic, number)

    def check_after_restart(self) -> None:
        """Start anew on what a killed broker left; everything acknowledged is there, and goes on."""
        self.disk.crash(random.Random(0), keep_all=True)
        manager = self.make()
        manager.start()
        for name, end_offset in self.acknowledged.items():
            topic, _, number = name.partition("-")
            log = manager.get(topic, int(number))
            if log is None:
                assert name in self.deleted
                continue
            assert log.log_end_offset >= end_offset, name
            offset = log.log_start_offset
            while offset < log.log_end_offset:
                data = log.read(offset, log.log_end_offset_metadata, 1 << 20)
                assert data.records is not None, (name, offset)
                offset += data.records.length // SIZE
                data.records.release()
            log.append([batch()], leader_epoch=2)
        assert manager.shutdown()


def operations() -> list[tuple[str, str]]:
    """What the script does in /b, in order."""
    scene = Scene()
    done: list[tuple[str, str]] = []
    scene.disk.on_operation = lambda what, path: done.append((what, path)) if path.startswith("/b") else None
    scene.run()
    scene.disk.on_operation = None
    assert not scene.failed
    scene.check_after_restart()
    return done


OPERATIONS = operations()


def test_the_script_does_all_that_may_fail() -> None:
    wanted = {
        "create",
        "write",
        "sync",
        "sync_dir",
        "rename",
        "unlink",
        "open",
        "list_dir",
        "identity",
        "read",
    }
    assert wanted <= {what for what, _ in OPERATIONS}
    parts = (
        ".log", ".index", ".timeindex", ".snapshot", "leader-epoch-checkpoint", "partition.metadata",
        "recovery-point-offset-checkpoint", "replication-offset-checkpoint", "log-start-offset-checkpoint",
        ".deleted", "-delete",
    )  # fmt: skip
    for part in parts:
        assert any(part in path for _, path in OPERATIONS), part


@pytest.mark.parametrize("name", ERRORS)
@pytest.mark.parametrize("lasting", [True, False], ids=["for-good", "once"])
def test_f43_whatever_the_disk_refuses_only_its_directory_goes_offline(
    name: str, lasting: bool, slow: bool
) -> None:
    every = 1 if slow else 8 if name == "EIO" else 40
    first = 7 * list(ERRORS).index(name) % every
    for number in range(first, len(OPERATIONS), every):
        scene = Scene()
        left = number
        failing: tuple[str, str] | None = None

        def on_operation(what: str, path: str) -> None:
            nonlocal left, failing
            if not path.startswith("/b"):
                return
            left -= 1
            if left == -1 or (lasting and left < 0):
                failing = failing or (what, path)
                raise OSError(ERRORS[name], "injected", path)

        scene.disk.on_operation = on_operation
        scene.run()
        where = (number, failing)
        assert failing is not None
        assert [directory.path for directory in scene.failed] == ["/b"], where
        a = scene.manager.directories[0]
        assert a.online, where
        for log in scene.manager.logs.values():
            if log.directory is a:
                assert scene.acknowledged[log.name] == log.log_end_offset == 10, where
        assert scene.manager.shutdown() is False
        assert scene.disk.exists("/a/.kafka_cleanshutdown"), where
        assert not scene.disk.exists("/b/.kafka_cleanshutdown"), where
        scene.disk.on_operation = None
        scene.check_after_restart()


@pytest.mark.parametrize("replaced", [False, True], ids=["gone", "another"])
def test_f43_a_directory_that_vanishes_at_any_moment_is_not_made_again(replaced: bool, slow: bool) -> None:
    for number in range(replaced, len(OPERATIONS), 1 if slow else 11):
        scene = Scene()
        vanish(scene.disk, number, replaced=replaced)
        scene.run()
        where = (number, OPERATIONS[number])
        assert [directory.path for directory in scene.failed] == ["/b"], where
        if replaced:
            # What was being made in that very moment may be there, and nothing else.
            made = OPERATIONS[number][1].removesuffix(".tmp").removeprefix("/b/").partition("/")[0]
            assert set(scene.disk.list_dir("/b")) <= {made}, where
        else:
            assert not scene.disk.exists("/b"), where


def vanish(disk: MemoryDisk, number: int, *, replaced: bool) -> None:
    """Take /b away before the operation of that number, maybe with another directory in its place."""
    left = number

    def on_operation(_: str, path: str) -> None:
        nonlocal left
        left -= path.startswith("/b")
        if left < 0:
            disk.on_operation = None
            disk.rename("/b", "/away")
            if replaced:
                disk.make_dirs("/b")

    disk.on_operation = on_operation


@pytest.mark.parametrize("name", ERRORS)
def test_f43_a_directory_that_fails_while_it_is_loaded_hides_nothing_of_the_other(name: str) -> None:
    loading = 0

    def count(what: str, path: str) -> None:
        nonlocal loading
        loading += path.startswith("/b")

    scene = Scene()
    scene.run()
    scene.disk.crash(random.Random(1), keep_all=True)
    scene.disk.on_operation = count
    scene.make().start()
    for number in range(list(ERRORS).index(name), loading, 5):
        scene = Scene()
        scene.run()
        scene.disk.crash(random.Random(1), keep_all=True)
        left = number

        def on_operation(what: str, path: str) -> None:
            nonlocal left
            left -= path.startswith("/b")
            if left < 0 and path.startswith("/b"):
                raise OSError(ERRORS[name], "injected", path)

        scene.disk.on_operation = on_operation
        manager = scene.make()
        manager.start()
        a, b = manager.directories
        assert a.online
        assert not b.online, number
        assert {log.directory.path for log in manager.logs.values()} == {"/a"}
        with pytest.raises(ApiError, match="may lie on a directory that is offline"):
            manager.get_or_create("unseen", 0, TOPIC_ID, scene.config, is_new=False)
        assert manager.get_or_create("new", 0, TOPIC_ID, scene.config).directory is a
        manager.shutdown()
        scene.disk.on_operation = None
        scene.check_after_restart()

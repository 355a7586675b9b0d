"""The simulated disk behaves as a file system, and loses exactly what was not synced."""

import random
from pathlib import Path

import pytest

from barnabas.base.disk import Disk, OsDisk
from barnabas.base.volume import kernel_version
from barnabas.sim.disk import MemoryDisk


@pytest.fixture(params=["memory", "os"])
def disk_and_root(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> tuple[Disk, str]:
    if request.param == "os":
        return OsDisk(), str(tmp_path_factory.mktemp("disk"))
    return MemoryDisk(), ""


def test_both_disks_do_the_same(disk_and_root: tuple[Disk, str]) -> None:
    disk, root = disk_and_root
    disk.make_dirs(f"{root}/a/b")
    file = disk.open(f"{root}/a/f", create=True)
    assert file.write_at(3, [b"xy", memoryview(b"z")]) == 3
    assert file.read_at(0, 100) == b"\0\0\0xyz"
    buffer = memoryview(bytearray(10))
    assert file.read_into(4, buffer) == 2
    assert bytes(buffer[:2]) == b"yz"
    file.truncate(4)
    assert file.size() == 4
    file.truncate(6)
    assert file.read_at(3, 9) == b"x\0\0"
    disk.rename(f"{root}/a/f", f"{root}/a/b/g")
    assert file.read_at(3, 1) == b"x"
    assert disk.list_dir(f"{root}/a") == ["b"]
    assert disk.is_dir(f"{root}/a/b")
    assert not disk.exists(f"{root}/a/f")
    for wrong in (
        lambda: disk.open(f"{root}/none"),
        lambda: disk.open_readonly(f"{root}/none"),
        lambda: disk.list_dir(f"{root}/none"),
        lambda: disk.unlink(f"{root}/none"),
        lambda: disk.rename(f"{root}/none", f"{root}/x"),
        lambda: disk.open(f"{root}/none/x", create=True),
    ):
        with pytest.raises(FileNotFoundError):
            wrong()
    with pytest.raises(FileExistsError):
        disk.open(f"{root}/a/b/g", create=True, exclusive=True)
    with pytest.raises(OSError, match="not empty"):
        disk.remove_dir(f"{root}/a/b")
    disk.unlink(f"{root}/a/b/g")
    assert file.read_at(3, 1) == b"x"
    disk.remove_dir(f"{root}/a/b")
    assert disk.list_dir(f"{root}/a") == []
    lock = disk.lock(f"{root}/a/.lock")
    assert lock is not None
    assert disk.lock(f"{root}/a/.lock") is None
    lock.close()
    assert disk.lock(f"{root}/a/.lock") is not None
    file.close()
    file.close()


def crashed(seed: int) -> MemoryDisk:
    disk = MemoryDisk()
    disk.make_dirs("/d")
    disk.sync_dir("/")
    file = disk.open("/d/f", create=True)
    file.write_at(0, [b"synced"])
    file.sync()
    disk.sync_dir("/d")
    file.write_at(6, [b"lost?"])
    disk.open("/d/new", create=True).sync()
    disk.crash(random.Random(seed))
    with pytest.raises(OSError, match="crashed"):
        file.read_at(0, 1)
    return disk


def test_what_was_synced_survives_and_the_rest_may_be_kept_dropped_or_torn() -> None:
    contents, names = set(), set()
    for seed in range(200):
        disk = crashed(seed)
        content = disk.open("/d/f").read_at(0, 100)
        assert content.startswith(b"synced")
        contents.add(content)
        names.add(tuple(disk.list_dir("/d")))
    assert {b"synced", b"syncedlost?", b"syncedlo"} <= contents
    assert names == {("f",), ("f", "new")}, "a synced file whose name was not synced may vanish"


def test_the_same_seed_gives_the_same_disk() -> None:
    for seed in range(20):
        first, second = crashed(seed), crashed(seed)
        assert first.open("/d/f").read_at(0, 99) == second.open("/d/f").read_at(0, 99)


def test_a_killed_process_loses_nothing_but_its_open_files() -> None:
    disk = MemoryDisk()
    disk.make_dirs("/d")
    lock = disk.lock("/d/.lock")
    assert lock is not None
    disk.open("/d/f", create=True).write_at(0, [b"x"])
    disk.crash(random.Random(0), keep_all=True)
    assert disk.open("/d/f").read_at(0, 9) == b"x"
    assert disk.lock("/d/.lock") is not None


def test_a_volume_is_synced_whole() -> None:
    disk = MemoryDisk()
    disk.make_dirs("/a/b")
    lock = disk.open("/a/lock", create=True)
    disk.open("/a/b/old", create=True).write_at(0, [b"old"])
    assert lock.sync_volume()
    disk.open("/a/b/new", create=True).write_at(0, [b"new"])
    disk.open("/a/b/old").write_at(0, [b"OLD"])
    for seed in range(20):
        disk.crash(random.Random(seed))
        assert "old" in disk.list_dir("/a/b")
        assert disk.open("/a/b/old").read_at(0, 9).lower() == b"old"
    disk.syncs_volumes = False
    assert not disk.open("/a/lock").sync_volume()


def test_the_systems_volume_is_synced_or_says_that_it_cannot(tmp_path: Path) -> None:
    file = OsDisk().open(str(tmp_path / "f"), create=True)
    assert file.sync_volume() in {True, False}
    file.close()
    with pytest.raises(OSError, match="Bad file descriptor"):
        file.sync_volume()


@pytest.mark.parametrize(
    ("release", "version"),
    [("6.18.44-fc", (6, 18)), ("5.8-rc1", (5, 8)), ("4.4.0", (4, 4)), ("", (0, 0)), ("weird", (0, 0))],
)
def test_kernels_are_told_apart_by_their_release(release: str, version: tuple[int, int]) -> None:
    assert kernel_version(release) == version

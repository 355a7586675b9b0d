"""A disk whose changes nobody else sees: it behaves as a disk, and the one below stays as it is."""

import random

import pytest

from barnabas.base.disk import Disk
from barnabas.base.overlay_disk import OverlayDisk
from barnabas.sim.disk import MemoryDisk

NAMES = ("/d/a", "/d/b", "/d/c")


def content(disk: Disk, path: str) -> bytes:
    file = disk.open_readonly(path)
    try:
        return bytes(file.read_at(0, file.size()))
    finally:
        file.close()


def everything(disk: Disk) -> dict[str, bytes]:
    found = {f"/d/{name}": content(disk, f"/d/{name}") for name in disk.list_dir("/d")}
    assert all(disk.exists(path) and disk.size(path) == len(data) for path, data in found.items())
    return found


def filled() -> MemoryDisk:
    disk = MemoryDisk()
    disk.make_dirs("/d")
    for name, data in (("/d/a", b"alpha" * 10), ("/d/b", b"beta" * 5)):
        file = disk.open(name, create=True)
        file.write_at(0, [data])
        file.close()
    return disk


def change(rng: random.Random, disk: Disk, step: int) -> None:
    """Do one random thing; equal generators do equal things to every disk."""
    what, path = rng.randrange(6), rng.choice(NAMES)
    size, position, data = rng.randrange(60), rng.randrange(40), bytes([step % 256]) * rng.randrange(1, 30)
    target = rng.choice([name for name in NAMES if name != path])
    if what == 5 or not disk.exists(path):
        file = disk.open(path, create=True)
        file.close()
        return
    if what == 0:
        disk.unlink(path)
    elif what == 1:
        disk.rename(path, target)
    else:
        file = disk.open(path)
        if what == 2:
            file.truncate(size)
        elif what == 3:
            file.write_at(min(position, file.size()), [data[:3], data[3:]])
        else:
            assert file.read_at(position, size) == content(disk, path)[position : position + size]
            assert file.size() == disk.size(path)
        file.close()


@pytest.mark.parametrize("seed", range(40))
def test_it_behaves_as_a_disk_and_leaves_the_one_below_alone(seed: int) -> None:
    below, twin = filled(), filled()
    overlay = OverlayDisk(below)
    one, other = random.Random(seed), random.Random(seed)
    for step in range(40):
        change(one, twin, step)
        change(other, overlay, step)
        assert everything(overlay) == everything(twin), f"step {step}"
    assert everything(below) == everything(filled())


def test_what_is_not_changed_is_seen_as_it_comes() -> None:
    below = filled()
    overlay = OverlayDisk(below)
    looked = overlay.open("/d/a")
    written = below.open("/d/a")
    written.write_at(50, [b"more"])
    assert looked.size() == 54
    looked.truncate(52)
    written.write_at(54, [b"still more"])
    assert looked.read_at(0, 100) == b"alpha" * 10 + b"mo"
    looked.close()
    assert content(overlay, "/d/a") == b"alpha" * 10 + b"mo"
    assert len(content(below, "/d/a")) == 64


def test_directories_and_locks_are_in_memory() -> None:
    below = filled()
    overlay = OverlayDisk(below, is_hidden=lambda path: path.endswith("/b"))
    overlay.make_dirs("/d/new/deep")
    assert overlay.is_dir("/d/new/deep")
    assert overlay.list_dir("/d") == ["a", "new"]
    held = below.lock("/d/.lock")
    assert overlay.lock("/d/.lock") is not None
    assert held is not None
    assert not below.exists("/d/new")
    with pytest.raises(OSError, match="only looked at"):
        overlay.rename("/d", "/e")


def test_what_is_not_there_is_told() -> None:
    overlay = OverlayDisk(filled())
    overlay.unlink("/d/a")
    for call in (overlay.open, overlay.open_readonly, overlay.unlink, overlay.size, overlay.mtime_ms):
        with pytest.raises(FileNotFoundError):
            call("/d/a")
    with pytest.raises(FileExistsError):
        overlay.open("/d/b", create=True, exclusive=True)

"""meta.properties of a single directory: any bit of it that flips is named, unless it says the same then."""

from __future__ import annotations

import pytest

from barnabas.cli.doctor.cluster import read_cluster
from barnabas.metadata.formatting import META_PROPERTIES, read_meta_properties
from barnabas.sim.disk import MemoryDisk
from tests.power_loss.machine import ROOT, simulated_parts
from tests.unit.server.simulated_life import SimulatedLife

PATH = f"{ROOT}/{META_PROPERTIES}"


@pytest.fixture(scope="module")
def disk() -> MemoryDisk:
    """A disk that a broker was stopped on."""
    life = SimulatedLife()
    with simulated_parts(life.machine):
        assert life.start().stop_cleanly()
    return life.machine.disk


def said(disk: MemoryDisk, content: bytes) -> list[str]:
    """What the doctor finds when the file says something else."""
    file = disk.open(PATH)
    kept = file.read_at(0, file.size())
    try:
        file.truncate(0)
        file.write_at(0, [content])
        return [finding.cause for finding in read_cluster(disk, [ROOT]).findings]
    finally:
        file.truncate(0)
        file.write_at(0, [kept])
        file.close()


def content_of(disk: MemoryDisk) -> bytes:
    file = disk.open_readonly(PATH)
    try:
        return file.read_at(0, file.size())
    finally:
        file.close()


def test_as_written_it_is_right(disk: MemoryDisk) -> None:
    assert said(disk, content_of(disk)) == []


def test_every_flipped_bit_is_found(disk: MemoryDisk) -> None:
    whole = content_of(disk)
    right = read_meta_properties(disk, ROOT)
    for bit in range(len(whole) * 8):
        flipped = bytearray(whole)
        flipped[bit // 8] ^= 1 << bit % 8
        if not said(disk, bytes(flipped)):
            copy = MemoryDisk()
            copy.make_dirs(ROOT)
            file = copy.open(PATH, create=True)
            file.write_at(0, [flipped])
            assert read_meta_properties(copy, ROOT) == right, bytes(flipped)


def test_the_clusters_id_is_held_against_that_of_the_last_start(disk: MemoryDisk) -> None:
    whole = content_of(disk)
    right = read_meta_properties(disk, ROOT)
    assert right is not None
    other = right.cluster_id.swapcase()
    (cause,) = said(disk, whole.replace(right.cluster_id.encode(), other.encode()))
    assert other in cause
    assert right.cluster_id in cause


def test_another_brokers_lock_file_tells_nothing(disk: MemoryDisk) -> None:
    lock = disk.open(f"{ROOT}/.lock")
    kept = lock.read_at(0, lock.size())
    try:
        lock.truncate(0)
        right = read_meta_properties(disk, ROOT)
        assert right is not None
        other = right.cluster_id.swapcase()
        assert said(disk, content_of(disk).replace(right.cluster_id.encode(), other.encode())) == []
    finally:
        lock.write_at(0, [kept])
        lock.close()


@pytest.mark.parametrize("line", ["version=1", "cluster.id", "node.id"])
def test_what_is_missing_is_named(disk: MemoryDisk, line: str) -> None:
    kept = [each for each in content_of(disk).decode().splitlines() if not each.startswith(line)]
    (cause,) = said(disk, "\n".join(kept).encode())
    assert line.partition("=")[0] in cause

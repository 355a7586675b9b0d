"""quorum-state as both brokers write it, and as somebody may have damaged it."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from barnabas.metadata.quorum_state import (
    FILE_NAME,
    QuorumState,
    _fields,
    read_quorum_state,
    write_quorum_state,
)
from barnabas.metadata.records import MetadataError
from barnabas.sim.disk import MemoryDisk

PIECES = st.sampled_from(
    ["{", "}", "[", "]", ",", ":", '"', "\\", " ", "-", "0", "1", "12", "007", "1.5", "1e3", "null", "true",
     '"a"', '"data_version"', '"\u00e9"', "\n", '"a":1', '{"a":1}', '"b":"c"'])  # fmt: skip


def test_what_is_written_is_read_in_both_versions() -> None:
    disk = MemoryDisk()
    disk.make_dirs("/d")
    for version, voters in ((0, (1,)), (1, ())):
        state = QuorumState(leader_id=1, leader_epoch=7, data_version=version, voters=voters)
        write_quorum_state(disk, "/d", state, [1])
        assert read_quorum_state(disk, "/d") == state


@given(st.lists(PIECES, max_size=12).map("".join))
def test_every_text_is_read_as_json_reads_it(text: str) -> None:
    try:
        expected = json.loads(text)
    except ValueError:
        with pytest.raises(ValueError):
            _fields(text)
    else:
        assert _fields(text) == expected


@pytest.mark.parametrize(
    "text", ["", "{", "[]", "1", '{"leaderId":1}', '{"data_version":7}', '{"data_version":"x"}']
)
def test_damage_is_told(text: str) -> None:
    disk = MemoryDisk()
    disk.make_dirs("/d")
    disk.open(f"/d/{FILE_NAME}", create=True).write_at(0, [text.encode()])
    with pytest.raises(MetadataError, match="quorum-state"):
        read_quorum_state(disk, "/d")

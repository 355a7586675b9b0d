"""What lies beside the metadata log: its snapshots, and who led it last."""

import json
from collections.abc import Iterator

from barnabas.base.disk import Disk
from barnabas.base.uuids import NULL_UUID, uuid_text
from barnabas.cli.doctor.batches import SegmentPlace, SegmentScan
from barnabas.cli.doctor.findings import NO_LOSS, Finding, Fix, Severity
from barnabas.metadata.quorum_state import FILE_NAME as QUORUM_STATE_FILE
from barnabas.metadata.quorum_state import read_quorum_state
from barnabas.metadata.records import MetadataError
from barnabas.metadata.snapshots import SUFFIX, read_snapshot_file

_EVERYTHING = 2**63 - 1
_COMMON = {"leaderId", "leaderEpoch", "votedId", "data_version"}
_FIELDS = {
    0: _COMMON | {"clusterId", "appliedOffset", "currentVoters"},
    1: _COMMON | {"votedDirectoryId"},
}


def check_metadata_files(disk: Disk, path: str, last_epoch: int) -> Iterator[Finding]:
    """Check the snapshots and quorum-state of a metadata log.

    Args:
        path: its directory.
        last_epoch: of its last batch; -1 without one.
    """
    snapshots = [name for name in disk.list_dir(path) if name.endswith(SUFFIX)]
    for name in snapshots:
        yield from check_snapshot(disk, f"{path}/{name}", is_newest=name == snapshots[-1])
    yield from _check_quorum_state(disk, path, last_epoch)


def check_snapshot(disk: Disk, path: str, *, is_newest: bool) -> Iterator[Finding]:
    """Check a snapshot: each of its batches, and that it is whole."""
    file = disk.open_readonly(path)
    try:
        place = SegmentPlace(path=path, base_offset=0, limit=None, gaps=False, synced_to=_EVERYTHING)
        scan = SegmentScan(file, place, 0)
        for _ in scan:
            pass
    finally:
        file.close()
    severity = Severity.START if is_newest else Severity.DAMAGE
    found = scan.findings
    for finding in found:
        if finding.fix is Fix.RESTORE:
            yield finding
        else:
            # A part of a state is none: a start refuses it.
            yield Finding(
                severity=severity,
                kind="metadata-snapshot",
                file=path,
                position=finding.position,
                cause=finding.cause,
                loss=NO_LOSS,
            )
    if not found:
        try:
            read_snapshot_file(disk, path)
        except MetadataError as error:
            yield Finding(severity=severity, kind="metadata-snapshot", file=path, cause=str(error))


def _check_quorum_state(disk: Disk, path: str, last_epoch: int) -> Iterator[Finding]:
    name = f"{path}/{QUORUM_STATE_FILE}"
    cause = None
    try:
        state = read_quorum_state(disk, path)
    except MetadataError as error:
        cause = str(error)
    else:
        if state is not None and not _is_as_written(disk, name):
            cause = "has not the fields that a broker writes, or a vote that is none"
        elif state is not None and state.leader_epoch < last_epoch:
            cause = f"says that epoch {state.leader_epoch} is the latest; the log has one of {last_epoch}"
    if cause is not None:
        yield Finding(severity=Severity.START, kind="quorum-state", file=name, cause=cause, fix=Fix.SET_ASIDE)


def _is_as_written(disk: Disk, path: str) -> bool:
    """Whether the fields are those of its version, and who was voted for and where fit each other."""
    file = disk.open_readonly(path)
    try:
        content = file.read_at(0, file.size())
    finally:
        file.close()
    fields = json.loads(content)
    if min(content) < ord(" "):
        return False
    if set(fields) != _FIELDS[fields["data_version"]] or fields["votedId"] < -1:
        return False
    voted = fields.get("votedDirectoryId")
    return voted is None or fields["votedId"] >= 0 or voted == uuid_text(NULL_UUID)

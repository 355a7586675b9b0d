"""The file `quorum-state`: who leads the metadata quorum, in which epoch.

A single node elects itself: each start takes an epoch beyond the file's and the log's, so no two runs ever
append in the same one. Version 0 of the file belongs to quorums whose voters
are configured (kraft.version 0), version 1 to those whose voters are in the log (KIP-853).
"""

from __future__ import annotations

from barnabas.base.dataclass import dataclass
from barnabas.base.disk import Disk, replace_file
from barnabas.base.hints import Any, Final
from barnabas.base.uuids import NULL_UUID, uuid_text
from barnabas.metadata.records import MetadataError

FILE_NAME: Final = "quorum-state"
FILE_BYTES_MAX: Final = 1024 * 1024


@dataclass(frozen=True, slots=True, kw_only=True)
class QuorumState:
    """What the file holds, as far as one node needs it.

    Attributes:
        voters: ids of the configured voters; version 0 only.
    """

    leader_id: int = -1
    leader_epoch: int = 0
    data_version: int = 1
    voters: tuple[int, ...] = ()


def read_quorum_state(disk: Disk, directory: str) -> QuorumState | None:
    """Return the state; None when there is no file.

    Raises:
        MetadataError: the file is damaged, or of a version this broker does not read.
    """
    path = f"{directory}/{FILE_NAME}"
    if not disk.exists(path):
        return None
    file = disk.open_readonly(path)
    try:
        if file.size() > FILE_BYTES_MAX:
            raise MetadataError(f"{path} is {file.size()} bytes long, which no quorum state is")
        content = file.read_at(0, file.size())
    finally:
        file.close()
    try:
        fields = _fields(content.decode("utf-8"))
        version = fields["data_version"]
        state = QuorumState(
            leader_id=int(fields["leaderId"]),
            leader_epoch=int(fields["leaderEpoch"]),
            data_version=int(version),
            voters=tuple(int(voter["voterId"]) for voter in fields.get("currentVoters") or ()),
        )
    except (ValueError, KeyError, TypeError) as error:
        raise MetadataError(f"{path} is damaged: {error}") from error
    if state.data_version not in (0, 1) or state.leader_epoch < 0:
        raise MetadataError(f"{path} has data_version {version}; this broker reads versions 0 and 1")
    return state


def write_quorum_state(disk: Disk, directory: str, state: QuorumState, voters: list[int]) -> None:
    """Replace the file; which of the two a crash leaves is certain once the directory is synced.

    Args:
        voters: ids, written in version 0 only.
    """
    head = f'"leaderId":{state.leader_id},"leaderEpoch":{state.leader_epoch},"votedId":-1'
    if state.data_version == 0:
        listed = ",".join(f'{{"voterId":{voter}}}' for voter in voters)
        text = f'{{"clusterId":"",{head},"appliedOffset":0,"currentVoters":[{listed}],"data_version":0}}'
    else:
        text = f'{{{head},"votedDirectoryId":"{uuid_text(NULL_UUID)}","data_version":1}}'
    replace_file(disk, f"{directory}/{FILE_NAME}", text.encode())


def _fields(text: str) -> dict[str, Any]:
    """Return an object's fields.

    What both brokers write for version 1 is read by hand: json, with re and enum, costs each start 4 ms.

    Raises:
        ValueError: it is no JSON.
    """
    fields = _flat_fields(text)
    if fields is None:
        import json  # noqa: PLC0415

        fields = json.loads(text)
    return fields


def _flat_fields(text: str) -> dict[str, Any] | None:
    """Return the fields of an object of plain numbers and strings without blanks; None for any other text."""
    if not (text.startswith("{") and text.endswith("}") and text.isascii() and text.isprintable()):
        return None
    fields: dict[str, Any] = {}
    for field in text[1:-1].split(","):
        name, _, value = field.partition(":")
        if not _is_plain_string(name):
            return None
        if _is_plain_string(value):
            fields[name[1:-1]] = value[1:-1]
        elif value.removeprefix("-").isdecimal() and str(int(value)) == value:
            fields[name[1:-1]] = int(value)
        else:
            return None
    return fields


def _is_plain_string(text: str) -> bool:
    return len(text) > 1 and text[0] == text[-1] == '"' and '"' not in text[1:-1] and "\\" not in text

"""UpdateFeatures: finalised levels up and down, with Apache Kafka's checks (KIP-584, KIP-1022)."""

from __future__ import annotations

from collections.abc import Sequence

from barnabas.base.dataclass import dataclass
from barnabas.base.enums import IntEnum
from barnabas.base.errors import ApiError, ErrorCode
from barnabas.metadata.features import KRAFT_VERSION, SUPPORTED_FEATURES
from barnabas.metadata.image import METADATA_VERSION, MetadataImage
from barnabas.metadata.records import VersionedRecord
from barnabas.protocol import messages


class UpgradeType(IntEnum):
    """How much a feature update may lose."""

    UNKNOWN = 0
    UPGRADE = 1
    SAFE_DOWNGRADE = 2
    UNSAFE_DOWNGRADE = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class FeatureUpdate:
    """One feature to finalise at `level`; level 0 removes it."""

    feature: str
    level: int
    upgrade_type: int = UpgradeType.UPGRADE


def plan_features(
    updates: Sequence[FeatureUpdate], *, image: MetadataImage, node_id: int, kraft_version: int
) -> list[VersionedRecord]:
    """Return the records that finalise all updates; one that is wrong fails them all.

    Raises:
        ApiError: INVALID_UPDATE_VERSION.
    """
    records = []
    for update in updates:
        try:
            record = _plan(update, image, node_id, kraft_version)
        except ApiError as error:
            raise ApiError(
                error.code,
                "The update failed for all features since the following feature had an error: "
                f"{error.message}",
            ) from error
        if record is not None:
            records.append(record)
    return records


def _plan(
    update: FeatureUpdate, image: MetadataImage, node_id: int, kraft_version: int
) -> VersionedRecord | None:
    name, level = update.feature, update.level

    def refuse(why: str) -> ApiError:
        text = f"Invalid update version {level} for feature {name}. {why}"
        return ApiError(ErrorCode.INVALID_UPDATE_VERSION, text)

    upgrade_types = (UpgradeType.UPGRADE, UpgradeType.SAFE_DOWNGRADE, UpgradeType.UNSAFE_DOWNGRADE)
    if update.upgrade_type not in upgrade_types:
        raise refuse("The controller does not support the given upgrade type.")
    current = kraft_version if name == KRAFT_VERSION else image.features.get(name, 0)
    is_upgrade = update.upgrade_type == UpgradeType.UPGRADE
    if level == 0 and name not in SUPPORTED_FEATURES and current == 0:
        raise refuse(f"Feature {name} not found.")
    if level < 0:
        raise refuse("A feature version cannot be less than 0.")
    supported = SUPPORTED_FEATURES.get(name)
    if supported is None:
        raise refuse(f"Local controller {node_id} does not support this feature.")
    if not supported[0] <= level <= supported[1]:
        raise refuse(f"Local controller {node_id} only supports versions {supported[0]}-{supported[1]}")
    if level < current and is_upgrade:
        raise refuse(
            "Can't downgrade the version of this feature without setting the upgrade type to either safe or "
            "unsafe downgrade."
        )
    if name == KRAFT_VERSION:
        if level < current:
            raise refuse("Can't downgrade the version of this feature.")
        if level > current:
            raise refuse("This broker does not turn configured voters into recorded ones.")
        return None
    if name == METADATA_VERSION and level < current:
        _refuse_metadata_downgrade(update, current)
    if level == current:
        return None
    return VersionedRecord(messages.FeatureLevelRecord(name=name, feature_level=level))


def _refuse_metadata_downgrade(update: FeatureUpdate, current: int) -> None:
    """Records of a newer release could not be read by the older one; this broker keeps what it has."""
    what = f"Unsupported metadata.version downgrade from {current} to {update.level}."
    if update.upgrade_type == UpgradeType.UNSAFE_DOWNGRADE:
        why = "Unsafe metadata downgrade is not supported in this version."
    else:
        why = "Refusing to perform the requested downgrade because it might delete metadata information."
    raise ApiError(ErrorCode.INVALID_UPDATE_VERSION, f"{what} {why}")

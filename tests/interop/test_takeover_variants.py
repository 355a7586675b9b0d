"""Directories that Apache Kafka formatted, upgraded and secured in other ways than we do.

What is not ours to act on (users, ACLs, quotas) is kept for its next start.
"""

from collections.abc import Iterator
from pathlib import Path

import pytest
from confluent_kafka.admin import (
    AclBinding,
    AclBindingFilter,
    AclOperation,
    AclPermissionType,
    ResourcePatternType,
    ResourceType,
    ScramCredentialInfo,
    ScramMechanism,
    UserScramCredentialUpsertion,
)

from barnabas.protocol import messages as m
from tests import toolchain
from tests.broker import BarnabasBroker
from tests.interop.round_trip import cluster_state
from tests.interop.round_trip.contents import COMMITTED, read_all
from tests.interop.round_trip.producers import Expected, Sequenced
from tests.net.wire import Wire
from tests.oracle.kafka import KafkaBroker
from tests.oracle.kafka_tools import STORAGE, dump_log, shared_tools

pytestmark = [pytest.mark.interop, pytest.mark.java, pytest.mark.slow, pytest.mark.timeout(600)]

CLUSTER_ID = "variantkafkavariants0w"
CONFIGS = {"offsets.topic.num.partitions": "5", "transaction.state.log.num.partitions": "5"}
AUTHORIZED = {
    "authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
    "super.users": "User:ANONYMOUS",
    "allow.everyone.if.no.acl.found": "true",
}
FORMATS: dict[str, list[str]] = {
    "4.4": ["--standalone"],
    "3.9": ["--standalone", "--release-version", "3.9"],
    "4.0": ["--standalone", "--release-version", "4.0"],
    "4.2": ["--standalone", "--release-version", "4.2"],
    "no-features": [
        "--standalone",
        "--feature",
        "transaction.version=0",
        "--feature",
        "group.version=0",
        "--feature",
        "eligible.leader.replicas.version=0",
    ],
    "configured-voters": [],
    "user": ["--standalone", "--add-scram", "SCRAM-SHA-256=[name=alice,password=alice-secret]"],
}


class Pair:
    """Both brokers over one set of directories."""

    def __init__(self, directory: Path, how: str) -> None:
        self.roots = [directory / "one", directory / "two"]
        self.metadata_dir = directory / "metadata"
        shared = {
            **CONFIGS,
            "log.dirs": ",".join(map(str, self.roots)),
            "metadata.log.dir": str(self.metadata_dir),
        }
        self.theirs = KafkaBroker(
            directory / "theirs", data_dir=self.metadata_dir, overrides={**shared, **AUTHORIZED}
        )
        if how == "configured-voters":
            voters = {"controller.quorum.voters": f"1@127.0.0.1:{self.theirs.controller_port}"}
            self.theirs._overrides |= voters
            shared |= voters
        self.ours = BarnabasBroker(
            directory / "ours", data_dir=self.roots[0], overrides={"node.id": "1", **shared}
        )
        self._format(FORMATS[how], how)
        self.expected = Expected()
        self.producer = Sequenced("sequenced", 3, self.expected)

    def _format(self, arguments: list[str], how: str) -> None:
        self.theirs.write_properties()
        properties = self.theirs.properties_path
        if how == "configured-voters":
            lines = [
                line
                for line in properties.read_text().splitlines()
                if not line.startswith("controller.quorum.bootstrap")
            ]
            properties.write_text("\n".join(lines) + "\n")
        done = shared_tools().run(STORAGE, "format", "-t", CLUSTER_ID, "-c", str(properties), *arguments)
        assert done.status == 0, done.out + done.err

    def check(self, broker: BarnabasBroker | KafkaBroker) -> None:
        found = read_all(broker.bootstrap, {"sequenced": 3}, COMMITTED)
        assert found == self.expected.committed


@pytest.fixture(params=FORMATS)
def pair(tmp_path: Path, request: pytest.FixtureRequest) -> Iterator[Pair]:
    try:
        toolchain.kafka_classpath()
    except toolchain.ToolchainMissingError as missing:
        toolchain.unavailable(str(missing))
    made = Pair(tmp_path, request.param)
    yield made
    made.ours.kill()
    made.theirs.kill()


def features(port: int) -> dict[str, int]:
    """Finalised levels, as ApiVersions tells them."""
    with Wire(port) as wire:
        answer = wire.ask(m.ApiVersionsRequest(client_software_name="t", client_software_version="1"), 4)
    return {one.name: one.max_version_level for one in answer.finalized_features}


def upgrade(port: int, **levels: int) -> None:
    """Finalise levels; names with _ for dots."""
    updates = [
        m.UpdateFeaturesRequestFeatureUpdateKey(
            feature=name.replace("_", "."), max_version_level=level, upgrade_type=1
        )
        for name, level in levels.items()
    ]
    with Wire(port) as wire:
        answer = wire.ask(m.UpdateFeaturesRequest(timeout_ms=10_000, feature_updates=updates), 2)
    assert answer.error_code == 0, answer


def secure(broker: KafkaBroker) -> None:
    """Make a user, an ACL and a quota."""
    admin = cluster_state.admin_of(broker)
    credential = UserScramCredentialUpsertion(
        "bob", ScramCredentialInfo(ScramMechanism.SCRAM_SHA_512, 4096), b"secret"
    )
    for answer in admin.alter_user_scram_credentials([credential]).values():
        answer.result(30)
    for answer in admin.create_acls([rule()]).values():
        answer.result(30)
    entity = m.AlterClientQuotasRequestEntityData(entity_type="user", entity_name="bob")
    change = m.AlterClientQuotasRequestOpData(key="producer_byte_rate", value=1e6, remove=False)
    entry = m.AlterClientQuotasRequestEntryData(entity=[entity], ops=[change])
    with Wire(broker.port) as wire:
        answer = wire.ask(m.AlterClientQuotasRequest(entries=[entry], validate_only=False), 1)
    assert answer.entries[0].error_code == 0, answer


def rule() -> AclBinding:
    return AclBinding(
        ResourceType.TOPIC,
        "sequenced",
        ResourcePatternType.LITERAL,
        "User:bob",
        "*",
        AclOperation.READ,
        AclPermissionType.DENY,
    )


def secrets_of(broker: KafkaBroker) -> tuple[list[str], int, int]:
    """Users, the number of ACLs, the number of quotas."""
    admin = cluster_state.admin_of(broker)
    every = AclBindingFilter(
        ResourceType.ANY, None, ResourcePatternType.ANY, None, None, AclOperation.ANY, AclPermissionType.ANY
    )
    acls = admin.describe_acls(every).result(30)
    users = admin.describe_user_scram_credentials().result(30)
    component = m.DescribeClientQuotasRequestComponentData(entity_type="user", match_type=2)
    with Wire(broker.port) as wire:
        answer = wire.ask(m.DescribeClientQuotasRequest(components=[component], strict=False), 1)
    return sorted(users), len(acls), len(answer.entries or ())


def test_directories_of_other_formats_go_there_and_back(pair: Pair, request: pytest.FixtureRequest) -> None:
    ours, theirs = pair.ours, pair.theirs
    ours.start()
    before = features(ours.port)
    cluster_state.make_topics(ours, {"sequenced": (3, {})})
    pair.producer.write(ours, 3)
    ours.stop()

    theirs.start()
    assert features(theirs.port) == before
    pair.check(theirs)
    pair.producer.write(theirs, 3)
    secure(theirs)
    held = secrets_of(theirs)
    assert "bob" in held[0]
    upgrade(theirs.port, metadata_version=33)
    upgraded = features(theirs.port)
    assert upgraded["metadata.version"] == 33
    theirs.kill()

    ours.start()
    assert features(ours.port) == upgraded
    pair.check(ours)
    pair.producer.write(ours, 3)
    # A snapshot of ours has to hold what is not ours, too.
    for number in range(400):
        cluster_state.set_config(
            ours, ResourceType.TOPIC, "sequenced", "retention.ms", str(10**9 + number % 7 + number)
        )
    ours.stop()
    metadata = pair.metadata_dir / "__cluster_metadata-0"
    dump_log(*metadata.glob("*.log"), *metadata.glob("*.checkpoint"), extra=("--cluster-metadata-decoder",))

    theirs.start()
    assert secrets_of(theirs) == held
    assert features(theirs.port) == upgraded
    pair.check(theirs)
    pair.producer.write(theirs, 3)
    pair.check(theirs)
    theirs.stop()

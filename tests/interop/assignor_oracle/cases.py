"""The groups that both sides assign, and the topics that both hash: drawn from a fixed seed.

Each group lives through several rounds: what came out of one is the target that members have in the next, in
which members come and go, topics grow, and subscriptions change. So stickiness is compared as well. A case is
a line that the oracle reads (AssignorOracle.java); the next round needs the answer to the last one, which is
ours.

Topic ids are small numbers. Apache Kafka takes topics in the order of a hash table and so it takes these in
ascending order, as we do always; what both may decide freely they then decide alike.
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Mapping
from pathlib import Path

from barnabas.base.uuids import uuid_from_text, uuid_text
from barnabas.coordinator.assignors.assignments import MemberSpec, Partitions
from barnabas.coordinator.assignors.assignor import ASSIGNORS
from barnabas.coordinator.consumer.topics import GroupTopics, topic_hash
from barnabas.metadata.image import MetadataDelta, MetadataImage
from barnabas.metadata.records import VersionedRecord
from barnabas.protocol import messages

RECORD = Path(__file__).parents[2] / "golden" / "assignors.txt.gz"
"""What Apache Kafka answered: a line for each case, assignments first."""

SEED = 848
GROUPS = 400
ROUNDS = 5
HASHES = 100
TOPICS_MAX = 6
PARTITIONS_MAX = 12
MEMBERS_MAX = 7

Members = dict[str, MemberSpec]


def cases() -> list[tuple[str, str]]:
    """Return all cases: the line to ask with, and our answer."""
    return [*assignments(), *hashes()]


def assignments() -> Iterator[tuple[str, str]]:
    """Yield each case: the line to ask with, and our answer."""
    draw = random.Random(SEED)
    for number in range(GROUPS):
        assignor = draw.choice(["uniform", "uniform", "range"])
        mixed = draw.random() < 0.6
        counts = {_topic_id(n): draw.randint(1, PARTITIONS_MAX) for n in range(draw.randint(1, TOPICS_MAX))}
        members: Members = {}
        for _ in range(ROUNDS):
            members = _next_members(draw, number, members, counts, mixed)
            same = len({spec.topic_ids for spec in members.values()}) == 1
            targets = ASSIGNORS[assignor](members, same, counts)
            kind = "SAME" if same else "MIXED"
            yield "\t".join(["assign", assignor, kind, _counts(counts), _members(members)]), _told(targets)
            members = {
                name: MemberSpec(topic_ids=spec.topic_ids, target=targets[name], instance_id=spec.instance_id)
                for name, spec in members.items()
            }
            if draw.random() < 0.4:
                counts[draw.choice(list(counts))] += draw.randint(1, 4)


def hashes() -> Iterator[tuple[str, str]]:
    """Yield each case: the line to ask with, and our answer."""
    for line in _hash_lines():
        yield line, _hashed(line)


def _hash_lines() -> Iterator[str]:
    draw = random.Random(SEED + 1)
    names = ["a", "orders", "orders-2", "x" * 249, "Z.z_9"]
    racks = ["a", "rack-1", "eu-west-1b", "r" * 40, "ü"]
    for _ in range(HASHES):
        topics = []
        for name in draw.sample(names, draw.randint(0, len(names))):
            partitions = [
                ".".join(draw.choice(racks) for _ in range(draw.randint(0, 4))) or "0"
                for _ in range(draw.choice([1, 1, 3, 50]))
            ]
            topics.append(f"{uuid_text(draw.randbytes(16))}:{name}:{','.join(partitions)}")
        yield "hash\t" + (";".join(topics) or "-")


def _hashed(line: str) -> str:
    """Answer a line as the oracle does: the hash of each topic in the order of names, and that of all."""
    image = MetadataImage()
    delta = MetadataDelta()
    brokers: dict[str, int] = {}
    for topic in line.split("\t")[1].split(";"):
        if topic == "-":
            continue
        text, name, partitions = topic.split(":")
        topic_id = uuid_from_text(text)
        image.replay(VersionedRecord(messages.TopicRecord(name=name, topic_id=topic_id)), delta)
        for number, racks in enumerate(partitions.split(",")):
            replicas = [brokers.setdefault(rack, len(brokers)) for rack in racks.split(".") if rack != "0"]
            record = messages.PartitionRecord(topic_id=topic_id, partition_id=number, replicas=replicas)
            image.replay(VersionedRecord(record), delta)
    for rack, broker_id in brokers.items():
        registration = messages.RegisterBrokerRecord(broker_id=broker_id, rack=rack)
        image.replay(VersionedRecord(registration), delta)
    topics = GroupTopics(image)
    signed = [_signed(topic_hash(image.topics[name], image)) for name in sorted(image.topics)]
    return " ".join(map(str, [*signed, topics.metadata_hash(image.topics)]))


def _signed(value: int) -> int:
    return value - 2**64 if value >= 2**63 else value


def _topic_id(number: int) -> bytes:
    return (number + 1).to_bytes(16, "big")


def _next_members(
    draw: random.Random, group: int, members: Members, counts: Mapping[bytes, int], mixed: bool
) -> Members:
    """Let some members leave, some come, and some change what they subscribe to."""
    everything = frozenset(counts)
    stay = {name: spec for name, spec in members.items() if draw.random() < 0.8}
    while not stay or (draw.random() < 0.5 and len(stay) < MEMBERS_MAX):
        name = f"member-{group}-{draw.randrange(10**9):09}"
        instance_id = f"instance-{draw.randrange(10**6)}" if draw.random() < 0.3 else None
        stay[name] = MemberSpec(topic_ids=everything, target={}, instance_id=instance_id)
    some = frozenset(draw.sample(sorted(everything), draw.randint(1, len(everything))))
    changed = {}
    for name, spec in stay.items():
        if mixed:
            few = frozenset(draw.sample(sorted(everything), draw.randint(0, len(everything))))
            topic_ids = few if not spec.target or draw.random() < 0.3 else spec.topic_ids
        else:
            topic_ids = some
        changed[name] = MemberSpec(topic_ids=topic_ids, target=spec.target, instance_id=spec.instance_id)
    return changed


def _counts(counts: Mapping[bytes, int]) -> str:
    return ";".join(f"{uuid_text(topic_id)}={count}" for topic_id, count in counts.items())


def _members(members: Members) -> str:
    return ";".join(
        ":".join(
            [
                name,
                spec.instance_id or "-",
                ",".join(map(uuid_text, sorted(spec.topic_ids))) or "-",
                _partitions(spec.target),
            ]
        )
        for name, spec in members.items()
    )


def _partitions(partitions: Partitions) -> str:
    texts = {
        uuid_text(topic_id): ".".join(map(str, sorted(numbers)))
        for topic_id, numbers in partitions.items()
        if numbers
    }
    return ",".join(f"{topic}={numbers}" for topic, numbers in sorted(texts.items())) or "-"


def _told(targets: Mapping[str, Partitions]) -> str:
    return ";".join(f"{name}:{_partitions(target)}" for name, target in sorted(targets.items()))

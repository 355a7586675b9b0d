"""A member by aiokafka: `python -m tests.interop.groups.member_aiokafka name=value ...`.

Its listener runs beside the loop that takes records, so a lock keeps partitions from being given back between
a batch and its commit.
"""

import asyncio
import sys
from typing import Any

from aiokafka import AIOKafkaConsumer, ConsumerRebalanceListener, TopicPartition
from aiokafka.errors import KafkaError

from tests.interop.groups.talk import POLL_MS, Commands, Settings, say, say_committed, settings_of


class Listener(ConsumerRebalanceListener):  # type: ignore[misc]
    def __init__(self, busy: asyncio.Lock) -> None:
        self._busy = busy
        self.owned: set[int] = set()

    async def on_partitions_revoked(self, revoked: Any) -> None:
        async with self._busy:
            if revoked:
                say("revoked", partitions=sorted(one.partition for one in revoked))
            self.owned.clear()

    async def on_partitions_assigned(self, assigned: Any) -> None:
        self.owned = {one.partition for one in assigned}
        say("assigned", partitions=sorted(self.owned))


def consumer_of(settings: Settings) -> AIOKafkaConsumer:
    return AIOKafkaConsumer(
        bootstrap_servers=settings.bootstrap,
        group_id=settings.group,
        group_instance_id=settings.instance,
        session_timeout_ms=settings.session_ms,
        heartbeat_interval_ms=settings.heartbeat_ms,
        max_poll_interval_ms=settings.max_poll_ms,
        rebalance_timeout_ms=settings.max_poll_ms,
        enable_auto_commit=False,
        auto_offset_reset="earliest",
        metadata_max_age_ms=1000,
    )


async def commit(consumer: AIOKafkaConsumer, topic: str, offsets: dict[int, int]) -> None:
    if not offsets:
        return
    try:
        await consumer.commit(
            {TopicPartition(topic, partition): offset for partition, offset in offsets.items()}
        )
    except (KafkaError, ValueError) as failed:
        say_committed(offsets, failed)
    else:
        say_committed(offsets)


async def main(settings: Settings) -> None:
    commands = Commands()
    busy = asyncio.Lock()
    listener = Listener(busy)
    positions: dict[int, int] = {}
    consumer = consumer_of(settings)
    await consumer.start()
    say("started")
    consumer.subscribe([settings.topic], listener=listener)
    while True:
        match commands.next():
            case ["close"]:
                say("closing")
                await consumer.stop()
                say("closed")
                return
            case ["commit"]:
                await commit(consumer, settings.topic, positions)
            case ["pause", seconds]:
                say("paused")
                await asyncio.sleep(float(seconds))
                say("resumed")
        found = await consumer.getmany(timeout_ms=POLL_MS, max_records=500)
        async with busy:
            batch: dict[int, int] = {}
            for messages in found.values():
                for message in messages:
                    partition, offset = message.partition, message.offset
                    if partition in listener.owned:
                        say("record", partition=partition, offset=offset, value=message.value.decode())
                        batch[partition] = offset + 1
            positions.update(batch)
            await commit(consumer, settings.topic, batch)


if __name__ == "__main__":
    asyncio.run(main(settings_of(sys.argv[1:])))

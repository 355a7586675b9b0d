"""Counts words as Python's stream processors do, on aiokafka: a table, its changelog, at least once.

    python -m tests.interop.groups.word_count BOOTSTRAP GROUP LINES COUNTS

A member reads lines, counts words in a table, writes each new count to the topic COUNTS, which is the table's
changelog as well, and commits after each batch, once all counts are stored. When it is given a partition it
first reads that partition of the changelog. Lines and words are parted alike: a line holds words of its own
partition only, so that a table's part has one owner. It says "ready" when it has partitions and "done N"
after each batch.
"""

import asyncio
import sys
from typing import Any

from aiokafka import AIOKafkaConsumer, AIOKafkaProducer, ConsumerRebalanceListener, TopicPartition


class Table(ConsumerRebalanceListener):  # type: ignore[misc]
    """The counts of the partitions that this member owns."""

    def __init__(self, bootstrap: str, changelog: str) -> None:
        self._bootstrap = bootstrap
        self._changelog = changelog
        self.counts: dict[int, dict[str, int]] = {}
        self.ready = asyncio.Event()

    async def on_partitions_revoked(self, revoked: Any) -> None:
        self.ready.clear()
        self.counts.clear()

    async def on_partitions_assigned(self, assigned: Any) -> None:
        partitions = [TopicPartition(self._changelog, one.partition) for one in assigned]
        reader = AIOKafkaConsumer(bootstrap_servers=self._bootstrap, auto_offset_reset="earliest")
        async with reader:
            if partitions:
                reader.assign(partitions)
                await self._restore(reader, partitions)
        self.ready.set()
        print("ready", len(partitions), flush=True)

    async def _restore(self, reader: AIOKafkaConsumer, partitions: list[TopicPartition]) -> None:
        ends = await reader.end_offsets(partitions)
        self.counts = {one.partition: {} for one in partitions}
        while any([await reader.position(one) < ends[one] for one in partitions]):
            for one, messages in (await reader.getmany(timeout_ms=200)).items():
                for message in messages:
                    self.counts[one.partition][message.key.decode()] = int(message.value)


async def main(bootstrap: str, group: str, lines: str, counts: str) -> None:
    table = Table(bootstrap, counts)
    consumer = AIOKafkaConsumer(
        bootstrap_servers=bootstrap,
        group_id=group,
        enable_auto_commit=False,
        auto_offset_reset="earliest",
        session_timeout_ms=6000,
        heartbeat_interval_ms=500,
    )
    producer = AIOKafkaProducer(bootstrap_servers=bootstrap, enable_idempotence=True, linger_ms=5)
    async with producer, consumer:
        consumer.subscribe([lines], listener=table)
        while True:
            batch = await consumer.getmany(timeout_ms=200, max_records=50)
            # Records may come before the listener has read the table.
            await table.ready.wait()
            sent = []
            for one, messages in batch.items():
                part = table.counts[one.partition]
                for word in " ".join(message.value.decode() for message in messages).split():
                    part[word] = part.get(word, 0) + 1
                    sent.append(
                        await producer.send(
                            counts, key=word.encode(), value=b"%d" % part[word], partition=one.partition
                        )
                    )
            if sent:
                await asyncio.gather(*sent)
                await consumer.commit()
                print("done", len(sent), flush=True)


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:]))

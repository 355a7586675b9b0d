"""What messages cost to encode and decode: `python benchmarks/message_codecs.py`.

CPU time of this process, best of many short rounds: others share the machine. The empty loop at the end
tells how fast the machine is at this moment: compare figures only with the same one. Loading is measured
in a fresh process each.
"""

import os
import subprocess
import sys
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path

SOURCES = Path(__file__).parents[1] / "src"
sys.path.insert(0, str(SOURCES))

from barnabas.protocol import frames, messages  # noqa: E402
from barnabas.protocol.api_keys import ApiKey  # noqa: E402

ROUNDS = 100
CALLS = 300
TOPIC_ID = bytes(range(16))

LOAD_ALL = """
import time
start = time.process_time_ns()
from barnabas.protocol import messages
imported = time.process_time_ns()
for name in messages.names():
    found = getattr(messages, name)
    for version in found.valid_versions:
        found._decoders[version]
        found._encoders[version]
print(imported - start, time.process_time_ns() - imported)
"""

LOAD_ONE = """
import time
from barnabas.protocol import messages
start = time.process_time_ns()
messages.MetadataRequest.decode(messages.MetadataRequest().encode(12), 12)
print(time.process_time_ns() - start)
"""


def microseconds(call: Callable[[], object], calls: int = CALLS) -> float:
    """Return the CPU microseconds of one call, best of ROUNDS."""
    best = float("inf")
    for _ in range(ROUNDS):
        start = time.process_time_ns()
        for _ in range(calls):
            call()
        best = min(best, (time.process_time_ns() - start) / calls / 1000)
    return best


def show(what: str, call: Callable[[], object], calls: int = CALLS) -> None:
    print(f"{what:<58}{microseconds(call, calls):>9.2f} us")


def fetch_request(partitions: int) -> messages.FetchRequest:
    wanted = [
        messages.FetchRequestFetchPartition(partition=index, fetch_offset=1000, partition_max_bytes=1 << 20)
        for index in range(partitions)
    ]
    topic = messages.FetchRequestFetchTopic(topic="orders", topic_id=TOPIC_ID, partitions=wanted)
    return messages.FetchRequest(max_wait_ms=500, min_bytes=1, topics=[topic])


def fetch_response(partitions: int, records: bytes) -> messages.FetchResponse:
    read = [
        messages.FetchResponsePartitionData(
            partition_index=index, high_watermark=1000, last_stable_offset=1000, records=records
        )
        for index in range(partitions)
    ]
    topic = messages.FetchResponseFetchableTopicResponse(topic="orders", topic_id=TOPIC_ID, partitions=read)
    return messages.FetchResponse(responses=[topic])


def produce_request(records: bytes) -> messages.ProduceRequest:
    partition = messages.ProduceRequestPartitionProduceData(index=0, records=records)
    topic = messages.ProduceRequestTopicProduceData(
        name="orders", topic_id=TOPIC_ID, partition_data=[partition]
    )
    return messages.ProduceRequest(acks=-1, timeout_ms=30_000, topic_data=[topic])


def produce_response() -> messages.ProduceResponse:
    partition = messages.ProduceResponsePartitionProduceResponse(index=0, base_offset=1000)
    topic = messages.ProduceResponseTopicProduceResponse(
        name="orders", topic_id=TOPIC_ID, partition_responses=[partition]
    )
    return messages.ProduceResponse(responses=[topic])


def metadata_response(topics: int, partitions: int) -> messages.MetadataResponse:
    of_topic = [
        messages.MetadataResponseMetadataResponsePartition(
            partition_index=index, leader_id=1, replica_nodes=[1, 2, 3], isr_nodes=[1, 2, 3]
        )
        for index in range(partitions)
    ]
    return messages.MetadataResponse(
        topics=[
            messages.MetadataResponseMetadataResponseTopic(name=f"topic-{index}", partitions=of_topic)
            for index in range(topics)
        ]
    )


def show_pair(name: str, message: messages.Message, version: int, calls: int = CALLS) -> None:
    """Print decoding and encoding of one message, and the generated codec where one by hand is in front."""
    data = memoryview(message.encode(version))
    kind = type(message)
    show(f"{name} v{version} decode, {len(data)} bytes", lambda: kind.decode(data, version), calls)
    show(f"{name} v{version} encode_parts", lambda: message.encode_parts(version, b"head"), calls)
    for what, table, argument in (
        ("decoded", kind._decoders, (data, 0, 1000)),
        ("encoded", kind._encoders, (message,)),
    ):
        by_hand, generated = table[version], table.compiler.generate(version)
        if by_hand.__code__ is not generated.__code__:
            show(f"  {what} by hand, without the class around it", partial(by_hand, *argument), calls)
            show(f"  {what} by the generated codec alone", partial(generated, *argument), calls)


def show_hot_path() -> None:
    frame = memoryview(frames.encode_request_header(ApiKey.FETCH, 16, 7, "consumer-1"))
    show("request header v2 decode", lambda: frames.decode_request_header(frame))
    show("response header", lambda: frames.response_prefix(ApiKey.FETCH, 16, 7))
    show_pair("Fetch request, 1 partition", fetch_request(1), 16)
    show_pair("Fetch request, 1 partition", fetch_request(1), 11)
    show_pair("Fetch response, 1 partition, no records", fetch_response(1, b""), 16)
    show_pair("Fetch response, 1 partition, 1 KiB", fetch_response(1, bytes(1024)), 16)
    show("Fetch response, 1 partition: making the object", lambda: fetch_response(1, b""))
    show_pair("Produce request, 1 KiB", produce_request(bytes(1024)), 9)
    show_pair("Produce request, 1 KiB", produce_request(bytes(1024)), 13)
    show_pair("Produce response", produce_response(), 9)


def show_larger() -> None:
    show_pair("Fetch request, 100 partitions", fetch_request(100), 16, 10)
    show_pair("Fetch response, 100 partitions", fetch_response(100, b""), 16, 10)
    show_pair("Metadata response, 100 topics of 10 partitions", metadata_response(100, 10), 12, 1)


def show_loading() -> None:
    environment = {**os.environ, "PYTHONPATH": str(SOURCES)}
    # Without cached bytecode the import would measure Python's compiler.
    environment.pop("PYTHONDONTWRITEBYTECODE", None)

    def run(program: str) -> list[int]:
        done = subprocess.run(
            [sys.executable, "-c", program], capture_output=True, text=True, check=True, env=environment
        )
        return [int(word) for word in done.stdout.split()]

    runs = [run(LOAD_ALL) for _ in range(8)]
    ones = [run(LOAD_ONE) for _ in range(8)]
    print(f"{'import of messages':<58}{min(run[0] for run in runs) / 1e6:>9.1f} ms")
    print(f"{'first encode and decode of a message':<58}{min(run[0] for run in ones) / 1e6:>9.1f} ms")
    print(f"{'every version of every message':<58}{min(run[1] for run in runs) / 1e6:>9.1f} ms")


def main() -> None:
    show_hot_path()
    show_larger()
    show_loading()
    loop = microseconds(lambda: [None for _ in range(1_000_000)], 1)
    print(f"{'a million turns of an empty loop, for comparison':<58}{loop / 1000:>9.1f} ms")


if __name__ == "__main__":
    main()

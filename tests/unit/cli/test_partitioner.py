"""Keys go to the partitions that Kafka's own clients choose."""

import pytest

from barnabas.cli.client.partitioner import murmur2, partition_of

# As Java's producers hash them.
JAVA = {
    b"21": -973932308,
    b"foobar": -790332482,
    b"a-little-bit-long-string": -985981536,
    b"a-little-bit-longer-string": -1486304829,
    b"lkjh234lh9fiuh90y23oiuhsafujhadof229phr9h19h89h8": -58897971,
    b"abc": 479470107,
}


@pytest.mark.parametrize("key", JAVA)
def test_keys_go_where_java_sends_them(key: bytes) -> None:
    assert murmur2(key) == JAVA[key] % (1 << 32)
    assert partition_of(key, 7) == (JAVA[key] & 0x7FFFFFFF) % 7

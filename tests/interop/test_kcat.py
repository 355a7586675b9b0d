"""kcat produces and consumes: what a shell script relies on.

kcat carries text: a record a line, so the records here have printable keys and values; every field that
kcat shows is compared.
"""

import json
import shutil
import subprocess
from collections.abc import Callable

import pytest

from tests import toolchain
from tests.interop.client import Client, ProduceSettings
from tests.interop.records import FIRST_TIMESTAMP_MS, PARTITIONS, Record

pytestmark = [pytest.mark.interop, pytest.mark.timeout(300)]

RECORDS = 10_000
RECORDS_SLOW = 100_000
CODECS = ("none", "gzip", "snappy", "lz4", "zstd")


def kcat(bootstrap: str, *arguments: str, given: bytes | None = None) -> bytes:
    """Run kcat and return its output."""
    program = shutil.which("kcat")
    if program is None:
        toolchain.unavailable("there is no kcat (Debian, as root: apt-get install kcat)")
    done = subprocess.run(
        [program, "-b", bootstrap, *arguments], input=given, capture_output=True, check=False, timeout=120
    )
    assert done.returncode == 0, done.stderr.decode(errors="replace")
    return done.stdout


def _text_records(count: int) -> list[Record]:
    return [
        Record(
            partition=i % PARTITIONS,
            timestamp_ms=FIRST_TIMESTAMP_MS + i,
            key=b"key-%d" % (i % 97) if i % 3 else None,
            value=b"value %d " % i + b"x" * (i % 300),
            headers=(("trace", b"%d" % i), ("trace", b"again")) if i % 2 else (),
        )
        for i in range(count)
    ]


@pytest.mark.parametrize("codec", CODECS)
def test_kcat_shows_every_field(
    codec: str,
    bootstrap: str,
    slow: bool,
    client_named: Callable[[str], Client],
    make_topic: Callable[..., str],
    record_property: Callable[[str, object], None],
) -> None:
    record_property("matrix_producer", "librdkafka")
    record_property("matrix_consumers", "kcat")
    record_property("matrix_codec", codec)
    topic = make_topic(f"kcat-reads-{codec}")
    records = _text_records(RECORDS_SLOW if slow else RECORDS)
    client_named("librdkafka").produce(bootstrap, topic, records, ProduceSettings(codec=codec))
    for partition in range(PARTITIONS):
        said = kcat(bootstrap, "-C", "-t", topic, "-p", str(partition), "-o", "beginning", "-e", "-q", "-J")
        shown = [json.loads(line) for line in said.splitlines()]
        sent = [record for record in records if record.partition == partition]
        assert [one["offset"] for one in shown] == list(range(len(sent)))
        for one, record in zip(shown, sent, strict=True):
            assert one["topic"] == topic
            assert one["ts"] == record.timestamp_ms
            assert one["key"] == (None if record.key is None else record.key.decode())
            assert record.value is not None
            assert one["payload"] == record.value.decode()
            flat = [part for key, value in record.headers for part in (key, (value or b"").decode())]
            assert one.get("headers", []) == flat


@pytest.mark.parametrize("codec", CODECS)
def test_what_kcat_writes_is_read(
    codec: str,
    bootstrap: str,
    slow: bool,
    client_named: Callable[[str], Client],
    make_topic: Callable[..., str],
    record_property: Callable[[str, object], None],
) -> None:
    record_property("matrix_producer", "kcat")
    record_property("matrix_consumers", "librdkafka")
    record_property("matrix_codec", codec)
    topic = make_topic(f"kcat-writes-{codec}")
    records = _text_records(RECORDS_SLOW if slow else RECORDS)
    for partition in range(PARTITIONS):
        lines = [
            (record.key or b"none") + b"|" + (record.value or b"")
            for record in records
            if record.partition == partition
        ]
        kcat(
            bootstrap, "-P", "-t", topic, "-p", str(partition), "-K", "|", "-z", codec, "-H", "from=kcat",
            "-X", "enable.idempotence=true", given=b"\n".join(lines) + b"\n",
        )  # fmt: skip
    read = client_named("librdkafka").consume(
        bootstrap, topic, len(records), dict.fromkeys(range(PARTITIONS), 0)
    )
    for partition in range(PARTITIONS):
        sent = [record for record in records if record.partition == partition]
        seen = [one for one in read if one.record.partition == partition]
        assert [one.offset for one in seen] == list(range(len(sent)))
        assert [(one.record.key, one.record.value) for one in seen] == [
            (record.key or b"none", record.value) for record in sent
        ]
        assert {one.record.headers for one in seen} == {(("from", b"kcat"),)}


def test_metadata_and_offsets(
    bootstrap: str, client_named: Callable[[str], Client], make_topic: Callable[..., str]
) -> None:
    topic = make_topic("kcat-asks")
    client_named("librdkafka").produce(bootstrap, topic, _text_records(100), ProduceSettings())
    listed = json.loads(kcat(bootstrap, "-L", "-t", topic, "-J"))
    (told,) = listed["topics"]
    assert (told["topic"], len(told["partitions"])) == (topic, PARTITIONS)
    assert len(listed["brokers"]) == 1
    by_time = kcat(bootstrap, "-Q", "-t", f"{topic}:0:{FIRST_TIMESTAMP_MS + 50}").decode()
    assert by_time.split() == [topic, "[0]", "offset", "25"]
    middle = kcat(bootstrap, "-C", "-t", topic, "-p", "1", "-o", "40", "-c", "3", "-q", "-f", "%o ")
    assert middle.split() == [b"40", b"41", b"42"]
    last = kcat(bootstrap, "-C", "-t", topic, "-p", "1", "-o", "-2", "-e", "-q", "-f", "%o ")
    assert last.split() == [b"48", b"49"]

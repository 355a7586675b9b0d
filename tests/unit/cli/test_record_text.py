"""Records as text: templates, JSON lines, separators and what cannot be told apart."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from barnabas.cli.client.consumer import ConsumedRecord
from barnabas.cli.record_text import (
    DelimitedReader,
    InputError,
    InputRecord,
    LineFormat,
    compile_template,
    parse_time,
    record_from_json,
    record_to_json,
    timestamp_text,
    unescape_bytes,
)

contents = st.none() | st.binary(max_size=20)
header_names = st.binary(max_size=10).map(lambda raw: raw.decode("utf-8", "surrogateescape"))


def record(key: bytes | None = b"k", value: bytes | None = b"v", headers: tuple = ()) -> ConsumedRecord:  # type: ignore[type-arg]
    return ConsumedRecord("t", 3, 42, 1_700_000_000_123, False, key, value, headers)


@given(contents, contents, st.lists(st.tuples(header_names, contents), max_size=3))
def test_json_lines_lose_no_byte(
    key: bytes | None, value: bytes | None, headers: list[tuple[str, bytes | None]]
) -> None:
    line = record_to_json(record(key, value, tuple(headers)))
    assert line.count(b"\n") == 1
    assert record_from_json(line) == InputRecord(
        key=key, value=value, headers=tuple(headers), partition=3, timestamp_ms=1_700_000_000_123
    )


@pytest.mark.parametrize(
    "line",
    [
        b"",
        b"[]",
        b"{}",
        b'{"value": 1}',
        b'{"value": {"base64": "!"}}',
        b'{"value": "x", "partition": "1"}',
        b'{"value": "x", "headers": [["a"]]}',
        b'{"value": "x", "headers": [[null, "a"]]}',
        b'{"value": "\xff"}',
    ],
)
def test_what_is_no_json_record(line: bytes) -> None:
    with pytest.raises(InputError):
        record_from_json(line)


@given(st.lists(st.binary(max_size=6)), st.sampled_from([b"\n", b"\r\n", b"aab"]), st.data())
def test_records_come_out_the_same_however_the_stream_is_cut(
    pieces: list[bytes], delimiter: bytes, data: st.DataObject
) -> None:
    stream = delimiter.join(pieces)
    reader = DelimitedReader(delimiter)
    found: list[bytes] = []
    position = 0
    while position < len(stream):
        size = data.draw(st.integers(1, 5))
        found += reader.feed(stream[position : position + size])
        position += size
    rest = reader.finish()
    expected = stream.split(delimiter)
    assert found + ([rest] if rest else []) == (expected if expected[-1] else expected[:-1])


def test_templates() -> None:
    render = compile_template(
        r"{topic}/{partition}@{offset} {timestamp_ms} {key}={value} {{}}\t{headers}\xff\n", b"NULL"
    )
    assert render(record(None, b"\x00\xfe", (("a", b"1"), ("b", None)))) == (
        b"t/3@42 1700000000123 NULL=\x00\xfe {}\ta=1,b=NULL\xff\n"
    )


@pytest.mark.parametrize("template", ["{bogus}", "{", "{offset:5}", "{key!r}", r"\q", r"\xg0"])
def test_bad_templates_are_refused(template: str) -> None:
    with pytest.raises(ValueError):
        compile_template(template, b"")


def test_times() -> None:
    assert timestamp_text(1_700_000_000_123) == "2023-11-14T22:13:20.123Z"
    assert timestamp_text(-1) == "-"
    assert timestamp_text(2**63 - 1) == str(2**63 - 1)
    assert parse_time("1700000000123") == 1_700_000_000_123
    assert parse_time("2023-11-14T22:13:20.123") == 1_700_000_000_123
    assert parse_time("2023-11-14T23:13:20.123+01:00") == 1_700_000_000_123
    with pytest.raises(ValueError):
        parse_time("yesterday")


def test_lines_with_headers_and_keys() -> None:
    lines = LineFormat(key_separator=b"|", headers_separator=b"\t", null=b"NUL")
    assert lines.parse(b"a:1,b:NUL\tkey|val|ue") == InputRecord(
        key=b"key", value=b"val|ue", headers=(("a", b"1"), ("b", None))
    )
    assert lines.parse(b"\tNUL|NUL") == InputRecord(key=None, value=None)
    assert LineFormat().parse(b"a|b") == InputRecord(key=None, value=b"a|b")


@pytest.mark.parametrize("line", [b"no headers", b"a:1\tno key", b"a\tk|v"])
def test_lines_without_their_separators_are_refused(line: bytes) -> None:
    with pytest.raises(InputError):
        LineFormat(key_separator=b"|", headers_separator=b"\t").parse(line)


def test_escapes() -> None:
    assert unescape_bytes(r"a\t\n\0\\\xff") == b"a\t\n\0\\\xff"


@pytest.mark.parametrize(
    ("line", "words"),
    [
        (b'{"value": }', "no JSON at character 11: Expecting value"),
        (b'{"value": "\xff"}', "no UTF-8 at byte 12"),
    ],
)
def test_what_is_no_json_is_told_by_its_place_in_the_line(line: bytes, words: str) -> None:
    with pytest.raises(InputError) as raised:
        record_from_json(line)
    assert str(raised.value) == words


def test_a_separator_is_told_as_it_was_given() -> None:
    with pytest.raises(InputError, match=r"^no key separator ','$"):
        LineFormat(key_separator=b",").parse(b"a;b")

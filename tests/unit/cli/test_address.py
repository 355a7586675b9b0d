"""HOST:PORT as people write it."""

import pytest

from barnabas.cli.client.address import address_text, parse_address, parse_bootstrap


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("host:1", ("host", 1)),
        ("host", ("host", 9092)),
        (":0", ("", 0)),
        ("[::1]:65535", ("::1", 65535)),
        ("[::1]", ("::1", 9092)),
    ],
)
def test_addresses(text: str, expected: tuple[str, int]) -> None:
    assert parse_address(text) == expected


@pytest.mark.parametrize(
    "text", ["host:", "host:65536", "host:x", "::1:9092", "[::1", "[::1]9", "host:-1", "host:１"]
)
def test_what_is_no_address(text: str) -> None:
    with pytest.raises(ValueError):
        parse_address(text)


def test_a_port_can_be_compulsory() -> None:
    with pytest.raises(ValueError, match="no port"):
        parse_address("host", default_port=None)


def test_bootstrap_lists() -> None:
    assert parse_bootstrap("a:1, :2,[::1]:3,") == [("a", 1), ("localhost", 2), ("::1", 3)]
    with pytest.raises(ValueError):
        parse_bootstrap(" , ")


def test_text_has_brackets_where_needed() -> None:
    assert [address_text("::1", 1), address_text("h", 2)] == ["[::1]:1", "h:2"]

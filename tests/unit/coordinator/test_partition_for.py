"""Where groups belong: the figures are Java's own."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from barnabas.coordinator.runtime.partition_for import java_hash_code, partition_for


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("", 0),
        ("a", 97),
        ("console-consumer-12345", 158455506),
        ("polygenelubricants", -(2**31)),
        ("\N{PILE OF POO}", 1772556),
        ("Grüße", 69215351),
    ],
)
def test_the_hash_is_javas(text: str, code: int) -> None:
    assert java_hash_code(text) == code


def test_the_smallest_integer_counts_as_zero() -> None:
    assert partition_for("polygenelubricants", 50) == 0


@given(st.text(), st.integers(1, 10_000))
def test_every_key_has_a_partition(key: str, count: int) -> None:
    assert 0 <= partition_for(key, count) < count

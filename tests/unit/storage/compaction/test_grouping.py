"""Which segments are put together."""

from barnabas.storage.compaction.grouping import SizedSegment, group_segments
from barnabas.storage.compaction.task import SegmentToClean


def grouped(
    *sizes: tuple[int, int], index_bytes: int = 8, time_bytes: int = 12, end: int = 1000, **bounds: int
) -> list[list[int]]:
    """Base offsets in groups; `sizes` are (base offset, bytes)."""
    segments = [SizedSegment(SegmentToClean(base, size, 0), index_bytes, time_bytes) for base, size in sizes]
    options = {"segment_bytes_max": 100, "index_bytes_max": 1000, **bounds}
    groups = group_segments(segments, first_uncleanable_offset=end, **options)
    return [[segment.base_offset for segment in group] for group in groups]


def test_neighbours_share_a_segment_while_their_bytes_fit() -> None:
    assert grouped((0, 50), (10, 50), (20, 1), (30, 99), (40, 1)) == [[0, 10], [20, 30], [40]]


def test_a_segment_above_the_bound_stays_alone() -> None:
    assert grouped((0, 500), (10, 10), (20, 500)) == [[0], [10], [20]]


def test_the_indexes_bound_a_group_too() -> None:
    sizes = [(0, 1), (10, 1), (20, 1)]
    assert grouped(*sizes, index_bytes_max=25) == [[0, 10], [20]]
    assert grouped(*sizes, time_bytes=0, index_bytes_max=23) == [[0, 10], [20]]


def test_offsets_of_a_group_fit_into_31_bits() -> None:
    far = 2**31 + 4
    assert grouped((5, 1), (100, 1), (far, 1), end=far + 1) == [[5, 100, far]]
    assert grouped((5, 1), (100, 1), (far, 1), end=far + 2) == [[5, 100], [far]]
    assert grouped((5, 1), (100, 1), (far + 1, 1), end=far + 2) == [[5, 100], [far + 1]]


def test_an_empty_segment_fits_anywhere() -> None:
    assert grouped((0, 1), (10, 0), end=2**40) == [[0, 10]]

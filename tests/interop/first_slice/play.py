"""Play all situations against one broker."""

from collections.abc import Callable

from tests.interop.first_slice import cluster_situations, produce_situations, read_situations
from tests.interop.first_slice.asker import Asker, Plain
from tests.interop.situations.record import GOLDEN

RECORD = GOLDEN / "first_slice.json.gz"

SITUATIONS: dict[str, Callable[[Asker], None]] = {
    f"{module.__name__.rpartition('.')[2].removesuffix('_situations')}-{situations.__name__}": situations
    for module in (cluster_situations, read_situations, produce_situations)
    for situations in module.SITUATIONS
}


def play(port: int, name: str) -> dict[str, Plain]:
    """Return the answers by what was asked."""
    asker = Asker(port)
    try:
        SITUATIONS[name](asker)
    finally:
        asker.close()
    answers: dict[str, Plain] = {}
    for number, (situation, answer) in enumerate(asker.answers):
        # What is asked before and after something else bears one name.
        answers[situation if situation not in answers else f"{situation} ({number})"] = answer
    return answers

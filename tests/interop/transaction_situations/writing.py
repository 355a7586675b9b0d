"""Transactions over partitions: begun, ended, side by side, with sequences right and wrong."""

from collections.abc import Callable

from tests.interop.transaction_situations.talk import NEWEST, Producer, Talk

ALL = tuple(range(NEWEST + 1))
OLD = tuple(range(NEWEST))
NEW = (NEWEST,)

SITUATIONS: dict[str, tuple[Callable[[Talk], None], tuple[int, ...]]] = {}


def _in(*ages: int) -> Callable[[Callable[[Talk], None]], Callable[[Talk], None]]:
    def add(play: Callable[[Talk], None]) -> Callable[[Talk], None]:
        name = play.__name__.replace("_", "-")
        assert name not in SITUATIONS, name
        SITUATIONS[name] = play, ages
        return play

    return add


@_in(*ALL)
def committed(talk: Talk) -> None:
    one = talk.producer()
    talk.begin(one, 0, 1)
    talk.look()
    talk.end(one, commit=True)
    talk.look()


@_in(*ALL)
def aborted(talk: Talk) -> None:
    one = talk.producer()
    talk.begin(one, 0)
    talk.end(one, commit=False)
    talk.look()


@_in(*ALL)
def several_in_turn(talk: Talk) -> None:
    one = talk.producer()
    for commit in (True, False, False, True):
        talk.begin(one, 0)
        talk.write(one, 0, count=3)
        talk.end(one, commit=commit)
    talk.look()


@_in(*ALL)
def two_side_by_side(talk: Talk) -> None:
    one, two = talk.producer("one"), talk.producer("two")
    talk.begin(one, 0)
    talk.begin(two, 0)
    talk.write(one, 0)
    talk.end(two, commit=False)
    talk.look()
    talk.end(one, commit=True)
    talk.look()


@_in(*ALL)
def the_later_one_ends_first(talk: Talk) -> None:
    one, two = talk.producer("one"), talk.producer("two")
    talk.begin(one, 0)
    talk.begin(two, 0)
    talk.end(two, commit=True)
    talk.look()
    talk.end(one, commit=False)
    talk.look()


@_in(*ALL)
def ended_without_anything_in_it(talk: Talk) -> None:
    one = talk.producer()
    talk.end(one, commit=True)
    talk.end(one, commit=False)
    talk.begin(one, 0)
    talk.end(one, commit=True)
    talk.look()


@_in(*ALL)
def ended_twice(talk: Talk) -> None:
    for first in (True, False):
        one = talk.producer(f"first-{first}")
        talk.begin(one, 0)
        before = one.id, one.epoch
        talk.end(one, commit=first)
        talk.end(one, commit=first)
        talk.end(one, commit=not first)
        one.id, one.epoch = before
        talk.end(one, commit=first)
        talk.end(one, commit=not first)
    talk.look()


@_in(*OLD)
def not_added(talk: Talk) -> None:
    one = talk.producer()
    talk.write(one, 0)
    talk.add(one, 0)
    talk.write(one, 0, 1, sequence=0)
    talk.end(one, commit=True)
    talk.look()


@_in(*OLD)
def added_and_not_written(talk: Talk) -> None:
    one = talk.producer()
    talk.add(one, 0, 1)
    talk.add(one, 0, 1)
    talk.end(one, commit=True)
    talk.look()


@_in(*OLD)
def written_after_the_end(talk: Talk) -> None:
    one = talk.producer()
    talk.begin(one, 0)
    talk.end(one, commit=True)
    talk.write(one, 0)
    talk.add(one, 1)
    talk.write(one, 0)
    talk.write(one, 1)
    talk.end(one, commit=False)
    talk.look()


@_in(*NEW)
def written_late_with_the_epoch_of_before(talk: Talk) -> None:
    one = talk.producer()
    talk.begin(one, 0)
    before = one.epoch
    talk.end(one, commit=True)
    now, one.epoch = one.epoch, before
    talk.write(one, 0, sequence=1)
    talk.write(one, 1, sequence=0)
    one.epoch = now
    talk.write(one, 0, sequence=0)
    talk.end(one, commit=True)
    talk.look()


@_in(*ALL)
def added_of_what_does_not_exist(talk: Talk) -> None:
    one = talk.producer()
    talk.add(one, 0, 7)
    talk.add(one, 0, topic=f"{talk.topic}-nowhere")
    talk.add(one, 0, topic="__consumer_offsets")
    talk.end(one, commit=False)


@_in(*ALL)
def written_where_nothing_is(talk: Talk) -> None:
    one = talk.producer()
    talk.begin(one, 0)
    talk.write(one, 7)
    talk.write(one, 0, topic=f"{talk.topic}-nowhere", sequence=0)
    talk.end(one, commit=True)
    talk.look()


@_in(*ALL)
def without_a_transactional_id(talk: Talk) -> None:
    one = talk.producer()
    talk.write(one, 0, transactional_id=None)
    talk.begin(one, 0)
    talk.end(one, commit=True)
    talk.look()


@_in(*ALL)
def under_another_transactional_id(talk: Talk) -> None:
    one, two = talk.producer("one"), talk.producer("two")
    talk.begin(two, 1)
    talk.write(one, 0, transactional_id=two.transactional_id)
    talk.write(one, 0, transactional_id=f"{talk.topic}-unknown")
    talk.end(two, commit=True)
    talk.look()


@_in(*ALL)
def records_without_the_bit_in_a_transaction(talk: Talk) -> None:
    one = talk.producer()
    talk.begin(one, 0)
    talk.write(one, 0, is_transactional=False)
    talk.write(one, 0, sequence=1)
    talk.end(one, commit=True)
    talk.write(one, 0, sequence=0 if talk.age == NEWEST else 2, is_transactional=False)
    talk.look()


@_in(*ALL)
def sequences_with_gaps(talk: Talk) -> None:
    one = talk.producer()
    talk.begin(one, 0)
    talk.write(one, 0, sequence=5)
    talk.write(one, 0, sequence=0)
    talk.write(one, 0, sequence=1, count=2)
    talk.write(one, 0, sequence=1, count=2)
    talk.write(one, 0, sequence=2)
    talk.write(one, 0, sequence=3)
    talk.end(one, commit=True)
    talk.look()


@_in(*ALL)
def a_first_sequence_above_0(talk: Talk) -> None:
    one = talk.producer()
    if talk.adds_itself:
        talk.add(one, 0)
    talk.write(one, 0, sequence=4)
    talk.write(one, 0, sequence=5)
    talk.end(one, commit=True)
    talk.look()


@_in(*ALL)
def sequences_that_wrap(talk: Talk) -> None:
    one = talk.producer()
    if talk.adds_itself:
        talk.add(one, 0)
    talk.write(one, 0, sequence=2**31 - 2, count=2)
    talk.write(one, 0, sequence=0, count=2)
    talk.write(one, 0, sequence=1)
    talk.write(one, 0, sequence=2)
    talk.end(one, commit=True)
    talk.look()


@_in(*ALL)
def duplicates_of_the_transaction_before(talk: Talk) -> None:
    one = talk.producer()
    talk.begin(one, 0)
    talk.end(one, commit=True)
    talk.write(one, 0, sequence=0)
    talk.end(one, commit=False)
    talk.look()


@_in(*ALL)
def the_sixth_batch_back(talk: Talk) -> None:
    one = talk.producer()
    talk.begin(one, 0)
    for _ in range(6):
        talk.write(one, 0)
    talk.write(one, 0, sequence=0)
    talk.write(one, 0, sequence=2)
    talk.end(one, commit=True)
    talk.look()


@_in(*ALL)
def acks_that_are_none(talk: Talk) -> None:
    one = talk.producer()
    talk.write(one, 0, acks=0, sequence=0, producer_epoch=-1)
    talk.begin(one, 0)
    talk.end(one, commit=True)
    talk.look()


@_in(*ALL)
def two_producers_in_one_request(talk: Talk) -> None:
    one, two = talk.producer("one"), talk.producer("two")
    talk.begin(one, 0)
    stranger = Producer(one.transactional_id)
    stranger.id, stranger.epoch = two.id, two.epoch
    talk.write(stranger, 0)
    talk.end(one, commit=True)
    talk.look()

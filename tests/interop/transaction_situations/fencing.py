"""Producers that come again, and those they fence."""

from typing import Any

from tests.interop.transaction_situations.talk import NEWEST, Producer, Talk
from tests.interop.transaction_situations.writing import ALL, OLD, SITUATIONS, _in

__all__ = ["SITUATIONS"]


def _as(producer: Producer, **fields: Any) -> Producer:
    other = Producer(producer.transactional_id)
    other.id, other.epoch = producer.id, producer.epoch
    other.sequences = dict(producer.sequences)
    for name, value in fields.items():
        setattr(other, name, value)
    return other


@_in(*ALL)
def each_init_raises_the_epoch(talk: Talk) -> None:
    one = talk.producer()
    for _ in range(3):
        talk.init(one)
    talk.begin(one, 0)
    talk.end(one, commit=True)
    talk.look()


@_in(*ALL)
def the_older_one_is_fenced(talk: Talk) -> None:
    old = talk.producer()
    new = talk.producer()
    talk.add(old, 0)
    talk.write(old, 0)
    talk.add_offsets(old)
    talk.commit(old, {0: 1})
    talk.end(old, commit=True)
    talk.begin(new, 0)
    talk.end(new, commit=True)
    talk.look()


@_in(*ALL)
def fenced_in_a_transaction(talk: Talk) -> None:
    old = talk.producer()
    talk.begin(old, 0)
    new = _as(old)
    talk.init(new, patient=False)
    talk.until_ended(old)
    talk.init(new)
    talk.write(old, 0)
    talk.add(old, 1)
    talk.end(old, commit=True)
    talk.end(old, commit=False)
    talk.begin(new, 0)
    talk.end(new, commit=True)
    talk.look()


@_in(*ALL)
def an_epoch_of_the_future(talk: Talk) -> None:
    one = talk.producer()
    ahead = _as(one, epoch=one.epoch + 5)
    talk.add(ahead, 0)
    talk.write(ahead, 0)
    talk.add_offsets(ahead)
    talk.end(ahead, commit=True)
    talk.begin(one, 0)
    talk.write(ahead, 0)
    talk.end(one, commit=True)
    talk.look()


@_in(*ALL)
def another_producer_id(talk: Talk) -> None:
    one = talk.producer()
    stranger = _as(one, id=987_654_321)
    talk.add(stranger, 0)
    talk.write(stranger, 0)
    talk.add_offsets(stranger)
    talk.commit(stranger, {0: 1})
    talk.end(stranger, commit=True)
    talk.look()


@_in(*ALL)
def an_id_that_nobody_initialised(talk: Talk) -> None:
    nobody = Producer(f"{talk.topic}-nobody")
    nobody.id, nobody.epoch = 5_000_000, 0
    talk.add(nobody, 0)
    talk.write(nobody, 0)
    talk.add_offsets(nobody)
    talk.commit(nobody, {0: 1})
    talk.end(nobody, commit=True)
    talk.end(nobody, commit=False)
    talk.look()


@_in(*ALL)
def an_empty_transactional_id(talk: Talk) -> None:
    empty = Producer("")
    empty.id, empty.epoch = 5_000_000, 0
    talk.init(empty)
    talk.add(empty, 0)
    talk.add_offsets(empty)
    talk.end(empty, commit=True)


@_in(*ALL)
def timeouts_that_are_not_allowed(talk: Talk) -> None:
    one = Producer(f"{talk.topic}-one")
    for timeout_ms in (0, -1, 900_001, 900_000, 1):
        talk.init(one, transaction_timeout_ms=timeout_ms)


@_in(1, 2, NEWEST)
def going_on_after_an_error(talk: Talk) -> None:
    one = talk.producer()
    talk.begin(one, 0)
    talk.end(one, commit=True)
    known = {"producer_id": one.id, "producer_epoch": one.epoch}
    talk.init(one, **known)
    talk.init(_as(one), **known)
    talk.init(_as(one), producer_id=one.id, producer_epoch=max(0, one.epoch - 2))
    talk.init(_as(one), producer_id=one.id, producer_epoch=one.epoch + 3)
    talk.init(_as(one), producer_id=one.id + 100_000, producer_epoch=0)
    talk.init(_as(one), producer_id=one.id, producer_epoch=-1)
    talk.init(_as(one), producer_id=-1, producer_epoch=3)


@_in(1, 2, NEWEST)
def going_on_in_a_transaction(talk: Talk) -> None:
    one = talk.producer()
    talk.begin(one, 0)
    again = _as(one)
    talk.init(again, producer_id=one.id, producer_epoch=one.epoch, patient=False)
    talk.until_ended(one)
    talk.init(again, producer_id=one.id, producer_epoch=one.epoch)
    talk.look()


@_in(1, 2, NEWEST)
def going_on_with_an_id_that_nobody_has(talk: Talk) -> None:
    nobody = Producer(f"{talk.topic}-nobody")
    talk.init(nobody, producer_id=5_000_000, producer_epoch=3)


@_in(*OLD)
def markers_of_older_epochs(talk: Talk) -> None:
    old = talk.producer()
    talk.begin(old, 0)
    talk.end(old, commit=True)
    new = talk.producer()
    talk.write(old, 0)
    talk.begin(new, 0, 1)
    talk.write(old, 1, sequence=0)
    talk.end(new, commit=False)
    talk.look()

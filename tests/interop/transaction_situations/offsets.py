"""Offsets of groups that are committed with transactions."""

from tests.interop.transaction_situations.talk import NEWEST, Talk
from tests.interop.transaction_situations.writing import ALL, OLD, SITUATIONS, _in

__all__ = ["SITUATIONS"]


def _commit(talk: Talk, *args: object, **fields: object) -> None:
    producer = args[0]
    if talk.adds_itself:
        talk.add_offsets(producer)  # type: ignore[arg-type]
    talk.commit(*args, **fields)  # type: ignore[arg-type]


@_in(*ALL)
def offsets_committed(talk: Talk) -> None:
    one = talk.producer()
    _commit(talk, one, {0: 10, 1: 11})
    talk.committed()
    talk.committed(require_stable=True)
    talk.end(one, commit=True)
    talk.committed(require_stable=True, patient=True)


@_in(*ALL)
def offsets_aborted(talk: Talk) -> None:
    one = talk.producer()
    _commit(talk, one, {0: 10})
    talk.end(one, commit=True)
    talk.committed(require_stable=True, patient=True)
    _commit(talk, one, {0: 20, 1: 21})
    talk.committed()
    talk.committed(require_stable=True)
    talk.end(one, commit=False)
    talk.committed(require_stable=True, patient=True)


@_in(*ALL)
def offsets_with_records(talk: Talk) -> None:
    one = talk.producer()
    talk.begin(one, 0)
    _commit(talk, one, {0: 10})
    _commit(talk, one, {0: 12, 2: 5})
    talk.end(one, commit=True)
    talk.committed(require_stable=True, patient=True)
    talk.look()


@_in(*OLD)
def offsets_not_added(talk: Talk) -> None:
    one = talk.producer()
    talk.commit(one, {0: 10})
    talk.begin(one, 0)
    talk.commit(one, {0: 10})
    talk.end(one, commit=True)
    talk.committed()


@_in(*ALL)
def offsets_of_two_transactions(talk: Talk) -> None:
    one, two = talk.producer("one"), talk.producer("two")
    _commit(talk, one, {0: 10})
    _commit(talk, two, {0: 20, 1: 21})
    talk.end(one, commit=True)
    talk.committed(require_stable=False)
    talk.committed(require_stable=True)
    talk.end(two, commit=False)
    talk.committed(require_stable=True, patient=True)


@_in(*ALL)
def offsets_of_what_does_not_exist(talk: Talk) -> None:
    one = talk.producer()
    _commit(talk, one, {0: 10, 9: 3})
    _commit(talk, one, {0: 10}, topic=f"{talk.topic}-nowhere")
    talk.end(one, commit=True)
    talk.committed(require_stable=True, patient=True)


@_in(*ALL)
def offsets_of_no_group(talk: Talk) -> None:
    one = talk.producer()
    _commit(talk, one, {0: 10}, group_id="")
    talk.end(one, commit=False)


@_in(1, 2, NEWEST)
def offsets_by_who_is_no_member(talk: Talk) -> None:
    one = talk.producer()
    _commit(talk, one, {0: 10}, member_id="somebody", generation_id_or_member_epoch=4)
    _commit(talk, one, {0: 10}, member_id="somebody")
    _commit(talk, one, {0: 11}, generation_id_or_member_epoch=4)
    talk.end(one, commit=True)
    talk.committed(require_stable=True, patient=True)


@_in(*ALL)
def offsets_by_who_is_fenced(talk: Talk) -> None:
    old = talk.producer()
    _commit(talk, old, {0: 10})
    talk.init(talk.producer("else"))
    new = type(old)(old.transactional_id)
    talk.init(new)
    _commit(talk, old, {0: 11})
    talk.committed(require_stable=True, patient=True)
    _commit(talk, new, {0: 12})
    talk.end(new, commit=True)
    talk.committed(require_stable=True, patient=True)

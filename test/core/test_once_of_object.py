"""What is found of an object is found once, and forgotten with it."""

from __future__ import annotations

import gc
import weakref
from dataclasses import dataclass, replace

from npuflow.core.once_of_object import once_of_object


@dataclass(frozen=True)
class Thing:
    number: int


@once_of_object
def found(thing: Thing) -> Thing:
    return replace(thing, number=thing.number + 1)


def test_of_an_object_it_is_found_once_and_of_an_equal_one_again() -> None:
    thing = Thing(3)
    assert found(thing) == Thing(4)
    assert found(thing) is found(thing)
    assert found(replace(thing)) is not found(thing)


def test_what_was_found_goes_with_the_object() -> None:
    thing = Thing(3)
    answer = weakref.ref(found(thing))
    assert answer() is not None
    del thing
    gc.collect()
    assert answer() is None

"""What is found of an object once, and kept as long as the object is there.

By the object itself: things that are large take longer to be hashed and compared than to be looked at again.
"""

from __future__ import annotations

import atexit
import weakref
from collections.abc import Callable
from functools import wraps
from typing import TypeVar

Thing = TypeVar("Thing")
Found = TypeVar("Found")


def once_of_object(find: Callable[[Thing], Found]) -> Callable[[Thing], Found]:
    """A function of an object that never changes, which does its work once for each."""
    known: dict[int, tuple[weakref.ref[Thing], Found]] = {}
    atexit.register(known.clear)  # native things are to go before their module

    @wraps(find)
    def answer(thing: Thing) -> Found:
        own = id(thing)
        if own not in known:
            known[own] = weakref.ref(thing, lambda _: known.pop(own, None)), find(thing)
        return known[own][1]

    return answer

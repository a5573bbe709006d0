"""Hashes of what much is kept by: devices, groups."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

Class = TypeVar("Class", bound=type)

_PLACE = "_hash"


def hashed_once(cls: Class) -> Class:
    """Class decorator around `dataclass(frozen=True)`: an object's hash is found once, of all that it is made of.

    It is an object's own, like what `cached_property` finds: forks of a process may hand it on, others may not.
    """
    of_all: Callable[[object], int] = vars(cls)["__hash__"]

    def own_hash(self: object) -> int:
        known = vars(self)
        if _PLACE not in known:
            known[_PLACE] = of_all(self)
        return int(known[_PLACE])

    cls.__hash__ = own_hash  # type: ignore[assignment, method-assign]
    return cls

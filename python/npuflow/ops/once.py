"""What is asked again and again of ops that stay as they are, answered once."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from functools import wraps
from typing import TypeVar

from npuflow.bindings import ir

_Answer = TypeVar("_Answer")
_known: ContextVar[dict[tuple[Hashable, ir.Operation], object] | None] = ContextVar("known", default=None)


@contextmanager
def described_once() -> Iterator[None]:
    """In a block that neither edits nor erases an op that it asks about, each is described once."""
    if _known.get() is not None:
        yield
        return
    before = _known.set({})
    try:
        yield
    finally:
        _known.reset(before)


def once(describe: Callable[[ir.Operation], _Answer]) -> Callable[[ir.Operation], _Answer]:
    """A function of an op that remembers its answers within `described_once`; nobody may change what it returns."""

    @wraps(describe)
    def answer(op: ir.Operation) -> _Answer:
        known = _known.get()
        if known is None:
            return describe(op)
        key = describe, op
        if key not in known:
            known[key] = describe(op)
        return known[key]  # type: ignore[return-value]

    return answer

"""Loads in front of their body's kernels: buffers that are filled right behind each other can share locks. Pure."""

from __future__ import annotations

from npuflow.schedule.nest.nest import Allocate, BufferInfo, Kernel, Loop, Nest, Statement, Transfer, walk


def load_first(nest: Nest) -> None:
    """Moves what is brought in whole to the beginning of its body, in order, unless something makes the data there.

    What is in front of a load and works on its buffer, such as zeros around what comes, keeps it where it is; so do
    counters in its place: cores that wait for each other's blocks with shared locks would take turns.
    """
    _load_first(nest.body)


def _load_first(body: list[Statement]) -> None:
    first: list[Transfer] = []
    rest: list[Statement] = []
    read: set[BufferInfo] = set()
    written: set[BufferInfo] = set()
    for statement in body:
        if isinstance(statement, Transfer) and _is_load(statement, read, written):
            first.append(statement)
            continue
        rest.append(statement)
        for inner, _ in walk([statement]):
            if isinstance(inner, Kernel):
                read.update(inner.reads)
                written.update(inner.writes)
            elif isinstance(inner, Transfer):
                read.add(inner.source.buffer)
                written.add(inner.target.buffer)
        if isinstance(statement, Loop):
            _load_first(statement.body)
    filled = {load.target.buffer for load in first}
    allocated = [s for s in rest if isinstance(s, Allocate) and s.buffer in filled]
    body[:] = [*allocated, *first, *(s for s in rest if s not in allocated)]


def _is_load(transfer: Transfer, read: set[BufferInfo], written: set[BufferInfo]) -> bool:
    source, target = transfer.source.buffer, transfer.target.buffer
    is_whole = not transfer.source.offset.terms
    return is_whole and target.space > source.space and source not in written and target not in read | written

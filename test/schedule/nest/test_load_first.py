"""Loads that are moved in front of kernels, and those that may not be."""

from __future__ import annotations

from npuflow.schedule.data.affine import Affine
from npuflow.schedule.nest.load_first import load_first
from npuflow.schedule.nest.nest import L1, L2, L3, Allocate, BufferInfo, End, Kernel, Loop, Nest, Statement, Transfer


def buffer(name: str, space: int) -> BufferInfo:
    return BufferInfo(name, space, (4,), "i8", 1, None)


X, Y, RESULT = buffer("x", L3), buffer("y", L3), buffer("result", L3)
X2, Y2 = buffer("x2", L2), buffer("y2", L2)
X1, Y1, SUM = buffer("x1", L1), buffer("y1", L1), buffer("sum", L1)


def load(source: BufferInfo, target: BufferInfo, place: Affine | None = None) -> Transfer:
    return Transfer(End(source, place or Affine()), End(target, Affine()), (), False, None)


def kernel(key: int, *reads: BufferInfo) -> Kernel:
    return Kernel(key, "elementwise", "", reads, (SUM,), None)


def moved(body: list[Statement]) -> list[Statement]:
    nest = Nest("f", body=[Loop("row", 2, body, grid=True)])
    load_first(nest)
    (grid,) = nest.body
    assert isinstance(grid, Loop)
    return grid.body


def test_what_a_later_kernel_needs_comes_right_behind_the_rest() -> None:
    early = [Allocate(X2), load(X, X2), Allocate(X1), load(X2, X1)]
    late = [Allocate(Y2), load(Y, Y2), Allocate(Y1), load(Y2, Y1)]
    leaves = load(SUM, RESULT)
    body = [Allocate(SUM), *early, kernel(0, X1), *late, kernel(1, Y1), leaves]
    allocated, loads = [early[0], early[2], late[0], late[2]], [early[1], early[3], late[1], late[3]]
    assert moved(body) == [*allocated, *loads, Allocate(SUM), kernel(0, X1), kernel(1, Y1), leaves]


def test_what_is_made_or_read_in_front_of_a_load_keeps_it_there() -> None:
    from_kernel = [kernel(0, X1), load(SUM, Y2), load(Y2, Y1)]
    assert moved([*from_kernel]) == from_kernel
    around_zeros = [Kernel(0, "fill", "", (), (X1,), None), load(X2, X1), kernel(1, X1)]
    assert moved([*around_zeros]) == around_zeros
    again = [load(X2, X1), kernel(0, X1), load(Y2, X1), kernel(1, X1)]
    assert moved([*again]) == again
    of_core = [kernel(0, X1), load(Y2, Y1, Affine.counter("row")), kernel(1, Y1)]
    assert moved([*of_core]) == of_core
    in_loop = [Loop("k", 2, [load(X, X2), load(X2, X1), kernel(0, X1)]), load(X2, Y1)]
    assert moved([*in_loop]) == in_loop

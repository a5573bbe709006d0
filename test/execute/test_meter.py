"""Functional runs count as much as was expected of them, wherever they run."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np

import npuflow
from npuflow.execute.meter import Meter, meter_in_force, metered


def matmul(element: str) -> str:
    left, right, result = (f"tensor<{shape}x{element}>" for shape in ("16x32", "32x16", "16x16"))
    zero = "0" if element.startswith("i") else "0.0"
    return f"""func.func @matmul(%a: {left}, %b: {right}) -> {result} {{
  %zero = arith.constant {zero} : {element}
  %empty = tensor.empty() : {result}
  %fill = linalg.fill ins(%zero : {element}) outs(%empty : {result}) -> {result}
  %sum = linalg.matmul ins(%a, %b : {left}, {right}) outs(%fill : {result}) -> {result}
  return %sum : {result}
}}"""


class Noting(Meter):
    """Notes how much of what was expected was done in the end."""

    def __init__(self) -> None:
        super().__init__()
        self.found: list[float | None] = []

    @contextmanager
    def expecting(self, operations: int) -> Iterator[None]:
        with super().expecting(operations):
            yield
            self.found.append(self.share)


def test_runs_count_the_operations_that_a_timing_run_has() -> None:
    function = npuflow.compile(matmul("i32"), device="toy")["matmul"]
    a, b = np.ones((16, 32), np.int32), np.ones((32, 16), np.int32)
    meter = Meter()
    with metered(meter), meter.expecting(4 * function.simulate().operations):
        assert meter.share == 0
        function.execute(a, b)
        assert meter.share == 0.25
        function.execute(a, b)
        assert meter.share == 0.5
    assert meter.share is None


def test_verification_expects_what_it_does() -> None:
    for element in ("i32", "f32"):  # floats run in 64 bits as well
        with metered(Noting()) as meter:
            assert npuflow.compile(matmul(element), device="toy").run(verify=True).ok
        assert meter.found == [1.0]


def test_without_anybody_to_see_it_nothing_is_kept() -> None:
    with meter_in_force().expecting(1):
        assert meter_in_force().share is None

"""Convolutions in a row whose cores keep rows from step to step are what they are in one go."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pytest

import npuflow
from npuflow.schedule.ir.read_schedule import read_schedule, schedules_of
from npuflow.simulate.flatten import flatten
from npuflow.simulate.kernel_functions import compile_schedule_kernels
from npuflow.simulate.run import execute
from npuflow.target import load_device

sys.path.insert(0, str(Path(__file__).parent))

from kept_rows import Strips

Image = npt.NDArray[np.int8]


def convolved(image: Image, weights: Image) -> Image:
    """A 3x3 convolution without padding, a ReLU behind it, the low bits of what is left."""
    windows = np.lib.stride_tricks.sliding_window_view(image.astype(np.int32), (3, 3), axis=(0, 1))
    sums = np.einsum("hwkij,ijkc->hwc", windows, weights.astype(np.int32))
    return np.maximum(sums, 0).astype(np.int8)


CASES = {
    "two on npu1": (Strips(2), "npu1"),
    "two, of as many rows as are kept": (Strips(2, rows=2, steps=5), "npu1"),
    "two, of one step": (Strips(2, steps=1), "npu1"),
    "three on npu1": (Strips(3), "npu1"),
    "three on npu2": (Strips(3, grid=(4, 2), rows=2), "npu2"),
    "three on the toy": (Strips(3, columns=4), "toy"),
}


@pytest.mark.parametrize("name", CASES)
def test_rows_that_are_kept_are_right(name: str) -> None:
    strips, device_name = CASES[name]
    device = load_device(device_name)
    module = npuflow.parse(strips.text(device_name), npuflow.new_context())
    npuflow.run_pipeline(module, "npuflow-schedule")
    (op,) = schedules_of(module.operation)
    numbers = np.random.default_rng(0)
    rows, columns, channels = strips.shape
    halo = strips.halo(0)
    image = numbers.integers(-128, 128, (rows + halo, columns + halo, channels), dtype=np.int8)
    weights = [numbers.integers(-8, 8, (3, 3, channels, channels), dtype=np.int8) for _ in range(strips.convolutions)]
    inputs = {f"arg{number}": data for number, data in enumerate([image, *weights])}
    program = flatten(read_schedule(op, device), device)
    executed = execute(program, inputs, compile_schedule_kernels(op, program))
    expected = image
    for each in weights:
        expected = convolved(expected, each)
    np.testing.assert_array_equal(executed.memories["l3_0"].view(np.int8).reshape(strips.shape), expected)
    assert executed.results.hazards == ()

"""Bundles' schedules, executed: what the simulated array computes is what the same memrefs give on this CPU."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

import npuflow
from npuflow.core.passes import ops_of
from npuflow.execute.arrays import signature_of
from npuflow.execute.data import random_arrays
from npuflow.execute.jit import compile_function
from npuflow.schedule.legality import violations
from npuflow.schedule.read_schedule import kernel_functions_of
from npuflow.simulate.compiled import CompiledFunction, Execution, execute_function, schedule_function
from npuflow.simulate.verify_function import faults
from npuflow.target import load_device

sys.path.insert(0, str(Path(__file__).parent))

from bundles import Axis, Window


def compiled(text: str, device: str) -> CompiledFunction:
    module = npuflow.parse(text, npuflow.new_context())
    (function,) = ops_of(module.operation, "func.func")
    return schedule_function(module, function, signature_of(function), load_device(device))


def executed(text: str, device: str) -> tuple[CompiledFunction, Execution]:
    """The schedule's functional run, which must give what the program gives; and the schedule must be legal."""
    module = npuflow.parse(text, npuflow.new_context())
    (function,) = ops_of(module.operation, "func.func")
    signature = signature_of(function)
    inputs = random_arrays(signature.inputs, 0)
    expected = compile_function(module.operation, signature.name).run(inputs).results
    array = schedule_function(module, function, signature, load_device(device))
    execution = execute_function(array, inputs)
    assert [str(hazard) for hazard in faults(execution.results)] == []
    for got, wanted in zip(execution.outputs, expected, strict=True):
        np.testing.assert_array_equal(got, wanted)
    kernels = {name: len(f.regions[0].blocks[0].arguments) for name, f in kernel_functions_of(array.op).items()}
    wrong = violations(array.schedule, array.device, kernels)
    assert [str(v) for v in wrong if not v.is_warning] == []
    return array, execution


@st.composite
def axes(draw: st.DrawFn, cores: int) -> Axis:
    taps, dilation, step = draw(st.integers(1, 3)), draw(st.integers(1, 2)), draw(st.integers(1, 3))
    window = dilation * (taps - 1) + 1
    before, behind = draw(st.integers(0, window)), draw(st.integers(0, window))
    size = draw(st.integers(max(1, window - before - behind), 14))
    return Axis(size, taps, step, dilation, before, behind, draw(st.integers(1, 3)), cores)


@st.composite
def windows(draw: st.DrawFn) -> Window:
    grid = draw(st.sampled_from([(1, 1), (1, 2), (2, 1), (2, 2)]))
    rows, columns = (draw(st.sampled_from("hwc")) for _ in range(2))
    cores = {a: (grid[0] if rows == a else 1) * (grid[1] if columns == a else 1) for a in "hwc"}
    h, w = draw(axes(cores["h"])), draw(axes(cores["w"]))
    channels = cores["c"] * draw(st.integers(1, 3))
    return Window(h, w, channels, rows, columns, grid, True, draw(st.sampled_from([1, 2])))


@settings(max_examples=25, deadline=None)
@given(windows())
def test_windows_with_strides_dilations_pads_and_halos(window: Window) -> None:
    executed(window.text(), "toy")

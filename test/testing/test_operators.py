"""Operator programs are what they say: every family's text parses, and named and generic spellings agree."""

from __future__ import annotations

import numpy as np
import pytest

import npuflow
from npuflow.execute.arrays import Array
from npuflow.execute.compare import compare
from npuflow.execute.data import random_arrays
from npuflow.execute.jit import compile_function
from npuflow.execute.references import Judge, make_references
from npuflow.testing.operator_moves import Cast
from npuflow.testing.operator_rows import Softmax
from npuflow.testing.operator_steps import ElementwiseStep, is_possible
from npuflow.testing.operator_windows import CONVOLUTIONS, Convolution, WindowLayout, Windows
from npuflow.testing.operators import OperatorProgram
from npuflow.testing.programs import TYPES, Types


def results_of(program: OperatorProgram) -> Array:
    module = npuflow.parse(program.text(), npuflow.new_context())
    signature = program.signature
    inputs = random_arrays(signature.inputs, 0)
    (result,) = compile_function(module.operation, signature.name).run(inputs).results
    return result


def convolution(layout: WindowLayout, by_name: bool) -> Convolution:
    sizes = {"n": 2, "h": 4, "w": 3, "c": 3, "f": 2, "g": 2, "m": 2}
    shape = tuple((letter, sizes[letter]) for letter in dict.fromkeys(layout.result + layout.image + layout.filter))
    count = len(layout.spatial)
    windows = Windows((3, 2)[:count], (2, 1)[:count], (1, 2)[:count], (1, 0)[:count], (0, 2)[:count])
    return Convolution(layout, shape, windows, Types("i8", "i32"), by_name)


@pytest.mark.parametrize("layout", CONVOLUTIONS, ids=lambda layout: layout.op)
def test_the_table_of_layouts_says_what_the_named_ops_do(layout: WindowLayout) -> None:
    named, spelled = results_of(convolution(layout, True)), results_of(convolution(layout, False))
    assert np.array_equal(named, spelled)
    assert len(np.unique(named)) > 1


def test_a_softmax_is_the_ops_that_it_is_made_of() -> None:
    named, spelled = (Softmax((3, 17), 1, Types("f32", "f32"), by_name) for by_name in (True, False))
    module = npuflow.parse(named.text(), npuflow.new_context())
    (reference,) = make_references(module.operation, "", 0, Judge.IREE)
    comparison = compare(results_of(spelled), reference.expected[0], reference.bounds[0])
    assert comparison.ok, str(comparison)
    # 17 quotients of rounded sums: of which each addition and division rounds once.
    assert np.allclose(results_of(spelled).astype(float).sum(axis=1), 1, rtol=18 * 2.0**-24)


@pytest.mark.parametrize("step", ElementwiseStep)
@pytest.mark.parametrize("types", TYPES, ids=str)
def test_steps_are_possible_on_the_types_that_they_say(step: ElementwiseStep, types: Types) -> None:
    program = Cast((3, 5), types, (step,))
    if is_possible(step, types.accumulator):
        npuflow.parse(program.text(), npuflow.new_context())
        return
    with pytest.raises((npuflow.InputError, KeyError, ValueError)):
        npuflow.parse(program.text(), npuflow.new_context())

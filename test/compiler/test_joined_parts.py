"""Tensors that several phases write a part of each: one tensor, on the chip as well, and right wherever it lies."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pytest

import npuflow
from npuflow.compiler.sequence import execute_sequence
from npuflow.core.diagnostics import DiagnosticSink
from npuflow.network.decisions import ALL_DECISIONS, Decision

sys.path.insert(0, str(Path(__file__).parent))
from chains import Program, tensor

RANDOM = np.random.default_rng(5)
ROWS, WIDTH, MADE = 32, 32, 48


def joined(dimension: int, *, reads_part: bool) -> str:
    """Two products joined and multiplied; where it `reads_part`, the second is made of the first, and both are read."""
    p = Program("joined")
    x = p.argument(ROWS, WIDTH)
    first = p.relu(p.matmul(x, p.argument(WIDTH, MADE)))
    second = p.relu(p.matmul(first if reads_part else x, p.argument(MADE if reads_part else WIDTH, MADE)))
    shape = (2 * ROWS, MADE) if dimension == 0 else (ROWS, 2 * MADE)
    kinds = f"{tensor((ROWS, MADE))}, {tensor((ROWS, MADE))}"
    whole = p.line(f"tensor.concat dim({dimension}) {first}, {second} : ({kinds}) -> {tensor(shape)}", shape)
    return p.text(p.relu(p.matmul(whole, p.argument(shape[1], 16))))


def expected(arrays: list[np.ndarray], dimension: int, *, reads_part: bool) -> np.ndarray:
    x, one, other, last = arrays
    first = np.maximum(x @ one, 0)
    second = np.maximum((first if reads_part else x) @ other, 0)
    return np.maximum(np.concatenate([first, second], dimension) @ last, 0)


@pytest.mark.parametrize("reads_part", [False, True])
@pytest.mark.parametrize("dimension", [0, 1])
@pytest.mark.parametrize("device", ["npu1", "npu2", "toy"])
def test_parts_are_written_where_they_belong(device: str, dimension: int, reads_part: bool) -> None:
    compiled = npuflow.compile(
        joined(dimension, reads_part=reads_part),
        "npuflow-stream-k{bundle-matmuls=true}",
        device=device,
        split=True,
        disable="tries",
    )
    (sequence,) = compiled.sequences
    # Nobody puts it together: there are three products, the second of which writes into what the first one made.
    assert len(sequence.parts) == 3
    calls = sequence.compiled.calls
    (updated,) = [call for call in calls.calls if call.updates]
    whole = calls.first_versions[updated.outputs[0]]
    (value,) = [value for value in sequence.plan.between if value.number == whole]
    assert value.bytes == 4 * 2 * ROWS * MADE
    assert (value.first, value.last) == (0, 2)
    arrays = [RANDOM.integers(-2, 3, spec.shape).astype(np.float32) for spec in sequence.compiled.signature.inputs]
    wanted = expected(arrays, dimension, reads_part=reads_part)
    for one in (sequence, sequence.with_decided(ALL_DECISIONS - {Decision.RESIDENCY})):
        np.testing.assert_array_equal(execute_sequence(one.compiled, arrays).outputs[0], wanted)


def test_what_is_written_in_parts_stays_on_the_chip() -> None:
    text = joined(0, reads_part=True)
    compiled = npuflow.compile(text, "npuflow-stream-k{bundle-matmuls=true}", device="npu2", split=True)
    (sequence,) = compiled.sequences
    whole = next(value for value in sequence.plan.between if value.first == 0 and value.last == 2)
    assert whole.home is not None
    # One that reads a part of it and writes another does both there.
    made, updated, read = sequence.compiled.calls.calls
    number = made.outputs[0]
    assert updated.inputs.count(number) == 2
    assert made.home(number) == updated.home(updated.outputs[0]) == whole.home
    assert read.inputs[0] == updated.outputs[0]


def test_a_matmul_that_reads_what_is_joined_is_mapped_as_is_best_then() -> None:
    sink = DiagnosticSink()
    text = joined(0, reads_part=False)
    npuflow.compile(text, "npuflow-stream-k{bundle-matmuls=true}", device="npu2", split=True, sink=sink)
    asked = [one.message for one in sink.diagnostics if "as a bundle it takes an estimated" in one.message]
    # Those that write the parts are bundles for that.
    assert len(asked) == 1


def test_what_is_written_in_parts_is_returned_in_another_shape() -> None:
    p = Program("reshaped")
    x = p.argument(ROWS, WIDTH)
    made = [p.matmul(x, p.argument(WIDTH, MADE)) for _ in range(2)]
    flat, shape = tensor((ROWS, MADE)), (1, ROWS, MADE)
    parts = [
        p.line(f"tensor.expand_shape {one} [[0, 1], [2]] output_shape {[*shape]} : {flat} into {tensor(shape)}", shape)
        for one in made
    ]
    whole = (1, 2 * ROWS, MADE)
    kinds = f"{tensor(shape)}, {tensor(shape)}"
    result = p.line(f"tensor.concat dim(1) {', '.join(parts)} : ({kinds}) -> {tensor(whole)}", whole)
    compiled = npuflow.compile(p.text(result), "npuflow-stream-k{bundle-matmuls=true}", device="npu2", split=True)
    (sequence,) = compiled.sequences
    assert any(call.updates for call in sequence.compiled.calls.calls)
    arrays = [RANDOM.integers(-2, 3, spec.shape).astype(np.float32) for spec in sequence.compiled.signature.inputs]
    wanted = np.concatenate([arrays[0] @ arrays[1], arrays[0] @ arrays[2]])[None]
    np.testing.assert_array_equal(execute_sequence(sequence.compiled, arrays).outputs[0], wanted)

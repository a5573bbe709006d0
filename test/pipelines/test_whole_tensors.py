"""Softmax and norms, of whole tensors and however they are spelt: one group of ops, which reads each element once."""

from __future__ import annotations

from dataclasses import replace

import pytest
from judges import JUDGE
from profiles import spread

import npuflow
from npuflow.execute.verification import Status
from npuflow.testing.operator_rows import Centre, Norm, Softmax
from npuflow.testing.operators import OperatorProgram
from npuflow.testing.programs import Types

DEVICES = ("toy", "npu1", "npu2")
FLOAT, MIXED = Types("f32", "f32"), Types("bf16", "f32")

RMS_OF_ALL = """
#all = affine_map<(d0, d1, d2) -> (d0, d1, d2)>
#none = affine_map<(d0, d1, d2) -> ()>
func.func @rms(%x: tensor<3x5x37xf32>, %weight: tensor<37xf32>) -> tensor<3x5x37xf32> {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<3x5x37xf32>
  %s = tensor.empty() : tensor<f32>
  %start = linalg.fill ins(%zero : f32) outs(%s : tensor<f32>) -> tensor<f32>
  %sum = linalg.generic {indexing_maps = [#all, #none], iterator_types = ["reduction", "reduction", "reduction"]}
    ins(%x : tensor<3x5x37xf32>) outs(%start : tensor<f32>) {
  ^bb0(%in: f32, %out: f32):
    %square = arith.mulf %in, %in : f32
    %more = arith.addf %out, %square : f32
    linalg.yield %more : f32
  } -> tensor<f32>
  %r = linalg.generic {indexing_maps = [#all, #none, affine_map<(d0, d1, d2) -> (d2)>, #all],
    iterator_types = ["parallel", "parallel", "parallel"]}
    ins(%x, %sum, %weight : tensor<3x5x37xf32>, tensor<f32>, tensor<37xf32>) outs(%e : tensor<3x5x37xf32>) {
  ^bb0(%in: f32, %total: f32, %by: f32, %out: f32):
    %n = arith.constant 555.0 : f32
    %mean = arith.divf %total, %n : f32
    %root = math.rsqrt %mean : f32
    %scaled = arith.mulf %in, %root : f32
    %weighted = arith.mulf %scaled, %by : f32
    linalg.yield %weighted : f32
  } -> tensor<3x5x37xf32>
  return %r : tensor<3x5x37xf32>
}
"""


def on_devices(*programs: OperatorProgram) -> pytest.MarkDecorator:
    runs = [(program, device) for number, program in enumerate(programs) for device in spread(number, DEVICES)]
    return pytest.mark.parametrize(("program", "device"), runs, ids=str)


@on_devices(
    Softmax((2048,), 0, FLOAT),
    Softmax((37,), 0, MIXED, by_name=False),
    Softmax((1,), 0, FLOAT),
    Norm((2048,), Centre.RMS, MIXED),
    Norm((1021,), Centre.LAYER, FLOAT),
)
def test_vectors(program: OperatorProgram, device: str) -> None:
    check_one_group(program.text(), device)


@pytest.mark.parametrize("device", DEVICES)
def test_all_dimensions(device: str) -> None:
    check_one_group(RMS_OF_ALL, device)


@on_devices(
    Softmax((37,), 0, FLOAT, by_name=False, keeps_dims=True),
    Softmax((5, 64, 3), 1, FLOAT, by_name=False, keeps_dims=True),
    Norm((1, 7, 33), Centre.LAYER, FLOAT, keeps_dims=True),
    Norm((65, 130), Centre.RMS, MIXED, keeps_dims=True),
)
def test_dimensions_that_are_kept_change_nothing(program: Softmax | Norm, device: str) -> None:
    kept, lost = (
        npuflow.compile(each.text(), device=device, split=False).run(verify=True, judge=JUDGE).functions[0]
        for each in (program, replace(program, keeps_dims=False))
    )
    assert kept.verified.status is Status.OK, kept.verified.message
    assert (kept.traffic, kept.cycles) == (lost.traffic, lost.cycles)


def check_one_group(text: str, device: str) -> None:
    # Not in parts: one function, which has one tile of everything.
    (function,) = npuflow.compile(text, device=device, split=False).run(verify=True, judge=JUDGE).functions
    assert function.verified.status is Status.OK, function.verified.message
    outermost = function.traffic[0]
    assert outermost.read_bytes + outermost.write_bytes == outermost.compulsory_bytes

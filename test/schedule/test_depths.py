"""Slots of buffers are said level by level or operand by operand, and become depths of the schedule's buffers."""

from __future__ import annotations

from math import prod

import pytest

import npuflow

MATMUL = """
func.func @matmul(%a: tensor<128x256xi8>, %b: tensor<256x128xi8>) -> tensor<128x128xi32> {
  %zero = arith.constant 0 : i32
  %e = tensor.empty() : tensor<128x128xi32>
  %f = linalg.fill ins(%zero : i32) outs(%e : tensor<128x128xi32>) -> tensor<128x128xi32>
  %r = linalg.matmul ins(%a, %b : tensor<128x256xi8>, tensor<256x128xi8>) outs(%f : tensor<128x128xi32>)
    -> tensor<128x128xi32>
  return %r : tensor<128x128xi32>
}
"""
TILES = "grid=2,2 tile-l2=64,64,64 tile-l1=32,32,32 pack=4,8,8"


def depths(options: str) -> list[int]:
    """The depths of all buffers in L2 and L1."""
    compiled = npuflow.compile(MATMUL, device="npu1", pipeline=f"npuflow-stream-k{{{TILES} {options}}}")
    (function,) = compiled.functions
    return [buffer.depth for buffer in function.compiled.schedule.buffers.values() if buffer.level != 3]


@pytest.mark.parametrize(("options", "depth"), [("", 1), ("depth-tail=2", 2)])
def test_slots_of_what_a_tail_reads(options: str, depth: int) -> None:
    bias = """
func.func @matmul(%a: tensor<128x256xi8>, %b: tensor<256x128xi8>, %c: tensor<128xi32>) -> tensor<128x128xi32> {
  %zero = arith.constant 0 : i32
  %e = tensor.empty() : tensor<128x128xi32>
  %f = linalg.fill ins(%zero : i32) outs(%e : tensor<128x128xi32>) -> tensor<128x128xi32>
  %r = linalg.matmul ins(%a, %b : tensor<128x256xi8>, tensor<256x128xi8>) outs(%f : tensor<128x128xi32>)
    -> tensor<128x128xi32>
  %t = linalg.generic {
    indexing_maps = [affine_map<(m, n) -> (m, n)>, affine_map<(m, n) -> (n)>, affine_map<(m, n) -> (m, n)>],
    iterator_types = ["parallel", "parallel"]
  } ins(%r, %c : tensor<128x128xi32>, tensor<128xi32>) outs(%e : tensor<128x128xi32>) {
  ^bb0(%x: i32, %y: i32, %out: i32):
    %s = arith.addi %x, %y : i32
    linalg.yield %s : i32
  } -> tensor<128x128xi32>
  return %t : tensor<128x128xi32>
}
"""
    compiled = npuflow.compile(bias, device="npu1", pipeline=f"npuflow-stream-k{{{TILES} {options}}}")
    (function,) = compiled.functions
    buffers = function.compiled.schedule.buffers.values()
    assert {b.level: b.depth for b in buffers if b.level != 3 and prod(b.shape) == 32} == {2: depth, 1: depth}


@pytest.mark.parametrize(
    ("options", "singles"),
    [
        ("", 2),  # the result's, in L2 and L1
        ("depth-result=2", 0),
        ("depth-l1=1", 4),
        ("depth-l1=1 depth-l2=1", 6),
        ("depth-rhs=2,1", 3),
        ("depth-lhs=1,1 depth-rhs=2,1", 5),
    ],
)
def test_slots_are_as_said(options: str, singles: int) -> None:
    found = depths(options)
    assert len(found) == 6
    assert set(found) <= {1, 2}
    assert found.count(1) == singles

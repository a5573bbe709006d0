"""Footprints are arithmetic a person can redo, and are those of the buffers that the pipelines really allocate."""

from __future__ import annotations

import re
from dataclasses import replace
from math import prod

import pytest

import npuflow
from npuflow.core.passes import ops_of
from npuflow.strategy.footprint import (
    Problem,
    TailOperand,
    l1_buffers,
    l2_buffers,
    l3_traffic_bytes,
    padded,
    padded_macs,
    total_bytes,
)
from npuflow.strategy.strategy import Strategy

ELEMENT_BYTES = {"i8": 1, "i32": 4}
STRATEGY = Strategy((2, 2), (64, 64, 256), (32, 32, 32), (4, 8, 8), 2, 2)
OPTIONS = "device=npu1 grid=2,2 tile-l2=64,64,256 tile-l1=32,32,32 pack=4,8,8"
BIASED = Problem(
    100, 130, 300, 1, ("i8", "i8", "i32"), 1, 1, 4, 1, has_tail=True, tail_operands=(TailOperand(False, True, 4),)
)


def test_footprints_by_hand() -> None:
    """L1: 2 x 32 x 32 of each operand, 32 x 32 x 4 sums, 32 x 32 results, 32 x 4 bias; L2: 64-wide likewise."""
    assert [b.bytes for b in l1_buffers(BIASED, STRATEGY)] == [2048, 2048, 4096, 1024, 128]
    assert [b.bytes for b in l2_buffers(BIASED, STRATEGY, whole_k=False)] == [32768, 32768, 4096, 256]
    assert [b.bytes for b in l2_buffers(BIASED, STRATEGY, whole_k=True)] == [65536, 65536, 4096, 256]


def test_traffic_and_work_by_hand() -> None:
    """2 x 3 blocks: A crosses three times, B twice, the result once; every block counts as a full one in work."""
    assert l3_traffic_bytes(BIASED, STRATEGY) == 100 * 300 * 3 + 300 * 130 * 2 + 100 * 130
    assert padded_macs(BIASED, STRATEGY) == 128 * 192 * 512
    assert [padded(size, 64) for size in (1, 64, 65)] == [64, 64, 128]


BIAS_TAIL = """
#same = affine_map<(d0, d1) -> (d0, d1)>
func.func @f(%a: tensor<100x300xi8>, %b: tensor<300x130xi8>, %bias: tensor<130xi32>,
    %c: tensor<100x130xi32>) -> tensor<100x130xi8> {
  %zero = arith.constant 0 : i32
  %e = tensor.empty() : tensor<100x130xi32>
  %o = tensor.empty() : tensor<100x130xi8>
  %f = linalg.fill ins(%zero : i32) outs(%e : tensor<100x130xi32>) -> tensor<100x130xi32>
  %r = linalg.matmul ins(%a, %b : tensor<100x300xi8>, tensor<300x130xi8>) outs(%f : tensor<100x130xi32>)
      -> tensor<100x130xi32>
  %t = linalg.generic {indexing_maps = [#same, affine_map<(d0, d1) -> (d1)>, #same],
      iterator_types = ["parallel", "parallel"]}
      ins(%r, %bias : tensor<100x130xi32>, tensor<130xi32>) outs(%o : tensor<100x130xi8>) {
  ^bb0(%x: i32, %y: i32, %out: i8):
    %s = arith.addi %x, %y : i32
    %u = arith.trunci %s : i32 to i8
    linalg.yield %u : i8
  } -> tensor<100x130xi8>
  return %t : tensor<100x130xi8>
}
"""
ALLOCATED = re.compile(r"memref<([0-9x]+)x(i8|i32), ([12])>")


def slot_bytes(source: str, pipeline: str, space: int) -> list[int]:
    """The sizes of all buffers in a memory space that a pipeline allocates."""
    module = npuflow.parse(source, npuflow.new_context())
    npuflow.run_pipeline(module, f"{pipeline}{{{OPTIONS}}}")
    found = [ALLOCATED.fullmatch(str(op.results[0].type)) for op in ops_of(module.operation, "memref.alloc")]
    inner = [match for match in found if match is not None and int(match[3]) == space]
    return sorted(prod(map(int, match[1].split("x"))) * ELEMENT_BYTES[match[2]] for match in inner)


@pytest.mark.parametrize("is_filled", [True, False])
@pytest.mark.parametrize(("pipeline", "whole_k"), [("npuflow-stream-k", False), ("npuflow-pad-pack", True)])
def test_the_pipelines_allocate_what_the_footprint_says(pipeline: str, whole_k: bool, is_filled: bool) -> None:
    problem = replace(BIASED, is_filled=is_filled)
    source = BIAS_TAIL if is_filled else BIAS_TAIL.replace("outs(%f", "outs(%c")
    assert slot_bytes(source, pipeline, space=2) == sorted(b.slot_bytes for b in l1_buffers(problem, STRATEGY))
    assert slot_bytes(source, pipeline, space=1) == sorted(b.slot_bytes for b in l2_buffers(problem, STRATEGY, whole_k))


def test_total_is_over_all_slots() -> None:
    assert total_bytes(l1_buffers(BIASED, STRATEGY)) == 2048 + 2048 + 4096 + 1024 + 128

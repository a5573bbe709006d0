"""How long kernels' programs are taken to be."""

from __future__ import annotations

from dataclasses import replace

import pytest

import npuflow
from npuflow.core.passes import ops_of
from npuflow.kernels.code_bytes import function_bytes, kernel_bytes
from npuflow.target import Device, load_device

NPU1 = load_device("npu1")


def elementwise(*body: str, type_: str = "f32") -> str:
    """A kernel of two inputs %x and %y, whose body gives %r."""
    tile, lines = f"memref<8x8x{type_}, 2>", "\n            ".join(body)
    return f"""
        #id = affine_map<(i, j) -> (i, j)>
        func.func @kernel(%a: {tile}, %b: {tile}, %c: {tile}) {{
          linalg.generic {{indexing_maps = [#id, #id, #id], iterator_types = ["parallel", "parallel"]}}
            ins(%a, %b : {tile}, {tile}) outs(%c : {tile}) {{
          ^bb0(%x: {type_}, %y: {type_}, %o: {type_}):
            {lines}
            linalg.yield %r : {type_}
          }}
          return
        }}"""


def bytes_of(text: str) -> int:
    """Of the kernel's linalg op."""
    module = npuflow.parse(text, npuflow.new_context())
    (op,) = ops_of(module.operation, "linalg.generic")
    return kernel_bytes(op, NPU1)


def function_bytes_of(text: str, device: Device = NPU1) -> int:
    module = npuflow.parse(text, npuflow.new_context())
    (function,) = ops_of(module.operation, "func.func")
    return function_bytes(function, device)


def test_an_addition_takes_what_the_page_says() -> None:
    # 16 around, one run of loops at 8, three operands at 2 each, one addition: 31 instructions.
    assert bytes_of(elementwise("%r = arith.addf %x, %y : f32")) == 31 * 16


def test_a_function_takes_a_table_look_up() -> None:
    plain = bytes_of(elementwise("%r = arith.addf %x, %y : f32"))
    assert bytes_of(elementwise("%s = math.exp %x : f32", "%r = arith.addf %s, %y : f32")) == plain + 16 * 16


@pytest.mark.parametrize(("type_", "instructions"), [("f32", 8), ("bf16", 1)])
def test_a_type_that_takes_cycles_takes_instructions(type_: str, instructions: int) -> None:
    # On npu1 a multiplication of f32 occupies its unit for 8 cycles; the sum is no part of a product here.
    added = bytes_of(elementwise(f"%r = arith.addf %x, %y : {type_}", type_=type_))
    multiplied = bytes_of(elementwise(f"%r = arith.mulf %x, %y : {type_}", type_=type_))
    assert multiplied - added == (instructions - 1) * 16


def test_code_grows_with_the_body() -> None:
    chain = [f"%e{i + 1} = math.exp %e{i} : f32" for i in range(800)]
    chain[0] = "%e1 = math.exp %x : f32"
    assert bytes_of(elementwise(*chain, "%r = arith.addf %e800, %y : f32")) == 31 * 16 + 800 * 16 * 16


def test_a_matrix_kernel_is_unrolled() -> None:
    a, c = "memref<8x8xi8, 2>", "memref<8x8xi32, 2>"
    body = f"linalg.matmul ins(%a, %b : {a}, {a}) outs(%c : {c})\n  return"
    text = f"func.func @k(%a: {a}, %b: {a}, %c: {c}) {{\n  {body}\n}}"
    assert 192 * 16 < function_bytes_of(text) < 256 * 16


def test_loops_written_out_count_by_their_operations() -> None:
    loops = """func.func @k(%a: memref<8xf32, 2>) {
      %c0 = arith.constant 0 : index
      %c1 = arith.constant 1 : index
      %c8 = arith.constant 8 : index
      scf.for %i = %c0 to %c8 step %c1 {
        %v = memref.load %a[%i] : memref<8xf32, 2>
        %e = math.exp %v : f32
        memref.store %e, %a[%i] : memref<8xf32, 2>
      }
      return
    }"""
    # Three constants, a loop and its end, a load and a store, the return, and an exponential of 16.
    assert function_bytes_of(loops) == (8 + 16) * 16


def test_the_length_of_an_instruction_is_the_devices() -> None:
    wide = replace(NPU1, engines=(replace(NPU1.engines[0], instruction_bytes=32),))
    text = elementwise("%r = arith.addf %x, %y : f32")
    assert function_bytes_of(text, wide) == 2 * function_bytes_of(text)

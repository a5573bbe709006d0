"""Ops as the model of the vector unit sees them."""

import pytest

from npuflow.core.parsing import parse
from npuflow.core.passes import ops_of
from npuflow.dialect.context import new_context
from npuflow.kernels.describe_vector import describe_vector_work
from npuflow.kernels.vector_cycles import LOADED, SUM, Node, VectorOperand, VectorWork
from npuflow.ops.once import described_once


def work_of(
    maps: list[str], kinds: str, types: list[str], body: str, dims: str = "d0, d1", *, lookup: bool = False
) -> VectorWork:
    """The work of a linalg.generic whose operands are %0, %1 ..., the last of which is written."""
    arguments = ", ".join(f"%{i}: tensor<{type_}>" for i, type_ in enumerate(types))
    elements = ", ".join(f"%e{i}: {type_.split('x')[-1]}" for i, type_ in enumerate(types))
    last = len(types) - 1
    ins = ", ".join(f"%{i}" for i in range(last)), ", ".join(f"tensor<{t}>" for t in types[:-1])
    iterators = ", ".join(f'"{"parallel" if kind == "p" else "reduction"}"' for kind in kinds)
    text = f"""
func.func @f({arguments}) -> tensor<{types[-1]}> {{
  %r = linalg.generic {{indexing_maps = [{", ".join(f"affine_map<({dims}) -> ({m})>" for m in maps)}],
                       iterator_types = [{iterators}]}}
    ins({ins[0]} : {ins[1]}) outs(%{last} : tensor<{types[-1]}>){" attrs = {npu.lookup}" * lookup} {{
  ^bb0({elements}):
    {body}
  }} -> tensor<{types[-1]}>
  return %r : tensor<{types[-1]}>
}}"""
    module = parse(text, new_context(), "test.mlir")
    return describe_vector_work(ops_of(module.operation, "linalg.generic")[0])


def test_an_op_is_described_once_in_a_block() -> None:
    text = """
func.func @f(%x: tensor<8xf32>, %e: tensor<8xf32>) -> tensor<8xf32> {
  %r = linalg.exp ins(%x : tensor<8xf32>) outs(%e : tensor<8xf32>) -> tensor<8xf32>
  return %r : tensor<8xf32>
}"""
    module = parse(text, new_context(), "test.mlir")
    op = ops_of(module.operation, "linalg.exp")[0]
    with described_once():
        assert describe_vector_work(op) is describe_vector_work(op)
        known = describe_vector_work(op)
    assert describe_vector_work(op) == known
    assert describe_vector_work(op) is not known


def operand(element_bytes: int, follows: set[int], *along: int) -> VectorOperand:
    return VectorOperand(element_bytes, frozenset(follows), along)


ADD = "%s = arith.addf %e0, %e1 : bf16\n linalg.yield %s : bf16"


def test_loops_that_all_operands_go_through_alike_are_one() -> None:
    work = work_of(["d0, d1"] * 3, "pp", ["4x8xbf16"] * 3, ADD)
    assert (work.runs, work.sums) == (((0, 1),), (False,))
    assert work.inputs == (operand(2, {0}, 0),) * 2
    assert work.nodes == (Node("add", "bf16", (LOADED,)),)


def test_a_row_that_is_repeated_keeps_them_apart() -> None:
    work = work_of(["d0, d1", "d1", "d0, d1"], "pp", ["4x8xbf16", "8xbf16", "4x8xbf16"], ADD)
    assert work.runs == ((0,), (1,))
    assert work.inputs == (operand(2, {0, 1}, 0, 1), operand(2, {1}, 1))


def test_a_transposed_operand_lies_along_another_loop() -> None:
    work = work_of(["d0, d1", "d1, d0", "d0, d1"], "pp", ["4x8xbf16", "8x4xbf16", "4x8xbf16"], ADD)
    assert work.inputs == (operand(2, {0, 1}, 0, 1), operand(2, {0, 1}, 1, 0))


def test_a_sum_of_exact_products_is_one_multiply_add() -> None:
    body = """%x = arith.extf %e0 : bf16 to f32
    %y = arith.extf %e1 : bf16 to f32
    %p = arith.mulf %x, %y : f32
    %s = arith.addf %e2, %p : f32
    linalg.yield %s : f32"""
    work = work_of(["d0, d1", "d1", "d0"], "pr", ["4x8xbf16", "8xbf16", "4xf32"], body)
    assert work.nodes == (Node("multiply-add", "bf16", (SUM, LOADED)),)
    assert (work.sums, work.widest_bytes, work.narrowest_bytes) == ((False, True), 4, 2)
    # The sum stays in registers.
    assert len(work.inputs) == 2


def test_a_rounded_product_is_added_on_its_own() -> None:
    body = "%p = arith.mulf %e0, %e1 : bf16\n %s = arith.addf %p, %e1 : bf16\n linalg.yield %s : bf16"
    work = work_of(["d0, d1"] * 3, "pp", ["4x8xbf16"] * 3, body)
    assert work.nodes == (Node("multiply", "bf16", (LOADED,)), Node("add", "bf16", (0, LOADED)))


def test_a_widened_number_that_is_no_factor_is_converted() -> None:
    body = "%x = arith.extf %e0 : bf16 to f32\n %s = arith.addf %x, %x : f32\n linalg.yield %s : f32"
    work = work_of(["d0, d1"] * 2, "pp", ["4x8xbf16", "4x8xf32"], body)
    assert work.nodes == (Node("convert", "bf16", (LOADED,)), Node("add", "f32", (0,)))


@pytest.mark.parametrize(
    ("operation", "kind"),
    [
        ("math.exp %e0 : f32", "exponential"),
        ("math.tanh %e0 : f32", "tanh"),
        ("math.rsqrt %e0 : f32", "root"),
        ("math.erf %e0 : f32", "erf"),
        ("arith.divf %e0, %e0 : f32", "divide"),
        ("arith.maximumf %e0, %e0 : f32", "compare"),
        ("math.sin %e0 : f32", "other"),
    ],
)
def test_operations_by_kind(operation: str, kind: str) -> None:
    work = work_of(["d0, d1"] * 2, "pp", ["4x8xf32"] * 2, f"%s = {operation}\n linalg.yield %s : f32")
    assert work.nodes == (Node(kind, "f32", (LOADED,)),)


def test_what_a_body_does_not_use_is_not_loaded_and_constants_cost_nothing() -> None:
    body = "%c = arith.constant 2.0 : f32\n %s = arith.mulf %e0, %c : f32\n linalg.yield %s : f32"
    work = work_of(["d0, d1", "d1", "d0, d1"], "pp", ["4x8xf32", "8xf32", "4x8xf32"], body)
    assert len(work.inputs) == 1
    assert work.nodes == (Node("multiply", "f32", (LOADED,)),)


def test_a_window_lies_along_its_channels() -> None:
    body = "%p = arith.mulf %e0, %e1 : f32\n %s = arith.addf %e2, %p : f32\n linalg.yield %s : f32"
    work = work_of(
        ["d0 * 2 + d2, d1", "d2, d1", "d0, d1"], "ppr", ["9x16xf32", "3x16xf32", "4x16xf32"], body, "d0, d1, d2"
    )
    assert work.runs == ((0,), (1,), (2,))
    # Behind a row of a window the next position's begins elsewhere; the taps lie side by side as a whole.
    assert work.inputs == (operand(4, {0, 1, 2}, 1), operand(4, {1, 2}, 2, 1))


def test_neighbouring_pixels_of_a_window_lie_side_by_side() -> None:
    body = "%p = arith.mulf %e0, %e1 : f32\n %s = arith.addf %e2, %p : f32\n linalg.yield %s : f32"
    work = work_of(["d1, d0 + d2", "d1, d2", "d1, d0"], "ppr", ["3x6xf32", "3x3xf32", "3x4xf32"], body, "d0, d1, d2")
    assert work.inputs[0] == VectorOperand(4, frozenset({0, 1, 2}), (2,), ((0, 1), (2, 1)))
    assert work.outputs == (operand(4, {0, 1}, 1, 0),)


def test_pixels_of_a_window_with_a_stride_lie_apart() -> None:
    body = "%p = arith.mulf %e0, %e1 : f32\n %s = arith.addf %e2, %p : f32\n linalg.yield %s : f32"
    maps = ["d1, d0 * 2 + d2", "d1, d2", "d1, d0"]
    work = work_of(maps, "ppr", ["3x9xf32", "3x3xf32", "3x4xf32"], body, "d0, d1, d2")
    assert work.inputs[0].apart == ((0, 2), (2, 1))
    # What goes along a loop in another dimension as well lies apart by more.
    work = work_of(["d0, d0 + d1", "d1", "d0"], "pr", ["4x7xf32", "4xf32", "4xf32"], body, "d0, d1")
    assert work.inputs[0].apart == ((1, 1),)
    # What is written with a stride leaves what lies between.
    body = "%s = arith.addf %e0, %e0 : f32\n linalg.yield %s : f32"
    work = work_of(["d0, d1", "d0 * 4 + d1"], "pp", ["2x4xf32", "8xf32"], body, "d0, d1")
    assert work.outputs[0].apart == ()


def test_a_fill_stores_in_order() -> None:
    text = """
func.func @f(%x: f32, %t: tensor<4x8xf32>) -> tensor<4x8xf32> {
  %r = linalg.fill ins(%x : f32) outs(%t : tensor<4x8xf32>) -> tensor<4x8xf32>
  return %r : tensor<4x8xf32>
}"""
    module = parse(text, new_context(), "test.mlir")
    work = describe_vector_work(ops_of(module.operation, "linalg.fill")[0])
    assert work == VectorWork(((0, 1),), (False,), (), (operand(4, {0}, 0),), (), 4)


SEARCH = """%hit = arith.cmpi eq, %e1, %e2 : i32
    %v = arith.select %hit, %e0, %e3 : f32
    linalg.yield %v : f32"""
LOOKED_UP = [Node("add", "i32", (LOADED,)), Node("compare", "i32", (0,)), Node("compare", "i32", (1,))]


def test_a_row_that_is_looked_up_is_moved_in_vectors() -> None:
    maps, types = ["d2, d1", "d0", "d2", "d0, d1"], ["6x8xf32", "4xi32", "6xi32", "4x8xf32"]
    work = work_of(maps, "ppr", types, SEARCH, "d0, d1, d2", lookup=True)
    assert (work.runs, work.sums) == (((0,), (1,)), (False, False))
    assert work.inputs == (operand(4, {0, 1}, 1), operand(4, {0}, 0), operand(4, {0, 1}, 0, 1))
    assert work.nodes == (*LOOKED_UP, Node("compare", "f32", (2, 1)))


def test_single_elements_that_are_looked_up_are_loaded_one_by_one_as_are_their_places() -> None:
    maps, types = ["d1", "d0", "d1", "d0"], ["6xf32", "4xi32", "6xi32", "4xf32"]
    work = work_of(maps, "pr", types, SEARCH, lookup=True)
    assert work.runs == ((0,),)
    assert work.inputs == (operand(4, {0}), operand(4, {0}), operand(4, {0}, 0))
    assert work_of(maps, "pr", types, SEARCH).runs == ((0,), (1,))


def test_what_is_scattered_is_read_and_written_step_by_step() -> None:
    maps, types = ["d1", "d1", "d0", "d0"], ["6xf32", "6xi32", "4xi32", "4xf32"]
    work = work_of(maps, "pr", types, SEARCH, lookup=True)
    assert (work.runs, work.sums) == (((1,),), (False,))
    assert work.outputs == (operand(4, {0}),)


@pytest.mark.parametrize(
    ("low", "high", "narrowed", "saturates"),
    [
        ("-128.0", "127.0", "i8", 2),
        ("-127.0", "127.0", "i8", 2),
        ("-1.0", "127.0", "i8", 1),  # of the lower bound an array knows nothing
        ("-128.0", "127.0", "i16", 0),
        ("-32768.0", "32767.0", "i16", 2),
    ],
)
def test_a_range_that_a_conversion_saturates_to_is_part_of_it(
    low: str, high: str, narrowed: str, saturates: int
) -> None:
    body = f"""%low = arith.constant {low} : f32
    %high = arith.constant {high} : f32
    %a = arith.maximumf %e0, %low : f32
    %b = arith.minimumf %a, %high : f32
    %c = arith.fptosi %b : f32 to {narrowed}
    linalg.yield %c : {narrowed}"""
    work = work_of(["d0"] * 2, "p", ["64xf32", f"64x{narrowed}"], body, "d0")
    assert [node.operation for node in work.nodes].count("saturate") == saturates
    assert [node.operation for node in work.nodes].count("compare") == 2 - saturates


def test_a_number_in_a_range_that_something_else_reads_is_not_part_of_a_conversion() -> None:
    body = """%high = arith.constant 127.0 : f32
    %a = arith.minimumf %e0, %high : f32
    %b = arith.fptosi %a : f32 to i8
    %c = arith.sitofp %b : i8 to f32
    %d = arith.subf %a, %c : f32
    linalg.yield %d : f32"""
    work = work_of(["d0"] * 2, "p", ["64xf32"] * 2, body, "d0")
    assert [node.operation for node in work.nodes] == ["compare", "convert", "convert", "add"]


def test_whole_numbers_that_are_narrowed_saturate_too() -> None:
    body = """%low = arith.constant -128 : i32
    %high = arith.constant 127 : i32
    %a = arith.maxsi %e0, %low : i32
    %b = arith.minsi %a, %high : i32
    %c = arith.trunci %b : i32 to i8
    linalg.yield %c : i8"""
    work = work_of(["d0"] * 2, "p", ["64xi32", "64xi8"], body, "d0")
    assert [node.operation for node in work.nodes] == ["saturate", "saturate", "convert"]

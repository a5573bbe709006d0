"""The JIT: every way a function takes and returns arrays, every op our pipelines leave, and programs that misbehave."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

import npuflow
from npuflow.core.passes import ops_of
from npuflow.execute import jit
from npuflow.execute.arrays import Array, dtype_of
from npuflow.execute.data import random_arrays
from npuflow.execute.jit import Execution, compile_function, compile_functions
from npuflow.execute.limits import LimitError, Limits, ProgramFailedError, limited
from npuflow.execute.lowering import NotExecutableError, isolated, lower_to_llvm
from npuflow.execute.order_loops import order_loops
from npuflow.ops.allowed_ops import ELEMENT_TYPES
from npuflow.ops.linear import iterators


def execute(text: str, *inputs: Array, function: str = "f", poison: bool = True) -> Execution:
    module = npuflow.parse(text, npuflow.new_context())
    return compile_function(module.operation, function, poison=poison).run(inputs)


def result_of(text: str, *inputs: Array, function: str = "f") -> Array:
    (result,) = execute(text, *inputs, function=function).results
    return result


COUNT = np.arange(12, dtype=np.int32).reshape(3, 4)


@pytest.mark.parametrize("element", ELEMENT_TYPES)
def test_every_element_type_comes_back_as_it_went_in(element: str) -> None:
    text = f"""
      func.func @f(%t: tensor<3x4x{element}>, %s: {element}) -> (tensor<3x4x{element}>, {element}) {{
        return %t, %s : tensor<3x4x{element}>, {element}
      }}"""
    module = npuflow.parse(text, npuflow.new_context())
    program = compile_function(module.operation, "f")
    inputs = random_arrays(program.signature.inputs, 0)
    results = program.run(inputs).results
    assert [r.dtype for r in results] == [dtype_of(element)] * 2
    assert all(np.array_equal(a, b) for a, b in zip(inputs, results, strict=True))


def test_no_arguments_and_no_results() -> None:
    assert execute("func.func @f() { return }") == Execution([], [])


def test_private_helpers_are_called() -> None:
    text = """
      func.func private @twice(%t: tensor<3x4xi32>) -> tensor<3x4xi32> {
        %e = tensor.empty() : tensor<3x4xi32>
        %r = linalg.add ins(%t, %t : tensor<3x4xi32>, tensor<3x4xi32>) outs(%e : tensor<3x4xi32>) -> tensor<3x4xi32>
        return %r : tensor<3x4xi32>
      }
      func.func @f(%t: tensor<3x4xi32>) -> tensor<3x4xi32> {
        %a = call @twice(%t) : (tensor<3x4xi32>) -> tensor<3x4xi32>
        %b = call @twice(%a) : (tensor<3x4xi32>) -> tensor<3x4xi32>
        return %b : tensor<3x4xi32>
      }
      func.func @other(%t: tensor<3x4xi32>) -> tensor<3x4xi32> { return %t : tensor<3x4xi32> }"""
    assert np.array_equal(result_of(text, COUNT), 4 * COUNT)
    assert np.array_equal(result_of(text, COUNT, function="other"), COUNT)


def test_functions_beside_it_do_not_matter() -> None:
    text = """
      func.func @strange(%t: tensor<?xi32>) { gpu.barrier return }
      func.func private @declared()
      func.func @f(%t: tensor<3x4xi32>) -> tensor<3x4xi32> { return %t : tensor<3x4xi32> }"""
    assert np.array_equal(result_of(text, COUNT), COUNT)


def test_arithmetic_on_whole_tensors() -> None:
    text = """
      func.func @f(%t: tensor<3x4xi32>) -> tensor<3x4xi32> {
        %c = arith.constant dense<3> : tensor<3x4xi32>
        %r = arith.muli %t, %c : tensor<3x4xi32>
        return %r : tensor<3x4xi32>
      }"""
    assert np.array_equal(result_of(text, COUNT), 3 * COUNT)


def test_an_argument_of_tensors_is_not_changed() -> None:
    text = """
      func.func @f(%t: tensor<3x4xi32>) -> (tensor<3x4xi32>, tensor<3x4xi32>) {
        %c = arith.constant 7 : i32
        %r = linalg.fill ins(%c : i32) outs(%t : tensor<3x4xi32>) -> tensor<3x4xi32>
        return %r, %t : tensor<3x4xi32>, tensor<3x4xi32>
      }"""
    filled, given = execute(text, COUNT).results
    assert np.array_equal(filled, np.full((3, 4), 7))
    assert np.array_equal(given, COUNT)


def test_buffers_are_written_in_place_and_spaces_do_not_matter() -> None:
    text = """
      func.func @f(%t: memref<3x4xi32>, %out: memref<3x4xi32>) attributes {npu.mark = 1} {
        %a = memref.alloc() : memref<3x4xi32, 2>
        memref.copy %t, %a : memref<3x4xi32> to memref<3x4xi32, 2>
        %c = memref.memory_space_cast %a : memref<3x4xi32, 2> to memref<3x4xi32>
        memref.copy %c, %out : memref<3x4xi32> to memref<3x4xi32>
        memref.dealloc %a : memref<3x4xi32, 2>
        return
      }"""
    arguments = execute(text, COUNT, np.zeros_like(COUNT)).arguments
    assert np.array_equal(arguments[1], COUNT)


def test_a_strided_view_of_an_argument_can_be_returned() -> None:
    text = """
      func.func @f(%t: memref<3x4xi32>) -> memref<2x2xi32, strided<[4, 2], offset: 5>> {
        %v = memref.subview %t[1, 1] [2, 2] [1, 2] : memref<3x4xi32> to memref<2x2xi32, strided<[4, 2], offset: 5>>
        return %v : memref<2x2xi32, strided<[4, 2], offset: 5>>
      }"""
    assert np.array_equal(result_of(text, COUNT), COUNT[1:, 1::2])


def test_an_argument_with_a_dynamic_layout() -> None:
    kind = "memref<3x4xi32, strided<[?, ?], offset: ?>>"
    text = f"func.func @f(%t: {kind}) -> {kind} {{ return %t : {kind} }}"
    assert np.array_equal(result_of(text, COUNT), COUNT)


PACK = """
  func.func @f(%t: {kind}<5x7xi32>) -> {kind}<{outer}x4x2xi32> {{
    %p = arith.constant -1 : i32
    {destination}
    {pack}
    return %d : {kind}<{outer}x4x2xi32>
  }}"""


@pytest.mark.parametrize("kind", ["tensor", "memref"])
@pytest.mark.parametrize("permutation", [(0, 1), (1, 0)])
def test_pack_pads_and_permutes(kind: str, permutation: tuple[int, int]) -> None:
    outer = [(3, 2)[dim] for dim in permutation]
    packed = f"{kind}<{outer[0]}x{outer[1]}x4x2xi32>"
    how = f"outer_dims_perm = [{permutation[0]}, {permutation[1]}] inner_dims_pos = [1, 0] inner_tiles = [4, 2]"
    if kind == "tensor":
        body = f"""%e = tensor.empty() : {packed}
        %d = linalg.pack %t padding_value(%p : i32) {how} into %e : tensor<5x7xi32> -> {packed}"""
    else:
        body = f"""%d = memref.alloc() : {packed}
        linalg.pack %t padding_value(%p : i32) {how} into %d : memref<5x7xi32> -> {packed}"""
    text = f"""func.func @f(%t: {kind}<5x7xi32>) -> {packed} {{
        %p = arith.constant -1 : i32
        {body}
        return %d : {packed}
      }}"""
    given = np.arange(35, dtype=np.int32).reshape(5, 7)
    padded = np.full((6, 8), -1, np.int32)
    padded[:5, :7] = given
    expected = padded.reshape(3, 2, 2, 4).transpose(0, 2, 3, 1).transpose(*permutation, 2, 3)
    assert np.array_equal(result_of(text, given), expected)


@pytest.mark.parametrize("kind", ["tensor", "memref"])
def test_unpack_leaves_the_padding_out(kind: str) -> None:
    source, plain = f"{kind}<2x3x4x2xi32>", f"{kind}<5x7xi32>"
    how = "outer_dims_perm = [1, 0] inner_dims_pos = [1, 0] inner_tiles = [4, 2]"
    if kind == "tensor":
        body = f"""%e = tensor.empty() : {plain}
        %d = linalg.unpack %t {how} into %e : {source} -> {plain}"""
    else:
        body = f"""%d = memref.alloc() : {plain}
        linalg.unpack %t {how} into %d : {source} -> {plain}"""
    text = f"func.func @f(%t: {source}) -> {plain} {{ {body}\n return %d : {plain} }}"
    given = np.arange(48, dtype=np.int32).reshape(2, 3, 4, 2)
    expected = given.transpose(1, 0, 2, 3).transpose(0, 3, 1, 2).reshape(6, 8)[:5, :7]
    assert np.array_equal(result_of(text, given), expected)


def test_parallel_loops_and_control_flow() -> None:
    text = """
      func.func @f(%t: tensor<3x4xi32>) -> tensor<3x4xi32> {
        %e = tensor.empty() : tensor<3x4xi32>
        %r = scf.forall (%i, %j) in (3, 4) shared_outs(%o = %e) -> tensor<3x4xi32> {
          %x = tensor.extract %t[%i, %j] : tensor<3x4xi32>
          %c = arith.constant 5 : i32
          %small = arith.cmpi slt, %x, %c : i32
          %y = scf.if %small -> i32 {
            scf.yield %c : i32
          } else {
            scf.yield %x : i32
          }
          %one = tensor.from_elements %y : tensor<1x1xi32>
          scf.forall.in_parallel {
            tensor.parallel_insert_slice %one into %o[%i, %j] [1, 1] [1, 1] : tensor<1x1xi32> into tensor<3x4xi32>
          }
        }
        return %r : tensor<3x4xi32>
      }"""
    assert np.array_equal(result_of(text, COUNT), np.maximum(COUNT, 5))


OWNERS = """
  func.func @branch(%c: i1, %x: memref<4xf32>) -> memref<4xf32> {
    %r = scf.if %c -> memref<4xf32> {
      %a = memref.alloc() : memref<4xf32>
      memref.copy %x, %a : memref<4xf32> to memref<4xf32>
      scf.yield %a : memref<4xf32>
    } else {
      scf.yield %x : memref<4xf32>
    }
    return %r : memref<4xf32>
  }
  func.func @carried(%c: i1, %x: memref<4xf32>) -> memref<4xf32> {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c9 = arith.constant 9 : index
    %r = scf.for %i = %c0 to %c9 step %c1 iter_args(%b = %x) -> memref<4xf32> {
      %a = memref.alloc() : memref<4xf32>
      memref.copy %b, %a : memref<4xf32> to memref<4xf32>
      scf.yield %a : memref<4xf32>
    }
    return %r : memref<4xf32>
  }
  memref.global "private" constant @table : memref<4xf32, 1> = dense<[0.0, 1.0, 2.0, 3.0]>
  func.func @constant(%c: i1, %x: memref<4xf32>) -> memref<4xf32> {
    %t = memref.get_global @table : memref<4xf32, 1>
    %r = memref.memory_space_cast %t : memref<4xf32, 1> to memref<4xf32>
    return %r : memref<4xf32>
  }"""


@pytest.mark.parametrize("function", ["branch", "carried", "constant"])
@pytest.mark.parametrize("condition", [True, False])
def test_buffers_of_uncertain_owners_are_returned_whole(function: str, condition: bool) -> None:
    given = np.arange(4, dtype=np.float32)
    assert np.array_equal(result_of(OWNERS, np.array(condition), given, function=function), given)


def test_bf16_rounds_to_nearest_even() -> None:
    text = """
      func.func @f(%t: tensor<4xf32>) -> tensor<4xbf16> {
        %e = tensor.empty() : tensor<4xbf16>
        %r = linalg.generic {indexing_maps = [affine_map<(d) -> (d)>, affine_map<(d) -> (d)>],
            iterator_types = ["parallel"]} ins(%t : tensor<4xf32>) outs(%e : tensor<4xbf16>) {
        ^bb0(%x: f32, %o: bf16):
          %y = arith.truncf %x : f32 to bf16
          %z = arith.addf %y, %y : bf16
          linalg.yield %z : bf16
        } -> tensor<4xbf16>
        return %r : tensor<4xbf16>
      }"""
    given = np.array([1.0 + 2.0**-8, 1.0 + 3 * 2.0**-8, 3.14159, np.nan], np.float32)
    rounded = given.astype(dtype_of("bf16"))
    got = result_of(text, given).astype(np.float64)
    assert np.array_equal(got, 2 * rounded.astype(np.float64), equal_nan=True)


def summing(loops: str, summed: int, *operands: tuple[str, str]) -> str:
    """A sum of products of two operands to a third one, each where it is and its shape; the last loops are summed."""
    maps = ", ".join(f"affine_map<{loops} -> {place}>" for place, _ in operands)
    a, b, c = (f"memref<{shape}xf32>" for _, shape in operands)
    count = loops.count(",") + 1
    kinds = ", ".join(['"parallel"'] * (count - summed) + ['"reduction"'] * summed)
    return f"""
      func.func @f(%a: {a}, %b: {b}, %c: {c}) {{
        linalg.generic {{indexing_maps = [{maps}], iterator_types = [{kinds}]}} ins(%a, %b : {a}, {b}) outs(%c : {c}) {{
        ^bb0(%x: f32, %y: f32, %z: f32):
          %p = arith.mulf %x, %y : f32
          %s = arith.addf %z, %p : f32
          linalg.yield %s : f32
        }}
        return
      }}"""


def product(rows: int, steps: int, columns: int) -> str:
    """A matmul."""
    lhs, rhs, sums = ("(m, k)", f"{rows}x{steps}"), ("(k, n)", f"{steps}x{columns}"), ("(m, n)", f"{rows}x{columns}")
    return summing("(m, n, k)", 1, lhs, rhs, sums)


def is_added_up_in_order(text: str) -> bool:
    """Whether a matmul, or several, add up products step by step, to the bit."""
    program = compile_function(npuflow.parse(text, npuflow.new_context()).operation, "f")
    a, b, c = random_arrays(program.signature.inputs, 0)
    expected = c.copy()
    for step in range(a.shape[-1]):
        expected += a[..., :, step, None] * b[..., None, step, :]
    return np.array_equal(program.run([a, b, c]).arguments[2], expected)


def loops_of(text: str) -> str:
    """The kinds of a sum's loops as they are executed, from the outermost on; P and R."""
    module = npuflow.parse(text, npuflow.new_context())
    with module.context:
        order_loops(module)
    (op,) = ops_of(module.operation, "linalg.generic")
    return "".join(kind[0].upper() for kind in iterators(op))


@pytest.mark.parametrize(
    ("rows", "columns", "order"),
    [
        pytest.param(8, 8, "PRP", id="small"),
        pytest.param(32, 200, "RPP", id="sixteen rows for what they all read"),
        pytest.param(24, 200, "PRP", id="rows that sixteen do not divide"),
    ],
)
def test_sums_are_added_up_in_order_but_along_rows(rows: int, columns: int, order: str) -> None:
    text = product(rows, 300, columns)
    assert loops_of(text) == order
    assert is_added_up_in_order(text)


def test_a_window_is_summed_up_along_rows_in_its_order() -> None:
    image, weights = ("(c, h * 2 + i, w * 2 + j)", "3x11x15"), ("(o, c, i, j)", "4x3x3x3")
    text = summing("(o, h, w, c, i, j)", 3, image, weights, ("(o, h, w)", "4x5x7"))
    assert loops_of(text) == "PPRRRP"
    program = compile_function(npuflow.parse(text, npuflow.new_context()).operation, "f")
    a, b, c = random_arrays(program.signature.inputs, 0)
    expected = c.copy()
    for channel, i, j in np.ndindex(3, 3, 3):
        expected += b[:, channel, i, j, None, None] * a[channel, i : i + 9 : 2, j : j + 13 : 2]
    assert np.array_equal(program.run([a, b, c]).arguments[2], expected)


def added_at_once(text: str) -> int:
    """How many products the innermost loop adds up; 1 where it is an op still."""
    module = npuflow.parse(text, npuflow.new_context())
    with module.context:
        order_loops(module)
    return max(len(ops_of(module.operation, "arith.addf")), 1)


@pytest.mark.parametrize(
    ("rows", "steps", "columns", "at_once"),
    [
        pytest.param(64, 128, 2048, 4, id="sixteen rows and four steps"),
        pytest.param(65, 132, 2048, 4, id="row by row"),
        pytest.param(64, 131, 2048, 1, id="steps that four do not divide"),
        pytest.param(64, 128, 2047, 1, id="too few to unroll"),
        pytest.param(1600, 7, 2048, 7, id="all of a short sum"),
    ],
)
def test_steps_of_what_computes_much_are_added_up_at_once_in_order(
    rows: int, steps: int, columns: int, at_once: int
) -> None:
    text = product(rows, steps, columns)
    assert added_at_once(text) == at_once
    assert is_added_up_in_order(text)


def test_a_large_window_is_added_up_in_its_order() -> None:
    image, weights = ("(b, c, h + i, w + j)", "2x32x34x34"), ("(o, c, i, j)", "32x32x3x3")
    text = summing("(b, o, h, w, c, i, j)", 3, image, weights, ("(b, o, h, w)", "2x32x32x32"))
    assert added_at_once(text) == 3
    program = compile_function(npuflow.parse(text, npuflow.new_context()).operation, "f")
    a, b, c = random_arrays(program.signature.inputs, 0)
    expected = c.copy()
    for channel, i, j in np.ndindex(32, 3, 3):
        expected += b[None, :, channel, i, j, None, None] * a[:, None, channel, i : i + 32, j : j + 32]
    assert np.array_equal(program.run([a, b, c]).arguments[2], expected)


def test_batches_are_computed_one_after_the_other() -> None:
    lhs, rhs, sums = ("(b, m, k)", "3x32x96"), ("(b, k, n)", "3x96x2048"), ("(b, m, n)", "3x32x2048")
    text = summing("(b, m, n, k)", 1, lhs, rhs, sums)
    assert added_at_once(text) == 4
    assert is_added_up_in_order(text)


def test_loops_stay_where_no_parallel_one_runs_along_rows_of_all() -> None:
    turned = summing("(m, n, k)", 1, ("(m, k)", "8x300"), ("(n, k)", "9x300"), ("(m, n)", "8x9"))
    rows = summing("(m, k)", 1, ("(m, k)", "8x300"), ("(k)", "300"), ("(m)", "8"))
    assert (loops_of(turned), loops_of(rows)) == ("PPR", "PR")


def test_what_is_called_often_is_optimised(monkeypatch: pytest.MonkeyPatch) -> None:
    optimised = []
    monkeypatch.setattr(jit, "_prefer_size", optimised.append)
    context = npuflow.new_context()
    names = ("seldom", "rarely", "often")
    modules = {name: npuflow.parse(scaled_by(911).replace("@f", f"@{name}"), context).operation for name in names}
    made = compile_functions(modules, calls={"often": jit._WORTH_OPTIMISING})
    assert len(optimised) == 1
    assert made["seldom"].engine is made["rarely"].engine is not made["often"].engine


def test_arrays_of_an_entry_are_not_put_on_the_stack() -> None:
    """Hundreds of constants and results, eleven numbers each: LLVM took the square of their number for the call."""
    module = npuflow.parse(scaled_by(913), npuflow.new_context())
    lowered = lower_to_llvm(isolated(module.operation, "f"), "f", poison=False).module
    inlined = [op for op in ops_of(lowered.operation, "llvm.func") if "always_inline" in op.attributes]
    assert [str(op.attributes["linkage"]) for op in inlined] == ["#llvm.linkage<internal>"]


def test_an_op_without_loops_keeps_them() -> None:
    text = """
      func.func @f(%a: memref<f32>) {
        linalg.generic {indexing_maps = [affine_map<() -> ()>], iterator_types = []} outs(%a : memref<f32>) {
        ^bb0(%x: f32):
          %y = arith.addf %x, %x : f32
          linalg.yield %y : f32
        }
        return
      }"""
    assert execute(text, np.array(1.5, np.float32)).arguments[0] == 3.0


def test_unwritten_buffers_hold_garbage_that_shows() -> None:
    text = """
      func.func @f() -> (memref<4xf32>, memref<4xi8>, memref<2xf16>) {
        %a = memref.alloc() : memref<4xf32>
        %b = memref.alloc() : memref<4xi8>
        %c = memref.alloca() : memref<2xf16>
        return %a, %b, %c : memref<4xf32>, memref<4xi8>, memref<2xf16>
      }"""
    reals, integers, halves = execute(text).results
    assert np.isnan(reals).all()
    assert np.isnan(halves).all()
    assert (integers.view(np.uint8) == 0xA5).all()


def test_freed_buffers_hold_garbage_that_shows() -> None:
    text = """
      func.func @f(%t: memref<4xf32>) -> memref<4xf32> {
        %a = memref.alloc() : memref<4xf32>
        memref.copy %t, %a : memref<4xf32> to memref<4xf32>
        memref.dealloc %a : memref<4xf32>
        return %a : memref<4xf32>
      }"""
    assert np.isnan(result_of(text, np.ones(4, np.float32))).all()


def test_a_loop_that_allocates_frees_what_it_allocates() -> None:
    # 200000 buffers of 64 KiB each: 12 GiB if they stayed.
    text = """
      func.func @f(%t: memref<16384xi32>) {
        %c0 = arith.constant 0 : index
        %c1 = arith.constant 1 : index
        %n = arith.constant 200000 : index
        scf.for %i = %c0 to %n step %c1 {
          %a = memref.alloc() : memref<16384xi32>
          %x = memref.load %t[%c0] : memref<16384xi32>
          memref.store %x, %a[%c0] : memref<16384xi32>
          %y = memref.load %a[%c0] : memref<16384xi32>
          memref.store %y, %t[%c1] : memref<16384xi32>
        }
        return
      }"""
    given = np.arange(16384, dtype=np.int32)
    assert execute(text, given, poison=False).arguments[0][1] == 0


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("func.func @f(%t: tensor<?xi32>) { return }", "argument 0 of type tensor<?xi32> has a dynamic shape"),
        (
            "func.func @f(%v: vector<4xi32>) -> vector<4xi32> { return %v : vector<4xi32> }",
            "func.func works on a value of type vector<4xi32>",
        ),
        ("func.func @f(%t: tensor<2xcomplex<f32>>) { return }", "func.func works on elements of type complex<f32>"),
        ("func.func private @g()\nfunc.func @f() { call @g() : () -> () return }", "@g is called but has no body"),
        ("func.func @g() { return }", "there is no function @f with a body"),
        ("func.func @f() { gpu.barrier return }", "gpu.barrier is not allowed in a program"),
    ],
)
def test_what_cannot_be_executed_says_why(text: str, message: str) -> None:
    with pytest.raises(NotExecutableError) as caught:
        execute(text)
    assert message in str(caught.value)


STORE = """
  func.func @f(%t: memref<4xi32>) {{
    %c = arith.constant 1 : i32
    %i = arith.constant {at} : index
    %zero = arith.constant 0 : index
    %wide = memref.reinterpret_cast %t to offset: [0], sizes: [{size}], strides: [1]
      : memref<4xi32> to memref<{size}xi32>
    memref.store %c, %wide[%i] : memref<{size}xi32>
    return
  }}"""


def test_writing_behind_an_argument_is_seen() -> None:
    with pytest.raises(ProgramFailedError, match="@f wrote 4 bytes behind array 0"):
        execute(STORE.format(at=16, size=32), np.zeros(4, np.int32))


def test_a_crash_is_an_error() -> None:
    with pytest.raises(ProgramFailedError, match="crashed with SIGSEGV"):
        execute(STORE.format(at=2**45, size=2**46), np.zeros(4, np.int32))


def test_a_loop_without_end_is_stopped() -> None:
    module = npuflow.parse("func.func @f() { cf.br ^a\n ^a: cf.br ^a }", npuflow.new_context())
    with limited(Limits(0.2)), pytest.raises(LimitError, match=r"the execution of @f did not end within 0\.2 s"):
        compile_function(module.operation, "f").run([])


def test_the_module_itself_is_left_alone() -> None:
    text = """
      func.func @f(%t: memref<4xi32, 1> {npu.x = 1}) -> memref<4xi32, 1> { return %t : memref<4xi32, 1> }"""
    module = npuflow.parse(text, npuflow.new_context())
    before = str(module)
    compile_function(module.operation, "f")
    assert str(module) == before


@pytest.mark.parametrize(
    ("operation", "expected"),
    [
        ("math.ceil %x : f32", np.ceil),
        ("math.floor %x : f32", np.floor),
        ("math.roundeven %x : f32", np.round),
        ("math.round %x : f32", lambda x: np.trunc(x + np.copysign(0.5, x))),
        ("math.trunc %x : f32", np.trunc),
        ("math.copysign %c, %x : f32", lambda x: np.copysign(2.0, x)),
        ("math.fma %x, %c, %c : f32", lambda x: x * 2 + 2),
        ("math.rsqrt %c : f32", lambda x: np.full_like(x, 2**-0.5)),
        ("math.tanh %x : f32", np.tanh),
    ],
)
def test_functions_of_floats(operation: str, expected: Callable[[Array], Array]) -> None:
    numbers = np.array([-2.5, -1.5, -0.75, 0.0, 0.5, 1.25, 7.0], np.float32)
    text = f"""
      func.func @f(%t: tensor<7xf32>) -> tensor<7xf32> {{
        %c = arith.constant 2.0 : f32
        %r = linalg.map ins(%t : tensor<7xf32>) outs(%t : tensor<7xf32>) (%x: f32, %o: f32) {{
          %y = {operation}
          linalg.yield %y : f32
        }}
        return %r : tensor<7xf32>
      }}"""
    assert np.allclose(result_of(text, numbers), expected(numbers), rtol=1e-6, atol=0)


@pytest.mark.parametrize(
    ("operation", "expected"), [("absi", [3, 0, 7, 5]), ("ctpop", [31, 0, 3, 2]), ("ctlz", [0, 32, 29, 29])]
)
def test_functions_of_integers(operation: str, expected: list[int]) -> None:
    text = f"""
      func.func @f(%t: tensor<4xi32>) -> tensor<4xi32> {{
        %r = linalg.map ins(%t : tensor<4xi32>) outs(%t : tensor<4xi32>) (%x: i32, %o: i32) {{
          %y = math.{operation} %x : i32
          linalg.yield %y : i32
        }}
        return %r : tensor<4xi32>
      }}"""
    assert result_of(text, np.array([-3, 0, 7, 5], np.int32)).tolist() == expected


def scaled_by(factor: int) -> str:
    return f"""
      func.func @f(%t: tensor<3x4xi32>) -> tensor<3x4xi32> {{
        %c = arith.constant dense<{factor}> : tensor<3x4xi32>
        %r = linalg.mul ins(%t, %c : tensor<3x4xi32>, tensor<3x4xi32>) outs(%t : tensor<3x4xi32>) -> tensor<3x4xi32>
        return %r : tensor<3x4xi32>
      }}"""


@pytest.mark.parametrize(
    "operation",
    [
        *(f"math.{name} %x : TYPE" for name in ("exp", "erf", "tanh", "log1p", "sqrt", "rsqrt", "sin", "ceil", "absf")),
        *("math.powf %x, %x : TYPE", "math.fma %x, %x, %x : TYPE", "arith.maximumf %x, %x : TYPE"),
        "math.copysign %x, %x : TYPE",
    ],
)
def test_bf16_takes_no_function_that_only_some_processors_can_do_without(operation: str) -> None:
    """Nothing is left that LLVM rounds to bf16 itself, by an instruction of a few processors or by a call."""
    text = f"""func.func @f(%x: bf16) -> bf16 {{
      %y = {operation.replace("TYPE", "bf16")}
      return %y : bf16
    }}"""
    with npuflow.new_context() as context:
        module = isolated(npuflow.parse(text, context).operation, "f")
        lowered = lower_to_llvm(module, "f", poison=False).module
        made = {op.name for op in ops_of(lowered.operation) if any(str(value.type) == "bf16" for value in op.results)}
        assert made <= {"llvm.bitcast"}
    given = np.array([-1.5, 0.0, 0.75, 3.0], dtype_of("bf16"))
    exact = {"math.absf": np.abs, "math.ceil": np.ceil, "arith.maximumf": np.copy, "math.copysign": np.copy}
    whole = f"""func.func @f(%t: tensor<4xbf16>) -> tensor<4xbf16> {{
      %r = linalg.map ins(%t : tensor<4xbf16>) outs(%t : tensor<4xbf16>) (%x: bf16, %o: bf16) {{
        %y = {operation.replace("TYPE", "bf16")}
        linalg.yield %y : bf16
      }}
      return %r : tensor<4xbf16>
    }}"""
    found = result_of(whole, given)
    expected = exact.get(operation.split(maxsplit=1)[0])
    assert expected is None or np.array_equal(found, expected(given))


@pytest.mark.parametrize("element", ["bf16", "f16"])
def test_a_sum_of_a_product_is_rounded_as_it_is_in_f32(element: str) -> None:
    text = f"""func.func @f(%t: tensor<3x{element}>) -> tensor<3x{element}> {{
      %c = arith.constant 1.0078125 : {element}
      %r = linalg.map ins(%t : tensor<3x{element}>) outs(%t : tensor<3x{element}>) (%x: {element}, %o: {element}) {{
        %y = math.fma %x, %c, %x : {element}
        linalg.yield %y : {element}
      }}
      return %r : tensor<3x{element}>
    }}"""
    given = np.array([-1.5, 0.0078125, 3.0], dtype_of(element))
    wide = given.astype(np.float32)
    assert np.array_equal(result_of(text, given), (wide * np.float32(1.0078125) + wide).astype(dtype_of(element)))


def test_what_was_compiled_before_is_compiled_once(monkeypatch: pytest.MonkeyPatch) -> None:
    counted = []
    real = jit.lower_to_llvm
    monkeypatch.setattr(
        jit, "lower_to_llvm", lambda *given, poison: counted.append(poison) or real(*given, poison=poison)
    )
    for _ in range(2):
        assert np.array_equal(result_of(scaled_by(731), COUNT), COUNT * 731)
    assert counted == [True]
    execute(scaled_by(731), COUNT, poison=False)  # which is another program
    assert counted == [True, False]


def test_engines_are_not_kept_for_ever(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(jit, "_ENGINES_KEPT", 3)
    module = npuflow.parse(scaled_by(997), npuflow.new_context())
    first = compile_function(module.operation, "f")
    assert compile_function(module.operation, "f") is first
    for factor in (1000, 1001):
        execute(scaled_by(factor), COUNT)
    assert compile_function(module.operation, "f") is first
    for factor in (1002, 1003, 1004):
        execute(scaled_by(factor), COUNT)
    assert compile_function(module.operation, "f") is not first


def test_what_is_compiled_together_shares_an_engine_and_is_known_again() -> None:
    factors = {"f": 401, "g": 403, "h": 405}
    context = npuflow.new_context()
    modules = {
        name: npuflow.parse(scaled_by(factor).replace("@f", f"@{name}"), context).operation
        for name, factor in factors.items()
    }
    made = compile_functions(modules)
    assert list(made) == list(factors)
    assert len({id(executable.engine) for executable in made.values()}) == 1
    for name, factor in factors.items():
        assert np.array_equal(made[name].run([COUNT]).results[0], COUNT * factor)
    assert all(compile_function(modules[name], name) is executable for name, executable in made.items())


def test_of_several_the_one_that_cannot_be_compiled_is_named() -> None:
    context = npuflow.new_context()
    packs = """func.func @packs(%a: memref<8xf32>, %b: memref<2x4xf32>) {
      %n = arith.constant 4 : index
      %c = memref.cast %b : memref<2x4xf32> to memref<2x?xf32>
      linalg.pack %a inner_dims_pos = [0] inner_tiles = [%n] into %c : memref<8xf32> -> memref<2x?xf32>
      return
    }"""
    texts = {"f": scaled_by(407), "packs": packs}
    modules = {name: npuflow.parse(text, context).operation for name, text in texts.items()}
    with pytest.raises(NotExecutableError, match="tile size that is not static") as caught:
        compile_functions(modules)
    assert caught.value.diagnostics[0].message == "@packs cannot be executed on the CPU"


def test_large_constants_that_differ_are_different_programs() -> None:
    """They aren't printed, and so nothing is known of them."""
    numbers, kind = np.arange(2 * 4099, dtype=np.int32).reshape(2, 4099), "tensor<4099xi32>"
    for row in numbers:
        text = f"""
          func.func @f(%t: {kind}) -> {kind} {{
            %c = arith.constant dense<{row.tolist()}> : {kind}
            %r = linalg.add ins(%t, %c : {kind}, {kind}) outs(%t : {kind}) -> {kind}
            return %r : {kind}
          }}"""
        assert np.array_equal(result_of(text, np.ones(4099, np.int32)), row + 1)

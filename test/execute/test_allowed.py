"""A file is data: neither the JIT nor IREE gets an op that isn't on the list, wherever it stands."""

from __future__ import annotations

import re
from collections.abc import Iterator

import numpy as np
import pytest

import npuflow
from npuflow.bindings import ir, memref
from npuflow.errors import InputError
from npuflow.execute.arrays import dtype_of, functions_of, signature_of
from npuflow.execute.jit import compile_function
from npuflow.execute.lowering import NotExecutableError
from npuflow.execute.oracle import run_iree
from npuflow.ops.allowed_ops import SCALAR_OPS


def program(body: str, kind: str = "i32", around: str = "") -> str:
    """An elementwise function of 4 elements `%x`, whose body yields `%y`."""
    id_ = "affine_map<(d) -> (d)>"
    return f"""
      {around}
      func.func @f(%t: tensor<4x{kind}>) -> tensor<4x{kind}> {{
        %e = tensor.empty() : tensor<4x{kind}>
        %r = linalg.generic {{indexing_maps = [{id_}, {id_}], iterator_types = ["parallel"]}}
            ins(%t : tensor<4x{kind}>) outs(%e : tensor<4x{kind}>) {{
        ^bb0(%x: {kind}, %o: {kind}):
          {body}
          linalg.yield %y : {kind}
        }} -> tensor<4x{kind}>
        return %r : tensor<4x{kind}>
      }}"""


REFUSED = {
    "machine code": (program('%y = llvm.inline_asm "movl $$42, $0", "=r" : () -> i32'), "llvm.inline_asm"),
    "a trap": (program('"llvm.intr.trap"() : () -> ()\n%y = arith.addi %x, %x : i32'), "llvm.intr.trap"),
    "printing": (program("vector.print %x : i32\n%y = arith.addi %x, %x : i32"), "vector.print"),
    "a function without a body": (
        program("%y = func.call @_exit(%x) : (i32) -> i32", around="func.func private @_exit(i32) -> i32"),
        "@_exit is called but has no body",
    ),
    "a function in a body": (
        program(
            "%y = func.call @g(%x) : (i32) -> i32",
            around="func.func private @g(%x: i32) -> i32 { return %x : i32 }",
        ),
        "func.call is not allowed in the body of linalg.generic",
    ),
    "a function by its address": (
        program(
            "%g = func.constant @_exit : (i32) -> i32\n%y = func.call_indirect %g(%x) : (i32) -> i32",
            around="func.func private @_exit(i32) -> i32",
        ),
        "@_exit is called but has no body",
    ),
    "memory of the process": (
        program(
            "%g = memref.get_global @environ : memref<1xi32>\n%c = arith.constant 0 : index\n"
            "%y = memref.load %g[%c] : memref<1xi32>",
            around="memref.global @environ : memref<1xi32>",
        ),
        "memref.global has no value",
    ),
    "an address": (
        program(
            "%m = memref.alloca() : memref<4xi32>\n"
            "%i = memref.extract_aligned_pointer_as_index %m : memref<4xi32> -> index\n"
            "%y = arith.index_cast %i : index to i32"
        ),
        "memref.alloca is not allowed in the body",
    ),
    "a wide integer": (
        program(
            "%w = arith.extsi %x : i32 to i128\n%v = arith.divsi %w, %w : i128\n%y = arith.trunci %v : i128 to i32"
        ),
        "works on a value of type i128",
    ),
    "a loop in a body": (
        program(
            "%c = arith.constant 1 : index\n%n = arith.constant 1000000000000 : index\n"
            "%y = scf.for %i = %c to %n step %c iter_args(%q = %x) -> i32 { scf.yield %q : i32 }"
        ),
        "scf.for is not allowed in the body",
    ),
    "recursion": (
        """
          func.func private @g(%t: tensor<4xi32>) -> tensor<4xi32> {
            %r = call @f(%t) : (tensor<4xi32>) -> tensor<4xi32>
            return %r : tensor<4xi32>
          }
          func.func @f(%t: tensor<4xi32>) -> tensor<4xi32> {
            %r = call @g(%t) : (tensor<4xi32>) -> tensor<4xi32>
            return %r : tensor<4xi32>
          }""",
        "@g calls @f, which leads back to @g",
    ),
    "too much memory": (
        """
          func.func @f(%t: tensor<4xi32>) -> tensor<4xi32> {
            %e = tensor.empty() : tensor<4611686018427387904xi32>
            return %t : tensor<4xi32>
          }""",
        "works on 18446744073709551616 bytes",
    ),
}


@pytest.mark.parametrize(("text", "message"), REFUSED.values(), ids=REFUSED)
def test_what_is_not_allowed_is_never_compiled(text: str, message: str) -> None:
    module = npuflow.parse(text, npuflow.new_context())
    (function,) = [op for op in functions_of(module.operation) if op.opview.name.value == "f"]
    with pytest.raises(NotExecutableError) as by_jit:
        compile_function(module.operation, "f")
    with pytest.raises(InputError) as by_iree:
        run_iree(module.operation, signature_of(function), [np.zeros(4, np.int32)])
    assert message in str(by_jit.value)
    assert message in str(by_iree.value)


def test_attributes_for_code_generators_are_dropped() -> None:
    text = """
      func.func @f(%t: tensor<4xi32> {llvm.byval = i32}) -> tensor<4xi32>
          attributes {passthrough = ["naked"], personality = @f, llvm.linkage = #llvm.linkage<internal>} {
        return %t : tensor<4xi32>
      }"""
    module = npuflow.parse(text, npuflow.new_context())
    given = np.arange(4, dtype=np.int32)
    (result,) = compile_function(module.operation, "f").run([given]).results
    assert np.array_equal(result, given)


KINDS = ("i1", "i7", "i16", "i64", "index", "f16", "bf16", "f32", "f64")
CONVERSIONS = re.compile(r"arith\.(ext|trunc|[su]itofp|fpto|.*cast)")
TWO_RESULTS = {
    "arith.mulsi_extended": None,
    "arith.mului_extended": None,
    "arith.addui_extended": "i1",
    "math.sincos": None,
}


def spellings(name: str) -> Iterator[tuple[str, list[str], list[str]]]:
    """An op with one to three operands and a result, some of which make sense: its name, their types, its results'."""
    for kind in KINDS:
        results = KINDS if CONVERSIONS.match(name) else ("i1", kind) if "is" in name or "cmp" in name else (kind,)
        for result in results:
            more = [TWO_RESULTS[name] or kind] if name in TWO_RESULTS else []
            for operands in ([kind], [kind] * 2, [kind] * 3, ["i1", kind, kind], [kind, "i16"]):
                yield name, operands, [result, *more]


def made(name: str, operands: list[ir.Value], results: list[str]) -> ir.Operation | None:
    """The op, before the ambient insertion point; None where there is no such op."""
    predicate = {"predicate": ir.IntegerAttr.get(ir.IntegerType.get_signless(64), 1)} if "cmp" in name else {}
    kinds = [ir.Type.parse(kind) for kind in results]
    op = ir.Operation.create(name, results=kinds, operands=operands, attributes=predicate)
    try:
        op.verify()
    except ir.MLIRError:
        op.erase()
        return None
    return op


def test_every_op_that_is_allowed_is_compiled_for_every_type() -> None:
    """Else a body would pass the check, and no machine code could be made of its kernel."""
    arguments = ", ".join(f"%{kind}: memref<{kind}>" for kind in KINDS if kind not in ("i7", "index"))
    loads = "\n".join(
        f"%v_{kind} = memref.load %{kind}[] : memref<{kind}>" for kind in KINDS if f"%{kind}:" in arguments
    )
    casts = "%v_i7 = arith.trunci %v_i16 : i16 to i7\n%v_index = arith.index_cast %v_i16 : i16 to index"
    text = f"func.func @f({arguments}) {{ {loads}\n{casts}\n return }}"
    module = npuflow.parse(text, npuflow.new_context())
    block = module.body.operations[0].regions[0].blocks[0]
    values = {str(op.results[0].type): op.results[0] for op in list(block.operations)[:-1]}
    known: set[str] = set()
    with module.context as context, ir.Location.unknown(), ir.InsertionPoint.at_block_terminator(block):
        context.attach_diagnostic_handler(lambda _: True)
        for name in sorted(SCALAR_OPS - {"arith.constant"}):
            for _, operands, results in spellings(name):
                op = made(name, [values[kind] for kind in operands], results)
                known |= {name} if op is not None else set()
                for result in op.results if op is not None else ():
                    place = memref.AllocOp(ir.MemRefType.get([], result.type), [], []).result
                    memref.StoreOp(result, place, [])
    assert known == SCALAR_OPS - {"arith.constant"}
    assert compile_function(module.operation, "f", poison=False).address


@pytest.mark.parametrize("kind", ["f16", "bf16"])
def test_f64_is_rounded_once(kind: str) -> None:
    """Numbers beside the middle of two narrow ones, so near that f32 has them in the middle."""
    narrow = dtype_of(kind)
    low = np.arange(-200, 200).astype(narrow)
    high = np.nextafter(low, np.array(np.inf, narrow))
    middle = (low.astype(np.float64) + high.astype(np.float64)) / 2
    given = np.concatenate([middle * (1 + 1e-12), middle, middle * (1 - 1e-12)])
    text = f"""
      func.func @f(%t: tensor<1200xf64>) -> tensor<1200x{kind}> {{
        %r = arith.truncf %t : tensor<1200xf64> to tensor<1200x{kind}>
        return %r : tensor<1200x{kind}>
      }}"""
    module = npuflow.parse(text, npuflow.new_context())
    (got,) = compile_function(module.operation, "f").run([given]).results
    even = np.where(low.view(np.uint16) % 2 == 0, low, high)
    outer, inner = (np.where(np.abs(low) > np.abs(high), a, b) for a, b in ((low, high), (high, low)))
    assert np.array_equal(got, np.concatenate([outer, even, inner]))


def test_an_assertion_is_taken_for_granted() -> None:
    text = program('%c = arith.constant false\ncf.assert %c, ""\n%y = arith.addi %x, %x : i32')
    module = npuflow.parse(text, npuflow.new_context())
    given = np.arange(4, dtype=np.int32)
    (result,) = compile_function(module.operation, "f").run([given]).results
    assert (result == given + given).all()

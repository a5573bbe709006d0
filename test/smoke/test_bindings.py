"""One test per API of MLIR's bindings that npuflow relies on, so that a build that breaks one is told by its name."""

from __future__ import annotations

import ctypes
import io
from pathlib import Path

import numpy as np
import pytest

from npuflow import bindings
from npuflow.bindings import affine, arith, func, interpreter, ir, irdl, passmanager, rewrite, transform
from npuflow.provider import libraries

MATMUL = """
func.func @f(%a: tensor<8x16xi32>, %b: tensor<16x4xi32>, %c: tensor<8x4xi32>) -> tensor<8x4xi32> {
  %0 = linalg.matmul ins(%a, %b : tensor<8x16xi32>, tensor<16x4xi32>) outs(%c : tensor<8x4xi32>) -> tensor<8x4xi32>
  return %0 : tensor<8x4xi32>
}
"""


@pytest.fixture
def context() -> ir.Context:
    return bindings.new_context()


def parse(text: str, context: ir.Context) -> ir.Module:
    return ir.Module.parse(text, context)


def names_in(module: ir.Module) -> list[str]:
    found: list[str] = []

    def visit(op: ir.Operation) -> ir.WalkResult:
        found.append(op.name)
        return ir.WalkResult.ADVANCE

    module.operation.walk(visit, ir.WalkOrder.PRE_ORDER)
    return found


def test_every_upstream_dialect_is_registered(context: ir.Context) -> None:
    for name in ("affine", "linalg", "memref", "scf", "tensor", "transform", "llvm", "bufferization", "vector"):
        assert context.get_dialect_descriptor(name).namespace == name


def test_module_parses_and_prints(context: ir.Context) -> None:
    module = parse(MATMUL, context)
    assert str(parse(str(module), context)) == str(module)
    assert '"linalg.matmul"' in module.operation.get_asm(print_generic_op_form=True)


def test_parse_error_carries_its_diagnostics(context: ir.Context) -> None:
    with pytest.raises(ir.MLIRError) as caught:
        parse('"unterminated', context)
    assert caught.value.error_diagnostics


def test_parse_file_keeps_locations(context: ir.Context, tmp_path: Path) -> None:
    file = tmp_path / "matmul.mlir"
    file.write_text(MATMUL)
    with context:
        function = ir.Module.parseFile(str(file)).body.operations[0]
    location = function.location
    assert isinstance(location, ir.FileLineColLoc)
    assert (location.filename, location.start_line, location.start_col) == (str(file), 2, 1)


def test_diagnostic_handler_sees_severity_message_and_location(context: ir.Context) -> None:
    module, seen = parse(MATMUL, context), []

    def handle(diagnostic: ir.Diagnostic) -> bool:
        seen.append((str(diagnostic.severity), diagnostic.message, str(diagnostic.location)))
        return True

    handler = context.attach_diagnostic_handler(handle)
    module.body.operations[0].location.emit_error("too wide")
    handler.detach()
    assert seen == [("DiagnosticSeverity.ERROR", "too wide", str(module.body.operations[0].location))]


def test_walk_visits_in_program_order(context: ir.Context) -> None:
    names = names_in(parse(MATMUL, context))
    assert names[:3] == ["builtin.module", "func.func", "linalg.matmul"]
    assert names[-1] == "func.return"


def test_ops_are_built_at_an_insertion_point_and_verified(context: ir.Context) -> None:
    module = parse("module {}", context)
    with ir.InsertionPoint(module.body), ir.Location.file("x.mlir", 3, 4, context):
        function = func.FuncOp("g", ir.FunctionType.get([], []))
        with ir.InsertionPoint(function.add_entry_block()):
            arith.ConstantOp(ir.IndexType.get(), 7)
            func.ReturnOp([])
    assert module.operation.verify()
    assert "constant 7 : index" in str(module)


def test_verifier_refuses_and_reports(context: ir.Context) -> None:
    module = parse("func.func @f() { return }", context)
    function = module.body.operations[0]
    function.regions[0].blocks[0].operations[0].operation.erase()
    with pytest.raises(ir.MLIRError, match="block"):
        module.operation.verify()


def test_affine_maps_and_expressions(context: ir.Context) -> None:
    with context, ir.Location.unknown():
        d0, s0 = ir.AffineExpr.get_dim(0), ir.AffineExpr.get_symbol(0)
        step = ir.AffineMap.get(1, 1, [ir.AffineExpr.get_floor_div(d0 * 4 + s0, 8)])
        module = ir.Module.create()
        with ir.InsertionPoint(module.body):
            five = arith.ConstantOp(ir.IndexType.get(), 5).result
            affine.AffineApplyOp(step, [five, five])
        passmanager.PassManager.parse("builtin.module(canonicalize)").run(module.operation)
        assert str(step) == "(d0)[s0] -> ((d0 * 4 + s0) floordiv 8)"


def test_upstream_passes_are_added_by_text(context: ir.Context) -> None:
    module = parse(MATMUL, context)
    with context:
        manager = passmanager.PassManager("builtin.module")
        manager.add("func.func(linalg-generalize-named-ops),canonicalize{max-iterations=3}")
        manager.enable_verifier(False)
        manager.run(module.operation)
    assert "linalg.generic" in names_in(module)


def test_unknown_pass_is_refused(context: ir.Context) -> None:
    with context, pytest.raises(ValueError, match="no-such-pass"):
        passmanager.PassManager("any").add("no-such-pass")


def test_python_pass_in_a_pass_manager(context: ir.Context) -> None:
    module, ran_on = parse(MATMUL, context), []
    with context:
        manager = passmanager.PassManager("any")
        manager.add(lambda op, _pass: ran_on.append(op.name), name="Spy", argument="spy")
        manager.run(module.operation)
    assert ran_on == ["builtin.module"]


def test_rewrite_patterns_apply_greedily(context: ir.Context) -> None:
    module = parse("func.func @f(%a: i32) -> i32 { %0 = arith.addi %a, %a : i32 return %0 : i32 }", context)

    def to_multiplication(op: arith.AddIOp, rewriter: rewrite.PatternRewriter) -> None:
        with rewriter.ip, op.location:
            rewriter.replace_op(op, [arith.MulIOp(op.lhs, op.rhs).result])

    with context:
        patterns = rewrite.RewritePatternSet()
        patterns.add(arith.AddIOp, to_multiplication)
        rewrite.apply_patterns_and_fold_greedily(module, patterns.freeze())
    assert "arith.muli" in names_in(module)
    assert "arith.addi" not in names_in(module)


def test_irdl_text_defines_a_dialect(context: ir.Context) -> None:
    text = (
        """irdl.dialect @told { irdl.attribute @name { %0 = irdl.base "#builtin.string" irdl.parameters(of: %0) } }"""
    )
    with context:
        irdl.load_dialects(parse(text, context))
        assert str(ir.Attribute.parse('#told.name<"x">')) == '#told.name<"x">'


def test_transform_interpreter_applies_a_named_sequence(context: ir.Context) -> None:
    payload = parse(MATMUL, context)
    schedule = parse(
        """
        module attributes {transform.with_named_sequence} {
          transform.named_sequence @__transform_main(%m: !transform.any_op) {
            %0 = transform.structured.match ops{["linalg.matmul"]} in %m : (!transform.any_op) -> !transform.any_op
            %1, %2 = transform.structured.tile_using_for %0 tile_sizes [0, 0, 4]
                : (!transform.any_op) -> (!transform.any_op, !transform.any_op)
            transform.yield
          }
        }
        """,
        context,
    )
    sequence = schedule.body.operations[0]
    assert isinstance(sequence, transform.NamedSequenceOp)
    with context:
        interpreter.apply_named_sequence(payload, sequence, schedule)
    assert "scf.for" in names_in(payload)


def test_pack_bufferizes(context: ir.Context) -> None:
    module = parse(
        """
        func.func @f(%a: tensor<8x16xi32>, %b: tensor<2x2x4x8xi32>) -> tensor<2x2x4x8xi32> {
          %0 = linalg.pack %a inner_dims_pos = [0, 1] inner_tiles = [4, 8] into %b
              : tensor<8x16xi32> -> tensor<2x2x4x8xi32>
          return %0 : tensor<2x2x4x8xi32>
        }
        """,
        context,
    )
    with context:
        text = "builtin.module(one-shot-bufferize{bufferize-function-boundaries})"
        passmanager.PassManager.parse(text).run(module.operation)
    packs = [op for op in str(module).splitlines() if "linalg.pack" in op]
    assert len(packs) == 1
    assert "memref<2x2x4x8xi32" in packs[0]


def test_bytecode_round_trip(context: ir.Context) -> None:
    module, file = parse(MATMUL, context), io.BytesIO()
    module.operation.write_bytecode(file)
    assert file.getvalue()[:4] == b"ML\xefR"
    assert str(ir.Module.parse(file.getvalue(), context)) == str(module)


def test_types_and_attributes_are_inspectable(context: ir.Context) -> None:
    with context, ir.Location.unknown():
        buffer = ir.MemRefType.get([4, 8], ir.IntegerType.get_signless(16), memory_space=ir.Attribute.parse("2 : i64"))
        fields = ir.DictAttr(ir.Attribute.parse('{rows = 4 : i64, name = "x"}'))
        assert (list(buffer.shape), str(buffer.element_type), str(buffer.memory_space)) == ([4, 8], "i16", "2 : i64")
        assert int(ir.IntegerAttr(fields["rows"])) == 4
        assert ir.StringAttr(fields["name"]).value == "x"
        assert list(ir.DenseI64ArrayAttr(ir.Attribute.parse("array<i64: 1, 2>"))) == [1, 2]
        module = parse("module attributes {a.b = 1 : i64} {}", context).operation
        assert [(name, str(value)) for name, value in module.attributes.items()] == [("a.b", "1 : i64")]


def test_execution_engine_runs_a_function_on_numpy_memory(context: ir.Context) -> None:
    module = parse(
        """
        func.func @f(%a: memref<4xi32>) attributes {llvm.emit_c_interface} {
          %c2 = arith.constant 2 : index
          %0 = memref.load %a[%c2] : memref<4xi32>
          %1 = arith.addi %0, %0 : i32
          memref.store %1, %a[%c2] : memref<4xi32>
          return
        }
        """,
        context,
    )
    lowering = "finalize-memref-to-llvm,convert-func-to-llvm,convert-arith-to-llvm,reconcile-unrealized-casts"
    with context:
        passmanager.PassManager.parse(f"builtin.module({lowering})").run(module.operation)
    engine = bindings.load_execution_engine().ExecutionEngine(module, opt_level=2)
    array = np.arange(4, dtype=np.int32)
    descriptor = bindings.load_runtime().get_ranked_memref_descriptor(array)
    # What is looked up is the packed form: it takes an array of pointers to the arguments.
    function = ctypes.CFUNCTYPE(None, ctypes.c_void_p)(engine.raw_lookup("_mlir_ciface_f"))
    argument = ctypes.pointer(descriptor)
    packed = (ctypes.c_void_p * 1)(ctypes.addressof(argument))
    function(ctypes.addressof(packed))
    assert array.tolist() == [0, 1, 4, 3]


def test_libraries_exist() -> None:
    assert all(library.is_file() for library in libraries())
    assert libraries()

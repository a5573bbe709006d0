"""What is worked out of constants is what the program would compute: op by op, against MLIR's own execution."""

from __future__ import annotations

import numpy as np
import pytest

from npuflow.bindings import arith
from npuflow.constants.dtypes import dtype_of
from npuflow.constants.known_tensors import KnownTensors, tensor_constant
from npuflow.core.build import at, element_type_of
from npuflow.core.parsing import parse
from npuflow.core.passes import ops_of
from npuflow.dialect.context import new_context
from npuflow.execute.jit import compile_function

SIZE = 64
_INTEGERS = "addi subi muli andi ori xori maxsi minsi divsi remsi floordivsi ceildivsi"
_PREDICATES = "eq ne slt sle sgt sge ult ule ugt uge"
_FLOAT_PREDICATES = "oeq ogt oge olt ole one ueq ugt uge ult ule une"
INTEGERS = [f"arith.{name} %a, %b : {kind}" for name in _INTEGERS.split() for kind in ("i8", "i32", "i64")]
COMPARED = [f"arith.cmpi {name}, %a, %b : {kind}" for name in _PREDICATES.split() for kind in ("i1", "i8", "i64")]
COMPARED += [f"arith.cmpf {name}, %a, %b : f32" for name in _FLOAT_PREDICATES.split()]
FLOATS = [
    f"arith.{name} %a, %b : {kind}"
    for name in "addf subf mulf divf maximumf minimumf maxnumf minnumf".split()
    for kind in ("f32", "bf16")
]
ROUNDING = [f"math.{name} %a : f32" for name in "absf ceil floor roundeven trunc sqrt".split()] + [
    "arith.negf %a : f32"
]
_CONVERSIONS = (
    "extsi i8 i32, extui i8 i32, trunci i32 i8, trunci i8 i1, extsi i1 i8, extui i1 i8, sitofp i8 f32, uitofp i8 f32,"
    " fptosi f32 i32, extf bf16 f32, truncf f32 bf16"
)
CONVERTED = ["arith.{} %a : {} to {}".format(*each.split()) for each in _CONVERSIONS.split(",")]
_NEAR = "atan exp exp2 expm1 log log10 log1p log2 sin cos tan tanh"
NEAR = [f"math.{name} %a : f32" for name in _NEAR.split()] + [f"math.{name} %a, %b : f32" for name in ("atan2", "powf")]


def program(op: str) -> tuple[str, str]:
    """A function of a constant or two that does `op` to each of their elements, and the type of these."""
    words = op.replace(",", "").split()
    given = words[words.index(":") + 1]
    made = words[-1] if "to" in words else "i1" if "cmp" in words[0] else given
    text = f"""
#same = affine_map<(d0) -> (d0)>
func.func @f(%x: tensor<{SIZE}x{given}>, %y: tensor<{SIZE}x{given}>) -> tensor<{SIZE}x{made}> {{
  %e = tensor.empty() : tensor<{SIZE}x{made}>
  %r = linalg.generic {{indexing_maps = [#same, #same, #same], iterator_types = ["parallel"]}}
    ins(%x, %y : tensor<{SIZE}x{given}>, tensor<{SIZE}x{given}>) outs(%e : tensor<{SIZE}x{made}>) {{
  ^bb0(%a: {given}, %b: {given}, %out: {made}):
    %v = {op}
    linalg.yield %v : {made}
  }} -> tensor<{SIZE}x{made}>
  return %r : tensor<{SIZE}x{made}>
}}"""
    return text, given


def both(op: str) -> tuple[np.ndarray, np.ndarray]:
    """What an op gives by our own arithmetic, and executed."""
    text, given = program(op)
    generator = np.random.default_rng(7)
    if given == "i1" or given.startswith("i"):
        arrays = [generator.integers(-100, 100, SIZE) for _ in range(2)]
        arrays[1][arrays[1] == 0] = 3
    else:
        arrays = [generator.uniform(-4, 4, SIZE) for _ in range(2)]
        arrays[1][:3] = arrays[0][:3]
    arrays = [(a % 2 == 0) if given == "i1" else np.abs(a) if "sqrt" in op else a for a in arrays]
    arrays = [a.astype(dtype_of(given)) for a in arrays]
    module = parse(text, new_context())
    (executed,) = compile_function(module.operation, "f").run(arrays).results
    with module.context, module.operation.location:
        (generic,) = ops_of(module.operation, "linalg.generic")
        for number, array in enumerate(arrays):
            value = generic.operands[number]
            with at(generic):
                constant = arith.ConstantOp(value.type, tensor_constant(array, element_type_of(value)))
            generic.operands[number] = constant.result
        found = KnownTensors().of(generic.results[0])
    assert found is not None
    return found, executed


@pytest.mark.parametrize("op", [*INTEGERS, *COMPARED, *FLOATS, *ROUNDING, *CONVERTED])
def test_bits_are_those_of_an_execution(op: str) -> None:
    found, executed = both(op)
    assert found.dtype == executed.dtype
    assert found.tobytes() == executed.tobytes()


@pytest.mark.parametrize("op", NEAR)
def test_functions_are_as_near_as_their_type_is(op: str) -> None:
    found, executed = both(op)
    np.testing.assert_array_equal(np.isnan(found), np.isnan(executed))
    found, executed = (each[~np.isnan(executed)] for each in (found, executed))
    assert np.abs(found - executed).max() <= 2 * np.spacing(np.abs(executed).max())


def test_more_elements_than_are_worth_it_are_not_known() -> None:
    text = """
func.func @f() -> tensor<4096x4096xf32> {
  %c = arith.constant dense<1.0> : tensor<4096x4096xf32>
  return %c : tensor<4096x4096xf32>
}"""
    module = parse(text, new_context())
    (constant,) = ops_of(module.operation, "arith.constant")
    assert KnownTensors().of(constant.results[0]) is None

"""Measured designs without matrix instructions: matrix-vector products, elementwise operators and norms. Pure.

Their functions are linalg.generic as any user would write them; the row's grid and tile are the bundle's strategy.
What is computed, and how, is as in the designs' published source code: gelu with tanh, the sigmoid of silu as a tanh,
a norm's rows one at a time, and matrix-vector products without double buffers.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from npuflow.validate.measurements import ELEMENT_BYTES, Measurement

_EPSILON = "1.0e-5"


@dataclass(frozen=True)
class VectorDesign:
    """How one row is built: a bundle's grid and tile, and the slots of what comes in, in L2 and L1."""

    grid: tuple[int, int]
    tile_l1: tuple[int, ...]
    depth: int

    @property
    def strategy(self) -> str:
        fields = {
            "grid": list(self.grid),
            "tile_l1": list(self.tile_l1),
            "depth_l1": self.depth,
            "depth_l2": self.depth,
        }
        return f"#npu.strategy<{{{', '.join(f'{name} = {value}' for name, value in fields.items())}}}>"


def is_vector_op(op: str) -> bool:
    return op in _TEXTS


def vector_design_of(row: Measurement) -> VectorDesign:
    """A tile of a norm is a row; the slots of a matrix-vector product are its stack's."""
    tile = 1 if row.op == "rmsnorm" else row.l1_m
    return VectorDesign((row.rows, row.cols), (tile,), row.stack.matvec_depth if row.op == "matvec" else 2)


def vector_work(row: Measurement) -> int:
    """Multiplications of a matrix-vector product, elements of anything else."""
    return row.m * max(1, row.k) * max(1, row.n)


def vector_traffic_bytes(row: Measurement) -> int:
    """What is read and written at least."""
    elements = {
        "matvec": row.m * row.k + row.k + row.m,
        "rmsnorm": 2 * row.m * row.n + row.n,
        "gelu": 2 * row.m,
    }
    return elements.get(row.op, 3 * row.m) * ELEMENT_BYTES[row.in_type]


def vector_module_text(row: Measurement, design: VectorDesign) -> str:
    """A row's function as MLIR."""
    return _TEXTS[row.op](row, design)


def _generic(
    name: str, maps: Sequence[str], kinds: str, operands: Sequence[str], body: str, attributes: str = ""
) -> str:
    """A linalg.generic; operands are `%name : type`, the last of which is written."""
    names = [operand.partition(" : ") for operand in operands]
    ins = ", ".join(n for n, _, _ in names[:-1]), ", ".join(t for _, _, t in names[:-1])
    iterators = ", ".join(f'"{"parallel" if kind == "p" else "reduction"}"' for kind in kinds)
    dims = ", ".join(f"d{i}" for i in range(len(kinds)))
    text = ", ".join(f"affine_map<({dims}) -> ({result})>" for result in maps)
    out, _, type_ = names[-1]
    inputs = f"ins({ins[0]} : {ins[1]}) " if ins[0] else ""
    return f"""
  {name} = linalg.generic {{indexing_maps = [{text}], iterator_types = [{iterators}]}}
    {inputs}outs({out} : {type_}){f" attrs = {{{attributes}}}" if attributes else ""} {{
  {body}
  }} -> {type_}"""


def _elementwise(row: Measurement, design: VectorDesign, inputs: Sequence[str], steps: str) -> str:
    element, tensor = row.in_type, f"tensor<{row.m}x{row.in_type}>"
    arguments = ", ".join(f"{name}: {element}" for name in (*inputs, "%out"))
    body = f"^bb0({arguments}):{steps}\n    linalg.yield %result : {element}"
    operands = [f"{name}_all : {tensor}" for name in inputs] + [f"%empty : {tensor}"]
    op = _generic("%all", ["d0"] * len(operands), "p", operands, body, f"npu.strategy = {design.strategy}")
    parameters = ", ".join(f"{name}_all: {tensor}" for name in inputs)
    return f"""
func.func @{row.op}({parameters}) -> {tensor} {{
  %half = arith.constant 0.5 : {element}
  %one = arith.constant 1.0 : {element}
  %beta = arith.constant 0.044715 : {element}
  %scale = arith.constant 0.7978845608 : {element}
  %empty = tensor.empty() : {tensor}{op}
  return %all : {tensor}
}}
"""


def _steps(element: str, lines: str) -> str:
    """A body: each line is `name = operation operands`."""
    made = [line.split() for line in lines.strip().splitlines()]
    return "".join(f"\n    %{n} = {op} {', '.join(f'%{u}' for u in uses)} : {element}" for n, _, op, *uses in made)


def _add(row: Measurement, design: VectorDesign) -> str:
    return _elementwise(row, design, ("%x", "%y"), _steps(row.in_type, "result = arith.addf x y"))


def _gelu(row: Measurement, design: VectorDesign) -> str:
    lines = """
    square = arith.mulf x x
    cube = arith.mulf x square
    part = arith.mulf cube beta
    sum = arith.addf x part
    scaled = arith.mulf sum scale
    tanh = math.tanh scaled
    more = arith.addf tanh one
    halved = arith.mulf x half
    result = arith.mulf halved more
    """
    return _elementwise(row, design, ("%x",), _steps(row.in_type, lines))


def _silu_mul(row: Measurement, design: VectorDesign) -> str:
    lines = """
    halved = arith.mulf x half
    tanh = math.tanh halved
    more = arith.addf tanh one
    sigmoid = arith.mulf more half
    silu = arith.mulf x sigmoid
    result = arith.mulf silu y
    """
    return _elementwise(row, design, ("%x", "%y"), _steps(row.in_type, lines))


def _matvec(row: Measurement, design: VectorDesign) -> str:
    element = row.in_type
    matrix, vector, result = (
        f"tensor<{row.m}x{row.k}x{element}>",
        f"tensor<{row.k}x{element}>",
        f"tensor<{row.m}x{element}>",
    )
    body = f"^bb0(%x: {element}, %y: {element}, %sum: {element}):"
    body += _steps(element, "product = arith.mulf x y\nresult = arith.addf sum product")
    body += f"\n    linalg.yield %result : {element}"
    operands = [f"%a : {matrix}", f"%b : {vector}", f"%filled : {result}"]
    op = _generic("%c", ["d0, d1", "d1", "d0"], "pr", operands, body, f"npu.strategy = {design.strategy}")
    return f"""
func.func @matvec(%a: {matrix}, %b: {vector}) -> {result} {{
  %zero = arith.constant 0.0 : {element}
  %empty = tensor.empty() : {result}
  %filled = linalg.fill ins(%zero : {element}) outs(%empty : {result}) -> {result}{op}
  return %c : {result}
}}
"""


def _rmsnorm(row: Measurement, design: VectorDesign) -> str:
    element = row.in_type
    rows, weights, all_ = (
        f"tensor<{row.m}x{element}>",
        f"tensor<{row.n}x{element}>",
        f"tensor<{row.m}x{row.n}x{element}>",
    )

    def op(name: str, maps: list[str], kinds: str, operands: list[str], lines: str, attributes: str = "") -> str:
        names = ["%x", "%y", "%z"][: len(operands) - 1]
        arguments = ", ".join(f"{n}: {element}" for n in (*names, "%out"))
        body = f"^bb0({arguments}):{_steps(element, lines)}\n    linalg.yield %result : {element}"
        return _generic(name, maps, kinds, operands, body, attributes)

    squares = "square = arith.mulf x x\nresult = arith.addf out square"
    roots = "mean = arith.divf x count\nmore = arith.addf mean epsilon\nresult = math.rsqrt more"
    scaled = "normal = arith.mulf x y\nresult = arith.mulf normal z"
    inputs = [f"%all : {all_}", f"%roots : {rows}", f"%weights : {weights}", f"%empty : {all_}"]
    return f"""
func.func @rmsnorm(%all: {all_}, %weights: {weights}) -> {all_} {{
  %zero = arith.constant 0.0 : {element}
  %count = arith.constant {float(row.n)} : {element}
  %epsilon = arith.constant {_EPSILON} : {element}
  %empty_rows = tensor.empty() : {rows}
  %filled = linalg.fill ins(%zero : {element}) outs(%empty_rows : {rows}) -> {rows}
  %empty = tensor.empty() : {all_}
{op("%sums", ["d0, d1", "d0"], "pr", [f"%all : {all_}", f"%filled : {rows}"], squares)}
{op("%roots", ["d0", "d0"], "p", [f"%sums : {rows}", f"%empty_rows : {rows}"], roots)}
{op("%done", ["d0, d1", "d0", "d1", "d0, d1"], "pp", inputs, scaled, f"npu.strategy = {design.strategy}")}
  return %done : {all_}
}}
"""


_TEXTS = {"matvec": _matvec, "add": _add, "gelu": _gelu, "silu_mul": _silu_mul, "rmsnorm": _rmsnorm}

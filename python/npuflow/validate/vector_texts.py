"""Functions of measured operators without matrix instructions, as MLIR. Pure.

They are linalg.generic as any user would write them. What is computed, and how, is as in the designs' published source
code: gelu with tanh, the sigmoid of silu as a tanh, rows of norms summed up in the row's own type, and rope, a rotation
of pairs, as a stand-in for what it moves and computes.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence

from npuflow.validate.measurements import Measurement

_EPSILON = "1.0e-5"


def vector_module_text(row: Measurement, strategy: str) -> str:
    """A row's function, with a strategy on the op that the others run with."""
    return _TEXTS[row.op](row, strategy)


def is_vector_op(op: str) -> bool:
    return op in _TEXTS


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


def _elementwise(row: Measurement, strategy: str, inputs: Sequence[str], steps: str) -> str:
    element, tensor = row.in_type, f"tensor<{row.m}x{row.in_type}>"
    arguments = ", ".join(f"{name}: {element}" for name in (*inputs, "%out"))
    body = f"^bb0({arguments}):{steps}\n    linalg.yield %result : {element}"
    operands = [f"{name}_all : {tensor}" for name in inputs] + [f"%empty : {tensor}"]
    op = _generic("%all", ["d0"] * len(operands), "p", operands, body, f"npu.strategy = {strategy}")
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


def _add(row: Measurement, strategy: str) -> str:
    return _elementwise(row, strategy, ("%x", "%y"), _steps(row.in_type, "result = arith.addf x y"))


def _gelu(row: Measurement, strategy: str) -> str:
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
    return _elementwise(row, strategy, ("%x",), _steps(row.in_type, lines))


def _silu_mul(row: Measurement, strategy: str) -> str:
    lines = """
    halved = arith.mulf x half
    tanh = math.tanh halved
    more = arith.addf tanh one
    sigmoid = arith.mulf more half
    silu = arith.mulf x sigmoid
    result = arith.mulf silu y
    """
    return _elementwise(row, strategy, ("%x", "%y"), _steps(row.in_type, lines))


def _matvec(row: Measurement, strategy: str) -> str:
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
    op = _generic("%c", ["d0, d1", "d1", "d0"], "pr", operands, body, f"npu.strategy = {strategy}")
    return f"""
func.func @matvec(%a: {matrix}, %b: {vector}) -> {result} {{
  %zero = arith.constant 0.0 : {element}
  %empty = tensor.empty() : {result}
  %filled = linalg.fill ins(%zero : {element}) outs(%empty : {result}) -> {result}{op}
  return %c : {result}
}}
"""


class _Rows:
    """A function on rows of M x N elements, op by op; `%all` is given, and what `parameters` name of N elements."""

    def __init__(self, row: Measurement, strategy: str, parameters: Sequence[str]) -> None:
        element = row.in_type
        self.row, self.strategy, self.element = row, strategy, element
        self.types = {
            "row": f"tensor<{row.m}x{element}>",
            "column": f"tensor<{row.n}x{element}>",
            "all": f"tensor<{row.m}x{row.n}x{element}>",
        }
        self.parameters = [f"%all: {self.types['all']}", *(f"%{name}: {self.types['column']}" for name in parameters)]
        self.columns = {f"%{name}" for name in parameters}
        self.lines = [
            f"%zero = arith.constant 0.0 : {element}",
            f"%lowest = arith.constant -1.0e+30 : {element}",
            f"%one = arith.constant 1.0 : {element}",
            f"%count = arith.constant {float(row.n)} : {element}",
            f"%epsilon = arith.constant {_EPSILON} : {element}",
            f"%empty_rows = tensor.empty() : {self.types['row']}",
            f"%empty = tensor.empty() : {self.types['all']}",
        ]

    def sums(self, name: str, start: str, inputs: Sequence[str], steps: str) -> None:
        """One number for each row, from all elements of it."""
        type_ = self.types["row"]
        self.lines.append(
            f"{name}_0 = linalg.fill ins({start} : {self.element}) outs(%empty_rows : {type_}) -> {type_}"
        )
        self._op(name, "pr", inputs, f"{name}_0", steps)

    def each_row(self, name: str, inputs: Sequence[str], steps: str) -> None:
        """A number for each row from others of it."""
        self._op(name, "p", inputs, "%empty_rows", steps)

    def each(self, name: str, inputs: Sequence[str], steps: str, *, is_last: bool = False) -> None:
        """An element for each element."""
        attributes = f"npu.strategy = {self.strategy}" if is_last else ""
        self._op(name, "pp", inputs, "%empty", steps, attributes)

    def _op(self, name: str, kinds: str, inputs: Sequence[str], out: str, steps: str, said: str = "") -> None:
        arguments = [*(f"%{letter}" for letter, _ in zip("xyzwv", inputs)), "%out"]
        declared = ", ".join(f"{argument}: {self.element}" for argument in arguments)
        body = f"^bb0({declared}):{_steps(self.element, steps)}\n    linalg.yield %result : {self.element}"
        places = [self._place(value) for value in inputs]
        places.append(("d0, d1", "all") if kinds == "pp" else ("d0", "row"))
        operands = [f"{value} : {self.types[kind]}" for value, (_, kind) in zip((*inputs, out), places)]
        maps = [place for place, _ in places]
        self.lines.append(_generic(name, maps, kinds, operands, body, said).strip())

    def _place(self, value: str) -> tuple[str, str]:
        """Which elements an operand gives to (row d0, column d1), and its type's name."""
        if value in self.columns:
            return "d1", "column"
        return ("d0, d1", "all") if value.startswith("%all") else ("d0", "row")

    def text(self, result: str) -> str:
        body = "\n  ".join(self.lines)
        all_ = self.types["all"]
        return f"""
func.func @{self.row.op}({", ".join(self.parameters)}) -> {all_} {{
  {body}
  return {result} : {all_}
}}
"""


def _rmsnorm(row: Measurement, strategy: str) -> str:
    rows = _Rows(row, strategy, ["weights"])
    rows.sums("%sums", "%zero", ["%all"], "square = arith.mulf x x\nresult = arith.addf out square")
    root = "mean = arith.divf x count\nmore = arith.addf mean epsilon\nresult = math.rsqrt more"
    rows.each_row("%roots", ["%sums"], root)
    scaled = "normal = arith.mulf x y\nresult = arith.mulf normal z"
    rows.each("%all_done", ["%all", "%roots", "%weights"], scaled, is_last=True)
    return rows.text("%all_done")


def _layernorm(row: Measurement, strategy: str) -> str:
    """The mean first, then the squares of what differs from it."""
    rows = _Rows(row, strategy, ["weights", "biases"])
    rows.sums("%sums", "%zero", ["%all"], "result = arith.addf out x")
    rows.each_row("%means", ["%sums"], "result = arith.divf x count")
    squares = "centred = arith.subf x y\nsquare = arith.mulf centred centred\nresult = arith.addf out square"
    rows.sums("%squares", "%zero", ["%all", "%means"], squares)
    root = "mean = arith.divf x count\nmore = arith.addf mean epsilon\nresult = math.rsqrt more"
    rows.each_row("%roots", ["%squares"], root)
    scaled = """
    centred = arith.subf x y
    normal = arith.mulf centred z
    weighted = arith.mulf normal w
    result = arith.addf weighted v
    """
    rows.each("%all_done", ["%all", "%means", "%roots", "%weights", "%biases"], scaled, is_last=True)
    return rows.text("%all_done")


def _softmax(row: Measurement, strategy: str) -> str:
    rows = _Rows(row, strategy, [])
    rows.sums("%largest", "%lowest", ["%all"], "result = arith.maximumf out x")
    rows.each("%all_powers", ["%all", "%largest"], "less = arith.subf x y\nresult = math.exp less")
    rows.sums("%sums", "%zero", ["%all_powers"], "result = arith.addf out x")
    rows.each_row("%shares", ["%sums"], "result = arith.divf one x")
    rows.each("%all_done", ["%all_powers", "%shares"], "result = arith.mulf x y", is_last=True)
    return rows.text("%all_done")


def _rope(row: Measurement, strategy: str) -> str:
    """A stand-in: it moves what a rotation moves, and takes a product and a product added for each element.

    A rotation multiplies each element's partner in the same vector; linalg has no word for that.
    """
    lines = """
    own = arith.mulf x y
    partner = arith.mulf x x
    result = arith.addf own partner
    """
    flat = dataclasses.replace(row, m=row.m * row.n)
    return _elementwise(flat, strategy, ("%x", "%y"), _steps(row.in_type, lines))


_TEXTS = {
    "matvec": _matvec,
    "add": _add,
    "gelu": _gelu,
    "silu_mul": _silu_mul,
    "rmsnorm": _rmsnorm,
    "layernorm": _layernorm,
    "softmax": _softmax,
    "rope": _rope,
}

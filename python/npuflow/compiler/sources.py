"""Functions of a module that stays as it is: each alone, with what it calls, and which of them are alike."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from hashlib import sha256
from io import BytesIO

from npuflow.bindings import ir
from npuflow.core.passes import ops_of
from npuflow.execute.arrays import functions_of

# What a function is called where its name doesn't count.
_ANY_NAME = "f"
# Constants of more elements, or bytes, are only printed where everything else is equal.
_PRINTED = 64
_LEFT_OUT = "__elided__"


@dataclass(frozen=True)
class FunctionSource:
    """A public function of a module, which has these symbols."""

    module: ir.Module
    function: ir.Operation
    symbols: Mapping[str, ir.Operation]

    @property
    def name(self) -> str:
        return str(self.function.opview.name.value)

    def alone(self) -> ir.Module:
        """A module with a copy of the function, and of what it names, calls or reads, in the order of being named."""
        alone = empty_like(self.module)
        named, waiting = {self.name: self.function}, [self.function]
        while waiting:
            for name in _names_in(waiting.pop()):
                if name in self.symbols and name not in named:
                    named[name] = self.symbols[name]
                    waiting.append(named[name])
        for op in named.values():
            alone.body.append(op.clone())
        for op in functions_of(alone.operation):
            if str(op.opview.name.value) != self.name:
                op.attributes["sym_visibility"] = ir.StringAttr.get("private", op.context)
        return alone

    def bytecode(self) -> bytes:
        """The function alone, as any context reads it."""
        return bytecode_of(self.alone())


def sources_of(module: ir.Module) -> list[FunctionSource]:
    """The public functions of a module."""
    ops = [child.operation for child in module.body.operations]
    symbols = {ir.StringAttr(op.attributes["sym_name"]).value: op for op in ops if "sym_name" in op.attributes}
    return [FunctionSource(module, op, symbols) for op in functions_of(module.operation)]


def empty_like(module: ir.Module) -> ir.Module:
    """A module with another one's attributes."""
    with module.context, module.operation.location:
        empty = ir.Module.create()
    for name, value in module.operation.attributes.items():
        empty.operation.attributes[name] = value
    return empty


def copy_of(module: ir.Module) -> ir.Module:
    """A module to be changed in place of another one."""
    copy = empty_like(module)
    for child in module.body.operations:
        copy.body.append(child.operation.clone())
    return copy


def bytecode_of(module: ir.Module) -> bytes:
    written = BytesIO()
    module.operation.write_bytecode(written)
    return written.getvalue()


def first_alike(modules: Sequence[ir.Module]) -> list[int]:
    """For each module of one public function, the first that is the same but for that function's name."""
    if len(modules) < 2:
        return [*range(len(modules))]
    outlines = [_text(module, most=_PRINTED) for module in modules]
    counts = Counter(outlines)
    first: dict[tuple[str, str], int] = {}
    found = []
    for number, (module, outline) in enumerate(zip(modules, outlines)):
        is_whole = _LEFT_OUT not in outline or counts[outline] == 1
        rest = "" if is_whole else sha256(_text(module).encode()).hexdigest()
        found.append(first.setdefault((outline, rest), number))
    return found


def _text(module: ir.Module, most: int | None = None) -> str:
    (function,) = functions_of(module.operation)
    name = function.attributes["sym_name"]
    function.attributes["sym_name"] = ir.StringAttr.get(_ANY_NAME, function.context)
    text: str = module.operation.get_asm(large_elements_limit=most, large_resource_limit=most)
    function.attributes["sym_name"] = name
    return text


def _names_in(op: ir.Operation) -> Iterator[str]:
    for inner in ops_of(op):
        # Constants refer to nothing, and the bindings hand out no attribute of complex numbers.
        for name in inner.attributes if inner.name != "arith.constant" else ():
            attribute = inner.attributes[name]
            if isinstance(attribute, (ir.FlatSymbolRefAttr, ir.SymbolRefAttr)):
                yield attribute.value if isinstance(attribute, ir.FlatSymbolRefAttr) else attribute.value[0]

"""What a kernel's op computes, as a text: two kernels are the same code exactly if their texts are equal."""

from __future__ import annotations

from dataclasses import dataclass, field

from npuflow.bindings import ir
from npuflow.ops.views import base_of, views_of
from npuflow.schedule.nest.kernel_operands import kernel_operands


def kernel_code(op: ir.Operation) -> str:
    """The op with its attributes, types and body; buffers are called by their place among the kernel's arguments.

    `arith.subf(%1:f32, %0:f32){...} -> (f32)` is in it, for example; constants and
    views from outside are written out where they are used.
    """
    operands = kernel_operands(op)
    buffers = {value: f"#{place}" for place, value in enumerate((*operands.arguments, *operands.unused))}
    return _CodeWriter(buffers).op(op)


@dataclass
class _CodeWriter:
    """Names what is defined inside in the order in which it is met."""

    names: dict[ir.Value, str] = field(default_factory=dict)
    inside: int = 0

    def op(self, op: ir.Operation) -> str:
        operands = ", ".join(f"{self._value(value)}:{value.type}" for value in op.operands)
        regions = "".join(self._region(region) for region in op.regions)
        for result in op.results:
            self._name(result)
        results = ", ".join(str(result.type) for result in op.results)
        return f"{op.name}({operands}){_attributes(op)}{regions} -> ({results})"

    def _region(self, region: ir.Region) -> str:
        return "".join(f"{{{self._block(block)}}}" for block in region.blocks)

    def _block(self, block: ir.Block) -> str:
        for argument in block.arguments:
            self._name(argument)
        types = ", ".join(str(argument.type) for argument in block.arguments)
        return "; ".join([f"({types})", *(self.op(child.operation) for child in block.operations)])

    def _name(self, value: ir.Value) -> None:
        self.names[value] = f"%{self.inside}"
        self.inside += 1

    def _value(self, value: ir.Value) -> str:
        if value in self.names:
            return self.names[value]
        if isinstance(value.type, ir.MemRefType):
            views = [f"{view.name}{_attributes(view)}:{view.results[0].type} of " for view in views_of(value)]
            return "".join(views) + self.names.get(base_of(value), "an unknown buffer")
        if isinstance(value.owner, ir.Block) or value.owner.operation.name != "arith.constant":
            return f"<{value}>"  # a number from outside, which no kernel can take
        return _attributes(value.owner.operation)


def _attributes(op: ir.Operation) -> str:
    return "{" + ", ".join(f"{name} = {value}" for name, value in op.attributes.items()) + "}"

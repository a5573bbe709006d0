"""npuflow-join-in-place: what a tensor is put together from is written where it belongs by who makes it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import partial

from npuflow.bindings import ir
from npuflow.constants.joined_parts import Join
from npuflow.core.build import at, slice_along
from npuflow.core.copies import erase_unused
from npuflow.core.options import option
from npuflow.core.passes import Pass, PassContext, ops_of
from npuflow.core.registry import register_pass
from npuflow.dialect.device import planned_device
from npuflow.frontend.add_inputs import drop_unread_inputs
from npuflow.fusion.copy_chain import as_generic
from npuflow.fusion.joins import JoinPiece, Joins, PartWriter, can_be_slice, is_result, joins_in
from npuflow.network.groups import groups_of
from npuflow.ops.bundle import free_numbers, mark_bundle
from npuflow.ops.contraction import BUNDLE
from npuflow.strategy.bundle_times import GrowthOn


@register_pass
@dataclass(frozen=True)
class JoinInPlace(Pass):
    """Has groups write what they make into the tensor that it is put together in, so that nothing joins it later.

    Who else reads one of the parts reads a slice of the whole. A tensor all of whose parts are made by groups is joined
    so; parts that are neighbours in another tensor already are a slice of that.

        %a = linalg.generic ... outs(%e : tensor<4x16xi8>)
        %b = linalg.generic ... outs(%f : tensor<8x16xi8>)
        %r = linalg.generic ... ins(%a_padded, %b_padded, %which : ...) { arith.select }

    becomes

        %a = linalg.generic ... outs(%e : tensor<4x16xi8>) attrs = {npu.bundle = 0}
        %s = tensor.insert_slice %a into %empty[0, 0] [4, 16] [1, 1] : tensor<4x16xi8> into tensor<12x16xi8>
        %b = linalg.generic ... outs(%f : tensor<8x16xi8>) attrs = {npu.bundle = 1}
        %r = tensor.insert_slice %b into %s[4, 0] [8, 16] [1, 1] : tensor<8x16xi8> into tensor<12x16xi8>
    """

    name = "npuflow-join-in-place"
    group = "fusion"
    device: str = option("", "device name or TOML file; default: the module's npu.device, else npu1")
    depth_between: int | None = option(None, "slots of what matrix and vector engines hand to each other")
    bundle_matmuls: bool = option(False, "let matmuls be mapped as other ops are, to write parts of tensors")

    def run(self, op: ir.Operation, context: PassContext) -> None:
        device = planned_device(op, self.device)
        for function in ops_of(op, "func.func"):
            groups = partial(groups_of, function, GrowthOn(device, True, self.depth_between))
            joins = joins_in(function, groups, device, bundles=self.bundle_matmuls)
            _JoinWriting(joins, free_numbers(function)).run(context)


@dataclass
class _JoinWriting:
    """Has groups write what they make where it is joined; `slices` are what others may read there."""

    joins: Joins
    numbers: Iterator[int]
    slices: list[ir.Operation] = field(default_factory=list)

    def run(self, context: PassContext) -> None:
        """The last ones come first: what is a part of them may have been joined itself."""
        joined, reading = list[ir.Operation](), list[tuple[Join, ir.Value]]()
        for number, op in reversed([*enumerate(self.joins.made)]):
            if op.results[0] in self.joins.written:
                context.remark(op, "puts a tensor together where that is part of another one")
                continue
            join = self.joins.join_of(op)
            pieces = self.joins.pieces(join)
            if len(pieces) == 1 and (not join.is_all or _may_be_slice(join)):
                made = _slice(join, pieces[0])
                context.count("joins that are slices")
                context.remark(op, "is there already: its parts are neighbours in another tensor")
            elif isinstance(writers := self.joins.writers(join, pieces), str):
                context.remark(op, f"puts a tensor together: {writers}")
                continue
            else:
                made = self._write(number, writers)
                context.count("joins in place")
                context.remark(op, f"is written in place by the {len(writers)} groups that make its parts")
            if join.is_all:
                op.results[0].replace_all_uses_with(made)
                joined.append(op)
            else:
                reading.append((join, made))
        for join, made in reading:
            joined += _read_whole(join, made)
        erase_unused([*joined, *self.slices])

    def _write(self, number: int, writers: list[PartWriter]) -> ir.Value:
        whole: ir.Value | None = None
        for version, writer in enumerate(map(self._bundled, writers)):
            whole, *slices = writer.write(whole)
            self.slices += [each.owner.operation for each in slices]
            self.joins.written.add(writer.result)
            self.joins.versions[whole] = number, version
        assert whole is not None, "a join has parts"
        return whole

    def _bundled(self, writer: PartWriter) -> PartWriter:
        """A writer that is a bundle: what it makes is written where it belongs."""
        group = self.joins.groups[writer.result]
        if BUNDLE in group.root.attributes:
            return writer
        ops = [as_generic(op) for op in group.ops]
        mark_bundle(ops, next(self.numbers))
        return writer.of(ops[-1].results[0])


def _may_be_slice(join: Join) -> bool:
    """Whether a slice may take the place of what is joined: a result has to be made by somebody."""
    made = join.op.results[0]
    return can_be_slice(made, join) and not is_result(made)


def _slice(join: Join, piece: JoinPiece) -> ir.Value:
    """What is a slice of one tensor already."""
    with at(join.op):
        return slice_along(piece.value, join.dimension, piece.begin, piece.size)


def _read_whole(join: Join, whole: ir.Value) -> list[ir.Operation]:
    """Has an op that does more than joining read what is joined; returns what it read before."""
    padded = [join.op.operands[number].owner.operation for number in join.numbers]
    select = join.value.owner.operation
    join.value.replace_all_uses_with(join.first)
    erase_unused([select])
    join.op.operands[join.numbers[0]] = whole
    drop_unread_inputs(join.op)
    return padded

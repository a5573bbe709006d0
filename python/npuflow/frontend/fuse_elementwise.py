"""npuflow-fuse-elementwise: everything elementwise that follows each other in one linalg.generic."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from npuflow.bindings import bufferization, ir
from npuflow.core.build import at, element_type_of, empty, generic_op, shape_of
from npuflow.core.passes import Pass, PassContext, ops_of
from npuflow.core.registry import register_pass
from npuflow.frontend.kept_strategies import strategies_kept
from npuflow.frontend.own_inputs import repeat_for_each, slice_inputs
from npuflow.frontend.upstream import run_upstream
from npuflow.ops.contraction import BUNDLE, is_elementwise, is_parallel, match_contraction, only_user, producer
from npuflow.ops.linear import input_count, iterators, maps_of
from npuflow.ops.reshapes import unreshaped

_COSTLY = ("math.", "arith.div", "arith.rem")


@register_pass
@dataclass(frozen=True)
class FuseElementwise(Pass):
    """Makes elementwise ops that follow each other one linalg.generic; what would be computed again stays apart.

        %s = linalg.generic ... ins(%r, %c : ...) { arith.addf }
        %t = linalg.generic ... ins(%s : ...) { arith.maximumf }

    becomes

        %t = linalg.generic ... ins(%r, %c : ...) { arith.addf ... arith.maximumf }

    An elementwise op in front of a reduction joins it where the reduction reads each of its elements once: a sum of
    squares is one op. A window or a matmul reads elements again and again, so what is in front of it stays an op, and
    so does a root or an exponential per row that is used in every column, with what is computed of it for each row.
    What is shifted by a number of each row is shifted by each who reads it, as by a norm's squares and its scaling.
    What is behind a window's sums keeps their shape, though its result be expanded.

    What an elementwise op reads from its output becomes an input, inputs that nothing needs are dropped, and constant
    scalars are read directly.
    """

    name = "npuflow-fuse-elementwise"
    group = "frontend"

    def run(self, op: ir.Operation, context: PassContext) -> None:
        for generic in ops_of(op, "linalg.generic"):
            if BUNDLE not in generic.attributes and _reads_output(generic):
                _make_output_input(generic)
                context.count("outputs made inputs")
        context.count("slices made of slices", slice_inputs(op))
        context.count("repeats of one reader each", repeat_for_each(op))
        for generic in ops_of(op, "linalg.generic"):
            if BUNDLE in generic.attributes:
                _part_outputs(generic)
        pins = [*_pin_bundles(op), *_pin_repeated(op), *_pin_reshaped_arguments(op), *_pin_expanded_tails(op)]
        context.count("ops kept apart", len(pins))
        with strategies_kept(op):
            run_upstream(op, "linalg-fuse-elementwise-ops")
        for pin in ops_of(op, _PIN):
            if _PINNED in pin.attributes:
                pin.erase()
        run_upstream(op, "canonicalize,cse")


# MLIR fuses what has one use. Another use keeps it apart; this op takes a tensor, has no result and is never folded.
_PIN = "bufferization.dealloc_tensor"
_PINNED = "npu.kept_apart"


def _pin(value: ir.Value) -> ir.Operation:
    """Another use of a value."""
    with at(value.owner.operation, after=True):
        pin = bufferization.DeallocTensorOp(value).operation
    pin.attributes[_PINNED] = ir.UnitAttr.get()
    return pin


def _pin_bundles(op: ir.Operation) -> Iterator[ir.Operation]:
    """Keeps bundles in their own shape: what they read reshaped, and what they make."""
    for generic in ops_of(op, "linalg.generic"):
        if BUNDLE in generic.attributes:
            reshaped = [value for value in generic.operands if unreshaped(value) != value]
            for value in dict.fromkeys([*reshaped, *generic.results]):
                yield _pin(value)


def _pin_repeated(op: ir.Operation) -> Iterator[ir.Operation]:
    """Gives every value that a fused consumer would compute more than once another use; bundles stay what they are."""
    costly = set[ir.Value]()
    for consumer in ops_of(op, "linalg.generic"):
        inputs = list(consumer.operands)[: -len(consumer.results) or None]
        is_costly = any(inner.name.startswith(_COSTLY) for inner in ops_of(consumer))
        # MLIR fuses through reshapes as well.
        for value, map_ in zip(map(unreshaped, inputs), maps_of(consumer)):
            source = producer(value, "linalg.generic")
            if source is None or not is_parallel(source):
                continue
            if BUNDLE in consumer.attributes or _is_repeated(value in costly, consumer, map_):
                yield _pin(value)
            elif value in costly:
                is_costly = True
        if is_costly:
            costly.update(consumer.results)


def _pin_reshaped_arguments(op: ir.Operation) -> Iterator[ir.Operation]:
    """Keeps sums of products and what is behind them in the shape that they have in common.

    MLIR gives an op the shape that its operand had before it was reshaped, so that it fuses with what made that. Nobody
    made an argument, and a tail in another shape than its sum's is none any more.
    """
    for consumer in ops_of(op, "linalg.generic"):
        if match_contraction(consumer) is None and not _is_tail(consumer):
            continue
        for value in consumer.operands:
            reshape = producer(value, "tensor.collapse_shape", "tensor.expand_shape")
            if reshape is not None and isinstance(reshape.operands[0].owner, ir.Block):
                yield _pin(value)


def _pin_expanded_tails(op: ir.Operation) -> Iterator[ir.Operation]:
    """Keeps what is behind a window's sums in their shape, which MLIR makes another one if that is expanded.

    It doesn't expand the windows' own loops, so that sums would go to memory as they are.
    """
    for reshape in ops_of(op, "tensor.expand_shape"):
        if _is_window_or_behind(reshape.operands[0]):
            yield _pin(reshape.operands[0])


def _is_window_or_behind(value: ir.Value) -> bool:
    """Whether an op sums up windows, or is an elementwise op behind one that can be its tail."""
    waiting = [value]  # chains are longer than Python's stack
    while waiting:
        op = producer(waiting.pop(), "linalg.generic")
        if op is None:
            continue
        maps = maps_of(op)
        if is_parallel(op):
            inputs = zip(list(op.operands)[: input_count(op)], maps)
            waiting += [read for read, map_ in inputs if map_.is_permutation and only_user(read) is not None]
        elif not all(map_.is_projected_permutation for map_ in maps):
            return True
    return False


def _is_repeated(is_costly: bool, consumer: ir.Operation, read: ir.AffineMap) -> bool:
    """Whether fusing computes an element of a source more than once, and whether that matters."""
    if read.is_permutation:
        return False
    if not is_parallel(consumer):
        return True
    return is_costly and not _is_tail(consumer)


def _is_tail(op: ir.Operation) -> bool:
    """Whether an op reads a matmul's sum: all of what is behind a matmul has to be one op."""
    sources = (producer(value) for value in op.operands)
    return any(source is not None and match_contraction(source) is not None for source in sources)


def _reads_output(op: ir.Operation) -> bool:
    """Whether an elementwise op uses what its output held before."""
    if not is_elementwise(op) or not op.results[0].type.has_static_shape:
        return False
    before = op.regions[0].blocks[0].arguments[-1]
    return any(True for _ in before.uses)


def _part_outputs(op: ir.Operation) -> None:
    """Gives results of an op an empty tensor each: MLIR makes those one that are alike and start from the same.

    In a bundle they need memory of their own, as a running maximum and the one before it, which begin alike.
    """
    begun: set[ir.Value] = set()
    for number in range(input_count(op), len(op.operands)):
        value = op.operands[number]
        if value in begun and producer(value, "tensor.empty") is not None:
            with at(op):
                op.operands[number] = empty(shape_of(value), element_type_of(value))
        begun.add(value)


def _make_output_input(op: ir.Operation) -> None:
    """Lets the op read its output as one more input and write an empty tensor: there is one way to read, then."""
    output = op.operands[len(op.operands) - 1]
    maps = maps_of(op)
    block = op.regions[0].blocks[0]
    with at(op):
        target = empty(shape_of(output), element_type_of(output))
        replacement = generic_op(op.operands, [target], [*maps, maps[-1]], iterators(op), dict(op.attributes))
        block.add_argument(element_type_of(output), op.location)
    block.append_to(replacement.regions[0])
    op.results[0].replace_all_uses_with(replacement.results[0])
    op.erase()

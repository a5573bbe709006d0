"""Ops of more tensors than a core can be handed at a time, with drawn bodies; IREE or the JIT is the judge."""

from __future__ import annotations

from dataclasses import dataclass

import pytest
from hypothesis import given
from hypothesis import strategies as st
from profiles import drawn

import npuflow
from npuflow.compiler.verify_function import Verified, verify_function
from npuflow.execute.references import Judge, make_references
from npuflow.execute.verification import Status
from npuflow.testing.operator_text import Indexed, Loops, Value, Writer, loop_names

# IREE binds at most so many tensors.
_IREE_TENSORS = 32


@dataclass(frozen=True)
class Body:
    """How numbers are combined, one after the other: an operation and the places of its operands."""

    shape: tuple[int, ...]
    inputs: tuple[tuple[int, ...], ...]
    steps: tuple[tuple[str, int, int, int], ...]
    summed: bool

    def text(self) -> str:
        writer = Writer()
        loops = loop_names(len(self.shape))
        taken = [writer.argument("i32", [self.shape[d] for d in dims]) for dims in self.inputs]
        kept = loops[:-1] if self.summed else loops
        target = writer.filled(0, "i32", self.shape[: len(kept)])

        def body(*numbers: str) -> str:
            known = list(numbers[:-1])
            for step, *places in self.steps:
                a, b, c = (known[place % len(known)] for place in places)
                known.append(_apply(writer, step, a, b, c))
            result = known[-1]
            for number in known[: len(taken)]:
                result = writer.scalar("arith.xori : i32", result, number)
            return writer.scalar("arith.addi : i32", result, numbers[-1]) if self.summed else result

        accesses = [Indexed(value, tuple(loops[d] for d in dims)) for value, dims in zip(taken, self.inputs)]
        all_loops = Loops(kept, loops[len(kept) :])
        return writer.text(writer.generic(all_loops, accesses, Indexed(target, kept), body))


def _apply(writer: Writer, step: str, a: str, b: str, c: str) -> str:
    if step == "select":
        return writer.choose(writer.compare("slt", a, b, "i32"), b, c, "i32")
    if step == "place":
        return writer.scalar("arith.addi : i32", a, writer.from_position(writer.position(0), "i32"))
    return writer.scalar(f"arith.{step} : i32", a, b)


@st.composite
def bodies(draw: st.DrawFn) -> Body:
    shape = tuple(draw(st.lists(st.integers(1, 17), min_size=1, max_size=3)))
    every = tuple(range(len(shape)))
    some = st.lists(st.sampled_from(every), unique=True, min_size=1).map(tuple)
    inputs = (every, *draw(st.lists(st.one_of(st.just(every), some), min_size=8, max_size=40)))
    step = st.sampled_from(["addi", "subi", "maxsi", "xori", "select", "place"])
    place = st.integers(0, 100)
    steps = draw(st.lists(st.tuples(step, place, place, place), min_size=1, max_size=40))
    return Body(shape, inputs, tuple(steps), draw(st.booleans()))


def verified(text: str, device: str, tensors: int) -> Verified:
    module = npuflow.parse(text, npuflow.new_context())
    judge = Judge.IREE if tensors <= _IREE_TENSORS else Judge.JIT
    (reference,) = make_references(module.operation, "", 0, judge)
    compiled = npuflow.compile(text, device=device)
    (whole, *_) = compiled.sequences or compiled.functions
    return verify_function(whole.compiled, reference)


@pytest.mark.parametrize("device", ["toy", "npu1", "npu2"])
def test_ops_with_many_inputs_compute_what_they_say(device: str) -> None:
    @drawn(few=2, many=400)
    @given(bodies())
    def check(body: Body) -> None:
        found = verified(body.text(), device, len(body.inputs) + 1)
        assert found.status is Status.OK, f"{body}: {found.message} {found.hazards[:1]}"

    check()


def _matmul_with_tail(shape: tuple[int, int, int], tails: int) -> str:
    writer = Writer()
    m, n, k = shape
    left, right = writer.argument("i8", (m, k)), writer.argument("i8", (k, n))
    total = writer.named("linalg.matmul", [left, right], writer.filled(0, "i32", (m, n)))
    loops = loop_names(2)
    others = [Indexed(writer.argument("i32", (m, n)), loops) for _ in range(tails)]

    def body(*numbers: str) -> str:
        result = numbers[0]
        for number in numbers[1:-1]:
            result = writer.scalar("arith.addi : i32", result, number)
        return result

    target: Value = writer.empty("i32", (m, n))
    return writer.text(writer.generic(Loops(loops), [Indexed(total, loops), *others], Indexed(target, loops), body))


@pytest.mark.parametrize("tails", [3, 4, 9])
@pytest.mark.parametrize("device", ["npu1", "npu2"])
def test_tails_of_many_inputs(device: str, tails: int) -> None:
    found = verified(_matmul_with_tail((67, 130, 45), tails), device, tails + 3)
    assert found.status is Status.OK, found.message

"""What operator programs do element by element: behind an operator, in front of one, or alone."""

from __future__ import annotations

from collections.abc import Sequence
from enum import Enum

from npuflow.execute.arrays import is_float
from npuflow.testing.operator_text import Indexed, Loops, Value, Writer, loop_names

SCALE_FLOAT = -0.375
SCALE_INTEGER = 3
SHIFT = 7
EPSILON = 1e-5


class ElementwiseStep(Enum):
    """One elementwise step. Those of `NARROWING` end in a smaller type and come last."""

    BIAS = "bias"
    RESIDUAL = "residual"
    SCALE = "scale"
    CHANNEL_SCALE = "channel-scale"
    RELU = "relu"
    GELU = "gelu"
    SILU = "silu"
    SIGMOID = "sigmoid"
    TANH = "tanh"
    EXP = "exp"
    SQUARE = "square"
    TRUNCATE = "truncate"
    REQUANTISE = "requantise"
    QUANTISE = "quantise"


NARROWING = frozenset({ElementwiseStep.TRUNCATE, ElementwiseStep.REQUANTISE, ElementwiseStep.QUANTISE})
FLOAT_ONLY = frozenset(
    {
        ElementwiseStep.GELU,
        ElementwiseStep.SILU,
        ElementwiseStep.SIGMOID,
        ElementwiseStep.TANH,
        ElementwiseStep.EXP,
        ElementwiseStep.QUANTISE,
    }
)
INTEGER_ONLY = frozenset({ElementwiseStep.REQUANTISE})
_TAKES_CHANNEL = frozenset({ElementwiseStep.BIAS, ElementwiseStep.CHANNEL_SCALE, ElementwiseStep.REQUANTISE})


def is_possible(step: ElementwiseStep, element: str) -> bool:
    """Whether a step works on numbers of a type."""
    return step not in (INTEGER_ONLY if is_float(element) else FLOAT_ONLY)


def apply_steps(writer: Writer, value: Value, steps: Sequence[ElementwiseStep], channel: int) -> Value:
    """The steps as one linalg.generic; `channel` is the dimension that biases and scales follow."""
    if not steps:
        return value
    loops = loop_names(len(value.shape))
    inputs = [Indexed(value, loops)]
    for step in steps:
        if step in _TAKES_CHANNEL:
            shape, indices = ((value.shape[channel],), (loops[channel],)) if value.shape else ((), ())
            inputs.append(Indexed(writer.argument(value.element, shape), indices))
        elif step is ElementwiseStep.RESIDUAL:
            inputs.append(Indexed(writer.argument(value.element, value.shape), loops))
    target = writer.empty(result_element(value.element, steps), value.shape)

    def body(number: str, *others: str) -> str:
        rest = iter(others)
        for step in steps:
            other = next(rest) if step in _TAKES_CHANNEL or step is ElementwiseStep.RESIDUAL else ""
            number = step_on(writer, step, number, other, value.element)
        return number

    return writer.generic(Loops(loops), inputs, Indexed(target, loops), body)


def result_element(element: str, steps: Sequence[ElementwiseStep]) -> str:
    """The type that the steps leave."""
    if not steps or steps[-1] not in NARROWING:
        return element
    return "bf16" if is_float(element) and steps[-1] is ElementwiseStep.TRUNCATE else "i8"


def step_on(writer: Writer, step: ElementwiseStep, value: str, other: str, element: str) -> str:
    """One step on one number; `other` is the second operand of those that have one."""
    real = is_float(element)
    if step in (ElementwiseStep.BIAS, ElementwiseStep.RESIDUAL):
        return writer.scalar(f"arith.{'addf' if real else 'addi'} : {element}", value, other)
    if step in (ElementwiseStep.SCALE, ElementwiseStep.CHANNEL_SCALE):
        factor = other or writer.constant(SCALE_FLOAT if real else SCALE_INTEGER, element)
        return writer.scalar(f"arith.{'mulf' if real else 'muli'} : {element}", value, factor)
    if step is ElementwiseStep.SQUARE:
        return writer.scalar(f"arith.{'mulf' if real else 'muli'} : {element}", value, value)
    if step is ElementwiseStep.RELU:
        return writer.scalar(f"arith.{'maximumf' if real else 'maxsi'} : {element}", value, writer.constant(0, element))
    if step in NARROWING:
        return _narrowed(writer, step, value, other, element)
    return _curved(writer, step, value, element)


def _narrowed(writer: Writer, step: ElementwiseStep, value: str, other: str, element: str) -> str:
    if step is ElementwiseStep.QUANTISE:
        scaled = writer.scalar(f"arith.mulf : {element}", value, writer.constant(100.0, element))
        low, high = writer.constant(-128.0, element), writer.constant(127.0, element)
        clamped = writer.scalar(f"arith.maximumf : {element}", scaled, low)
        clamped = writer.scalar(f"arith.minimumf : {element}", clamped, high)
        return writer.convert(clamped, element, "i8")
    if is_float(element):
        return writer.convert(value, element, "bf16")
    if step is ElementwiseStep.REQUANTISE:
        value = writer.scalar(f"arith.muli : {element}", value, other)
    value = writer.scalar(f"arith.shrsi : {element}", value, writer.constant(SHIFT, element))
    if step is ElementwiseStep.REQUANTISE:
        value = writer.scalar(f"arith.maxsi : {element}", value, writer.constant(-128, element))
        value = writer.scalar(f"arith.minsi : {element}", value, writer.constant(127, element))
    return writer.convert(value, element, "i8")


def _curved(writer: Writer, step: ElementwiseStep, value: str, element: str) -> str:
    """Functions that vector units have tables or approximations for."""
    if step in (ElementwiseStep.TANH, ElementwiseStep.EXP):
        return writer.scalar(f"math.{step.value} : {element}", value)
    one = writer.constant(1.0, element)
    if step is ElementwiseStep.GELU:
        scaled = writer.scalar(f"arith.mulf : {element}", value, writer.constant(0.7071067811865476, element))
        grown = writer.scalar(f"arith.addf : {element}", writer.scalar(f"math.erf : {element}", scaled), one)
        half = writer.scalar(f"arith.mulf : {element}", value, writer.constant(0.5, element))
        return writer.scalar(f"arith.mulf : {element}", half, grown)
    power = writer.scalar(f"math.exp : {element}", writer.scalar(f"arith.negf : {element}", value))
    below = writer.scalar(f"arith.addf : {element}", power, one)
    above = one if step is ElementwiseStep.SIGMOID else value
    return writer.scalar(f"arith.divf : {element}", above, below)


def widened(writer: Writer, value: Value, element: str, head: bool) -> Value:
    """`value` in another type; `head` scales it too, as dequantising does."""
    if value.element == element and not head:
        return value
    loops = loop_names(len(value.shape))
    target = writer.empty(element, value.shape)

    def body(number: str, _: str) -> str:
        wide = writer.convert(number, value.element, element)
        return step_on(writer, ElementwiseStep.SCALE, wide, "", element) if head else wide

    return writer.generic(Loops(loops), [Indexed(value, loops)], Indexed(target, loops), body)

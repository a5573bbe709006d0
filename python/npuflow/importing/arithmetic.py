"""Arithmetic and comparisons as PyTorch has them, where torch-mlir has others: of mixed types, signs and infinities."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from npuflow.importing.packages import loaded_torch

if TYPE_CHECKING:
    from torch import Tensor


def _compared(name: str) -> Callable[..., Any]:
    """A comparison with a number of the tensor's own type: else torch-mlir folds a constant to the opposite, or fails.

    Whole numbers are compared with a float as floats, as PyTorch does.
    """

    def compared(x: Tensor, other: float) -> Tensor:
        torch = loaded_torch()
        op, kind = getattr(torch.ops.aten, name).Scalar, torch.result_type(x, other)
        if kind != x.dtype:
            return op(x.to(kind), other)
        if not x.dtype.is_floating_point or isinstance(other, float):
            return NotImplemented
        return op(x, float(other))

    return compared


def _compared_as_one(name: str, of_itself: Callable[[Tensor], Tensor] | None = None) -> Callable[..., Any]:
    """Numbers of two types are compared as ones of the type of both; one with itself may be no number."""

    def compared(x: Tensor, y: Tensor) -> Any:  # noqa: ANN401  (a tensor, or what says that the op is left)
        torch = loaded_torch()
        if x is y and of_itself is not None:
            return of_itself(x)
        if x.dtype == y.dtype:
            return NotImplemented
        kind = torch.result_type(x, y)
        return getattr(torch.ops.aten, name).Tensor(x.to(kind), y.to(kind))

    return compared


def _is_number(x: Tensor) -> Tensor:
    """Whether it is the same as itself, which torch-mlir takes for granted."""
    torch = loaded_torch()
    return ~torch.isnan(x) if x.is_floating_point() else torch.ones_like(x, dtype=torch.bool)


def is_finite(x: Tensor) -> Tensor:
    torch = loaded_torch()
    return x.abs() < torch.inf if x.is_floating_point() else torch.ones_like(x, dtype=torch.bool)


def is_close(x: Tensor, y: Tensor, rtol: float = 1e-5, atol: float = 1e-8, equal_nan: bool = False) -> Tensor:
    """What is the same is close, if infinite too; torch-mlir asks how far apart numbers are, and no more."""
    torch = loaded_torch()
    close = x == y
    if equal_nan and x.is_floating_point():
        close = close | (torch.isnan(x) & torch.isnan(y))
    if rtol == 0 and atol == 0:
        return close
    if not x.is_floating_point():
        x, y = x.to(torch.get_default_dtype()), y.to(torch.get_default_dtype())
    apart = (x - y).abs()
    return close | (torch.isfinite(apart) & (apart <= atol + (rtol * y).abs()))


def rest_of(x: Tensor, y: Any) -> Any:  # noqa: ANN401  (a tensor or a number)
    """The rest of a division that has its first number's sign: exact, as that of the other kind is.

    torch-mlir divides floats, and cuts off: 1 has no rest by 0.1 then, and 7 none by what is infinite.
    """
    torch = loaded_torch()
    kind, is_tensor = torch.result_type(x, y), isinstance(y, torch.Tensor)
    if not kind.is_floating_point and is_tensor and x.dtype == y.dtype:
        return NotImplemented
    y = y.to(kind) if is_tensor else torch.full((), y, dtype=kind)
    if not kind.is_floating_point:
        return torch.fmod(x.to(kind), y)
    rest = torch.remainder(x.abs().to(kind), y.abs())
    return torch.where(x < 0, -rest, rest)


def divided_down(x: Any, y: Any) -> Any:  # noqa: ANN401  (a tensor or a number, one of them a tensor)
    """The floor of a quotient of floats, whose rest is exact: the floor of 1 / 0.1, which is rounded, is one more."""
    torch = loaded_torch()
    kind = torch.result_type(x, y)
    if not kind.is_floating_point:
        return NotImplemented
    x, y = (one.to(kind) if isinstance(one, torch.Tensor) else torch.full((), one, dtype=kind) for one in (x, y))
    rest = rest_of(x, y)
    below = (rest != 0) & ((y < 0) != (rest < 0))
    quotient = (x - rest) / y
    quotient = torch.where(below, quotient - 1, quotient)
    whole = torch.floor(quotient)
    whole = torch.where(quotient - whole > 0.5, whole + 1, whole)
    return torch.where(y == 0, x / y, whole)


def _divided(x: Any, y: Any, *, rounding_mode: str | None = None) -> Any:  # noqa: ANN401
    return divided_down(x, y) if rounding_mode == "floor" else NotImplemented


def _softmax_of_one(x: Tensor, *_: object) -> Any:  # noqa: ANN401
    return NotImplemented if x.dim() else (x - x).exp()


def _log_softmax_of_one(x: Tensor, *_: object) -> Any:  # noqa: ANN401
    return NotImplemented if x.dim() else x - x


def _product_and_sum(product: Callable[[Tensor, Tensor], Tensor]) -> Callable[..., Tensor]:
    """Factors of whole numbers are cut off to such."""

    def found(start: Tensor, x: Tensor, y: Tensor, *, beta: float = 1, alpha: float = 1) -> Tensor:
        if not start.is_floating_point():
            beta, alpha = int(beta), int(alpha)
        made = product(x, y)
        made = made if alpha == 1 else made * alpha
        # What is multiplied by zero isn't read: it may be no number.
        return made if beta == 0 else (start if beta == 1 else start * beta) + made

    return found


def product_added(start: Tensor, x: Tensor, y: Tensor, *, value: float = 1) -> Any:  # noqa: ANN401  (as above)
    """A factor that is a float is cut off where all else are whole numbers."""
    if not isinstance(value, float) or any(one.dtype.is_floating_point for one in (start, x, y)):
        return NotImplemented
    return start + int(value) * x * y


def clamped(x: Tensor, least: Any = None, most: Any = None) -> Any:  # noqa: ANN401  (as above)
    """Of bounds of other types, which torch-mlir compares as they are, by numbers of the type of all of them."""
    torch = loaded_torch()
    given = [one for one in (x, least, most) if one is not None]
    kind = x.dtype
    for one in given[1:]:
        kind = torch.promote_types(kind, torch.result_type(x, one))
    if all(_is_of(one, kind) for one in given):
        return NotImplemented
    bounds = [one if one is None else one.to(kind) if isinstance(one, torch.Tensor) else one for one in (least, most)]
    number = float if kind.is_floating_point else int
    return torch.clamp(x.to(kind), *(number(one) if isinstance(one, (bool, int, float)) else one for one in bounds))


def _is_of(value: Any, kind: Any) -> bool:  # noqa: ANN401  (a tensor or a number, and a type of elements)
    if isinstance(value, loaded_torch().Tensor):
        return bool(value.dtype == kind)
    return isinstance(value, float) == kind.is_floating_point and not isinstance(value, bool)


def _rest_of_number(x: float, y: Tensor) -> Tensor:
    torch = loaded_torch()
    return torch.remainder(torch.full((), x, dtype=torch.result_type(x, y)), y)


# Powers that PyTorch computes so too.
_ROOTS = {0.5: "sqrt", -0.5: "rsqrt"}


def power(x: Any, by: Any) -> Any:  # noqa: ANN401  (as `divided_down`)
    """Whole numbers to the power of such: products of their squares, of one after the other of the exponent's bits.

    What such a power is below zero, of -1 and 1 alone it is a whole number; PyTorch cuts the others off to zero. Roots
    of floats are no powers.
    """
    torch = loaded_torch()
    kind = torch.result_type(x, by)
    if kind.is_floating_point or kind.is_complex:
        is_other = isinstance(x, torch.Tensor) and x.dtype != kind and not kind.is_complex
        root = None if isinstance(by, torch.Tensor) or kind.is_complex else _ROOTS.get(by)
        if root is not None:
            return getattr(torch, root)(x.to(kind))
        return torch.pow(x.to(kind), by) if is_other else NotImplemented
    if not isinstance(by, torch.Tensor):
        return _whole_power(x.to(kind), by)
    x = x.to(kind) if isinstance(x, torch.Tensor) else torch.full((), x, dtype=kind)
    by = by.to(kind)
    found, square = torch.ones_like(x), x
    bits = torch.iinfo(kind).bits - 1
    for bit in range(bits):
        found = torch.where((by >> bit) % 2 != 0, found * square, found)
        square = square if bit == bits - 1 else square * square
    is_odd = by % 2 != 0
    of_units = torch.where(x == 1, 1, torch.where(x == -1, torch.where(is_odd, -1, 1), 0))
    return torch.where(by < 0, of_units.to(kind), found)


def _whole_power(x: Tensor, by: int) -> Tensor:
    if by == 0:
        return loaded_torch().ones_like(x)
    half = _whole_power(x, by // 2)
    square = x if by == 1 else half * half
    return square * x if by % 2 and by > 1 else square


def _shifted(name: str) -> Callable[..., Tensor]:
    """A number by bits that a tensor says."""

    def shifted(x: int, by: Tensor) -> Tensor:
        torch = loaded_torch()
        return getattr(torch, name)(torch.full((), x, dtype=by.dtype), by)

    return shifted


def _with_bits(name: str) -> Callable[..., Tensor]:
    """Bits of a tensor and of a number, of the type of both: of bools and a whole number that is the number's."""

    def found(x: Tensor, bits: int) -> Tensor:
        torch = loaded_torch()
        kind = torch.result_type(x, bits)
        return getattr(torch, name)(x.to(kind), torch.full((), bits, dtype=kind))

    return found


def _rrelu(
    x: Tensor, lower: float = 1 / 8, upper: float = 1 / 3, training: bool = False, _generator: object = None
) -> Any:  # noqa: ANN401  (a tensor, or what says that the op is left)
    """Slopes are drawn in training only; else they are what would be drawn on average."""
    if training:
        return NotImplemented
    return loaded_torch().nn.functional.leaky_relu(x, (lower + upper) / 2)


def _negative(x: Tensor) -> Any:  # noqa: ANN401  (as above)
    """Of whole numbers a difference: torch-mlir negates them as numbers of f32."""
    return NotImplemented if x.is_floating_point() or x.is_complex() else 0 - x


_SHIFTS = ("bitwise_left_shift", "bitwise_right_shift")

TAKEN_APART: Mapping[str, Callable[..., Any]] = {
    "__lshift__.Tensor": lambda x, by: loaded_torch().bitwise_left_shift(x, by),
    "__rshift__.Tensor": lambda x, by: loaded_torch().bitwise_right_shift(x, by),
    **{f"{name}.Scalar": _compared(name) for name in ("eq", "ne", "lt", "le", "gt", "ge")},
    "addbmm.default": _product_and_sum(lambda x, y: (x @ y).sum(0, dtype=x.dtype)),
    "addmv.default": _product_and_sum(lambda x, y: x.mv(y)),
    **{f"{name}.Scalar_Tensor": _shifted(name) for name in _SHIFTS},
    **{f"{name}.Tensor_Scalar": _with_bits(name) for name in _SHIFTS},
    "addcmul.default": product_added,
    **{f"{name}.Scalar": _with_bits(name) for name in ("bitwise_and", "bitwise_or", "bitwise_xor")},
    "div.Scalar_mode": _divided,
    "div.Tensor_mode": _divided,
    **{f"{name}.Tensor": _compared_as_one(name) for name in ("lt", "le", "gt", "ge")},
    "neg.default": _negative,
    "eq.Tensor": _compared_as_one("eq", _is_number),
    "rrelu.default": _rrelu,
    "ne.Tensor": _compared_as_one("ne", lambda x: ~_is_number(x)),
    "floor_divide.default": divided_down,
    "floor_divide.Scalar": divided_down,
    "fmod.Scalar": rest_of,
    "fmod.Tensor": rest_of,
    **{f"clamp.{overload}": clamped for overload in ("default", "Tensor")},
    "clamp_min.default": clamped,
    "clamp_max.default": lambda x, most: clamped(x, None, most),
    "remainder.Scalar_Tensor": _rest_of_number,
    **{f"pow.{overload}": power for overload in ("Scalar", "Tensor_Scalar", "Tensor_Tensor")},
    "isclose.default": is_close,
    "isfinite.default": is_finite,
    # Of one number, torch-mlir folds these without an end.
    "_softmax.default": _softmax_of_one,
    "_log_softmax.default": _log_softmax_of_one,
}

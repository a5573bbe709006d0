"""PyTorch's ops of complex tensors, as ops of their real and imaginary parts."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from math import prod
from typing import TYPE_CHECKING, Any

from npuflow.errors import InputError, with_hint
from npuflow.importing.fourier import real_of_half, transformed
from npuflow.importing.packages import loaded_torch

if TYPE_CHECKING:
    from torch import Tensor


@dataclass(frozen=True)
class Parts:
    """A complex tensor's real and imaginary parts, of one shape."""

    real: Tensor
    imaginary: Tensor

    @staticmethod
    def of(value: Any) -> Parts:  # noqa: ANN401  (a number, a tensor or parts)
        torch = loaded_torch()
        if isinstance(value, Parts):
            return value
        if isinstance(value, torch.Tensor):
            return Parts(value, torch.zeros_like(value))
        number = complex(value)
        return Parts(torch.tensor(number.real), torch.tensor(number.imag))

    @staticmethod
    def of_pairs(pairs: Tensor) -> Parts:
        return Parts(pairs.select(-1, 0), pairs.select(-1, 1))

    def each(self, compute: Callable[[Tensor], Tensor]) -> Parts:
        return Parts(compute(self.real), compute(self.imaginary))


def computed_of_parts(op: Any, args: Sequence[Any], kwargs: Mapping[str, Any]) -> object:  # noqa: ANN401
    """What an op gives where its complex tensors, arguments and results, are parts."""
    schema = getattr(op, "_schema", None)
    name = str(op) if schema is None else schema.name.partition("::")[2]
    if name in _OPS:
        return _OPS[name](*args, **kwargs)
    if name in _OF_EACH or schema is None:
        return _of_each(op, args, kwargs)
    what = f"{name} of complex numbers is not supported"
    raise InputError(with_hint(what, f"supported are {', '.join(sorted([*_OPS, *_OF_EACH]))}"))


def _of_each(op: Any, args: Sequence[Any], kwargs: Mapping[str, Any]) -> Any:  # noqa: ANN401
    """What moves elements, or adds them up, does so with both parts."""
    real, imaginary = (op(*(_taken(one, name) for one in args), **kwargs) for name in ("real", "imaginary"))
    if isinstance(real, (list, tuple)):
        return [Parts(*both) for both in zip(real, imaginary, strict=True)]
    return Parts(real, imaginary)


def _taken(value: Any, name: str) -> Any:  # noqa: ANN401
    """An argument with one part of what is complex; of a real tensor in a list of such, too."""
    torch = loaded_torch()
    if isinstance(value, Parts):
        return getattr(value, name)
    if isinstance(value, (list, tuple)) and any(isinstance(one, Parts) for one in value):
        return [getattr(Parts.of(one), name) if isinstance(one, torch.Tensor) else _taken(one, name) for one in value]
    return value


def _polar(size: Tensor, angle: Tensor) -> Parts:
    return Parts(size * angle.cos(), size * angle.sin())


def _converted(value: Any, dtype: Any = None, **_: object) -> object:  # noqa: ANN401
    if dtype is None:
        return Parts.of(value)
    return Parts.of(value).each(lambda one: one.to(dtype.to_real())) if dtype.is_complex else value.real.to(dtype)


def _filled(sizes: Sequence[int], value: complex) -> Parts:
    return Parts.of(value).each(lambda one: one.expand(sizes))


def _written(op: str) -> Callable[..., Parts]:
    def written(target: Parts, source: Any, *where: int) -> Parts:  # noqa: ANN401
        torch = loaded_torch()
        write, new = getattr(torch.ops.aten, op), Parts.of(source)
        return Parts(write(target.real, new.real, *where), write(target.imaginary, new.imaginary, *where))

    return written


def _padded(x: Parts, sizes: Sequence[int], value: complex = 0) -> Parts:
    pad, number = loaded_torch().nn.functional.pad, complex(value)
    return Parts(pad(x.real, sizes, value=number.real), pad(x.imaginary, sizes, value=number.imag))


def _sum(x: Any, y: Any, *, alpha: float = 1) -> Parts:  # noqa: ANN401
    a, b = Parts.of(x), Parts.of(y)
    return Parts(a.real + alpha * b.real, a.imaginary + alpha * b.imaginary)


def _product(x: Any, y: Any) -> Parts:  # noqa: ANN401
    x, y = (y, x) if isinstance(y, Parts) and not isinstance(x, Parts) else (x, y)
    a = Parts.of(x)
    if not isinstance(y, (Parts, complex)):
        return a.each(lambda one: one * y)
    b = Parts.of(y)
    return Parts(a.real * b.real - a.imaginary * b.imaginary, a.real * b.imaginary + a.imaginary * b.real)


def _quotient(x: Any, y: Any) -> Parts:  # noqa: ANN401
    if not isinstance(y, (Parts, complex)):
        return x.each(lambda one: one / y)
    b = Parts.of(y)
    size = b.real * b.real + b.imaginary * b.imaginary
    return _product(Parts.of(x), Parts(b.real / size, -b.imaginary / size))


def _matrix_product(x: Any, y: Any) -> Parts:  # noqa: ANN401
    a, b = Parts.of(x), Parts.of(y)
    return Parts(a.real @ b.real - a.imaginary @ b.imaginary, a.real @ b.imaginary + a.imaginary @ b.real)


def _conjugate(x: Parts) -> Parts:
    return Parts(x.real, -x.imaginary)


def _transformed(x: Parts, dims: Sequence[int], mode: int, forward: bool) -> Parts:
    """PyTorch's `mode`: divided by n^(mode / 2)."""
    count = prod(x.real.shape[dim] for dim in dims)
    found = transformed(x.real, x.imaginary, [dim % x.real.dim() for dim in dims], forward=forward)
    return _quotient(Parts(*found), count ** (mode / 2))


def _of_real(x: Tensor, dims: Sequence[int], mode: int, onesided: bool) -> Parts:
    dims = [dim % x.dim() for dim in dims]
    found = Parts(*transformed(x, None, dims[::-1], forward=True))
    if onesided:
        found = found.each(lambda one: one.narrow(dims[-1], 0, x.shape[dims[-1]] // 2 + 1))
    return _quotient(found, prod(x.shape[dim] for dim in dims) ** (mode / 2))


def _to_real(x: Parts, dims: Sequence[int], mode: int, size: int) -> Tensor:
    *others, last = (dim % x.real.dim() for dim in dims)
    a, b = transformed(x.real, x.imaginary, others, forward=False) if others else (x.real, x.imaginary)
    return real_of_half(a, b, last, size) / (size * prod(a.shape[dim] for dim in others)) ** (mode / 2)


_OF_EACH = frozenset(
    "_unsafe_view alias cat clone detach expand flip index index_select mean neg permute reshape roll select slice"
    " split_with_sizes squeeze sum transpose unsqueeze view".split()
)
_OPS: Mapping[str, Callable[..., Any]] = {
    "_conj": _conjugate,
    "_conj_physical": _conjugate,
    "_fft_c2c": _transformed,
    "_fft_c2r": _to_real,
    "_fft_r2c": _of_real,
    "_to_copy": _converted,
    "abs": lambda x: (x.real * x.real + x.imaginary * x.imaginary).sqrt(),
    "add": _sum,
    "bmm": _matrix_product,
    "complex": lambda real, imaginary: Parts(*loaded_torch().broadcast_tensors(real, imaginary)),
    "constant_pad_nd": _padded,
    "convert_element_type": _converted,
    "copy": _written("copy"),
    "div": _quotient,
    "empty_strided": lambda sizes, *_, **__: _filled(sizes, 0),
    "exp": lambda x: _polar(x.real.exp(), x.imaginary),
    "fill": lambda x, value: _filled(x.real.shape, value),
    "full": lambda sizes, value, **_: _filled(sizes, value),
    "full_like": lambda x, value, **_: _filled(x.real.shape, value),
    "imag": lambda x: x.imaginary,
    "mm": _matrix_product,
    "mul": _product,
    "polar": _polar,
    "real": lambda x: x.real,
    "select_scatter": _written("select_scatter"),
    "slice_scatter": _written("slice_scatter"),
    "sub": lambda x, y, alpha=1: _sum(x, y, alpha=-alpha),
    "view_as_complex": Parts.of_pairs,
    "view_as_real": lambda x: loaded_torch().stack((x.real, x.imaginary), -1),
}

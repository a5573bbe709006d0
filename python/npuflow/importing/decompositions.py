"""Which of PyTorch's ops are taken apart before torch-mlir reads them, and into what where PyTorch doesn't say."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cache
from typing import TYPE_CHECKING, Any

from npuflow.bindings import ir, load_torch_decompositions, new_torch_context
from npuflow.importing.complex_numbers import without_complex_numbers
from npuflow.importing.convolutions import convolution_of_single_channels
from npuflow.importing.packages import loaded_torch

if TYPE_CHECKING:
    from torch import Tensor
    from torch.export import ExportedProgram

# A row that is written is a slice for torch-mlir, and a mask over all of a tensor as PyTorch decomposes it.
_KEPT = ("aten.select_scatter.default",)
# What torch-mlir leaves whole, for the sake of complex numbers or of other compilers, and then has no lowering of.
_TRANSFORMS = ("aten.fft_", "aten.stft", "aten.istft")
_ERFC = (
    -1.26551223, 1.00002368, 0.37409196, 0.09678418, -0.18628806, 0.27886807, -1.13520398, 1.48851587, -0.82215223,
    0.17087277,
)  # fmt: skip
_OF_PYTORCH = ("aten.isfinite.default", "aten.linalg_norm.default", "aten.linalg_norm.ord_str")


def decomposed(program: ExportedProgram) -> ExportedProgram:
    """The program in ops that torch-mlir reads, of real numbers."""
    table = dict(_decompositions())
    flat = program.run_decompositions(table)
    real = without_complex_numbers(flat)
    return flat if real is flat else real.run_decompositions(table)


def _decompositions() -> Mapping[Any, Callable[..., Any]]:
    """What PyTorch's ops are taken apart into: torch-mlir's choice, and what it has no lowering of."""
    torch = loaded_torch()
    whole = {str(op): (op, how) for op, how in torch._decomp.core_aten_decompositions().items()}
    chosen = {
        op: how for op, how in load_torch_decompositions().get_decomposition_table().items() if str(op) not in _KEPT
    }
    aten = torch.ops.aten
    unknown = {op: how for op, how in torch._decomp.decomposition_table.items() if _is_unknown(op)}
    scatters = (aten.scatter.src, aten.scatter.value, aten.scatter_add.default, aten.scatter_reduce.two)
    own = {
        **{op: _from_the_front(op) for op in scatters},
        aten.addmv.default: _addmv,
        aten.angle.default: _angle,
        aten.block_diag.default: _block_diag,
        aten.bitwise_or.Scalar: lambda x, bits: x.bitwise_or(torch.full((), bits, dtype=x.dtype)),
        aten.bitwise_xor.Scalar: lambda x, bits: x.bitwise_xor(torch.full((), bits, dtype=x.dtype)),
        aten.convolution.default: convolution_of_single_channels,
        aten.copysign.Tensor: _copysign,
        aten.cummax.default: lambda x, dim: _running(x, dim, lambda found, new: new >= found),
        aten.cummin.default: lambda x, dim: _running(x, dim, lambda found, new: new <= found),
        aten.embedding_bag.padding_idx: _embedding_bag,
        aten.erfc.default: _erfc,
        aten.hypot.default: _hypot,
        aten.median.default: lambda x: _median(x.flatten(), 0)[0],
        aten.median.dim: _median,
        aten.roll.default: _roll,
        aten.searchsorted.Tensor: _searchsorted,
        aten.signbit.default: _signbit,
        aten._adaptive_avg_pool3d.default: _adaptive_average,
        aten._cdist_forward.default: _cdist,
        aten._pdist_forward.default: _pdist,
        aten._upsample_bilinear2d_aa.default: _smoothed,
    }
    taken = (each for name, each in whole.items() if name in _OF_PYTORCH or name.startswith(_TRANSFORMS))
    return {**unknown, **chosen, **dict(taken), **own}


@cache
def _registered_in() -> ir.Context:
    return new_torch_context()


def _is_unknown(op: Any) -> bool:  # noqa: ANN401
    """Whether torch-mlir has no op for one of PyTorch's that makes new tensors, so that it cannot lower it."""
    if not str(op).startswith("aten.") or op._schema.is_mutable:
        return False
    _, name, overload = str(op).split(".")
    return not _registered_in().is_registered_operation(
        f"torch.aten.{name}" if overload == "default" else f"torch.aten.{name}.{overload}"
    )


def name_listed_weights(program: ExportedProgram) -> None:
    """Gives weights that stand in lists of tensors beside others a name: torch-mlir takes no lists of both."""
    torch = loaded_torch()
    graph = program.graph
    held = {spec.arg.name for spec in program.graph_signature.input_specs if spec.target is not None}
    for node in [node for node in graph.nodes if any(isinstance(each, (list, tuple)) for each in node.args)]:
        if node.op != "call_function":
            continue
        for weight in [each for each in node.all_input_nodes if each.name in held]:
            with graph.inserting_before(node):
                named = graph.call_function(torch.ops.aten.alias.default, (weight,))
            named.meta = dict(weight.meta)
            node.replace_input_with(weight, named)


def _adaptive_average(x: Tensor, sizes: Sequence[int]) -> Tensor:
    """Averages of boxes are averages of their planes' averages."""
    torch = loaded_torch()
    *outer, depth, height, width = x.shape
    pool = torch.nn.functional.adaptive_avg_pool2d
    planes = pool(x.reshape(-1, depth, height, width), sizes[1:]).reshape(-1, 1, depth, sizes[1] * sizes[2])
    return pool(planes, (sizes[0], planes.shape[-1])).reshape([*outer, *sizes])


def _addmv(start: Tensor, matrix: Tensor, vector: Tensor, *, beta: float = 1, alpha: float = 1) -> Tensor:
    return start * beta + matrix.mv(vector) * alpha


def _angle(x: Tensor) -> Tensor:
    torch = loaded_torch()
    if x.is_complex():
        return torch.atan2(x.imag, x.real)
    return torch.where(torch.isnan(x), x, torch.where(x < 0, torch.pi, 0.0).to(x.dtype))


def _block_diag(blocks: Sequence[Tensor]) -> Tensor:
    torch = loaded_torch()
    blocks = torch.atleast_2d(*blocks)
    widths = [block.shape[1] for block in blocks]
    starts = [sum(widths[:number]) for number in range(len(widths))]
    pads = ((start, sum(widths) - start - width) for start, width in zip(starts, widths, strict=True))
    return torch.cat([torch.nn.functional.pad(*each) for each in zip(blocks, pads, strict=True)])


def _copysign(size: Tensor, sign: Tensor) -> Tensor:
    torch = loaded_torch()
    return torch.where(_signbit(sign), -size.abs(), size.abs())


def _signbit(x: Tensor) -> Tensor:
    return (x < 0) | ((x == 0) & (x.reciprocal() < 0))


def _erfc(x: Tensor) -> Tensor:
    """By Chebyshev's polynomials, as in Numerical Recipes: to 1.2e-7 of it, beside the exponent's rounding."""
    torch = loaded_torch()
    size = x.abs().to(torch.float32)
    t = 1 / (1 + size / 2)
    sum_of_powers = torch.zeros_like(t)
    for factor in reversed(_ERFC):
        sum_of_powers = sum_of_powers * t + factor
    tail = t * torch.exp(sum_of_powers - size * size)
    return torch.where(x < 0, 2 - tail, tail).to(x.dtype)


def _from_the_front(op: Any) -> Callable[..., Any]:  # noqa: ANN401
    """The op with a dimension that isn't counted from the end: torch-mlir's scatters end the process with these."""

    def counted(x: Tensor, dim: int, *rest: Any, **named: Any) -> Tensor:  # noqa: ANN401
        return op(x, dim + x.dim(), *rest, **named) if dim < 0 else NotImplemented

    return counted


def _hypot(x: Tensor, y: Tensor) -> Tensor:
    """By the larger one, so that no square is too large."""
    torch = loaded_torch()
    large, small = torch.maximum(x.abs(), y.abs()), torch.minimum(x.abs(), y.abs())
    return torch.where(small == 0, large, large * torch.sqrt(1 + (small / large) ** 2))


def _median(x: Tensor, dim: int, keepdim: bool = False) -> tuple[Tensor, Tensor]:
    """The lower of two in the middle; of what isn't a number, that."""
    torch = loaded_torch()
    values, places = torch.kthvalue(x, (x.shape[dim] + 1) // 2, dim, keepdim)
    if not x.is_floating_point():
        return values, places
    return torch.where(torch.isnan(x).any(dim, keepdim), torch.nan, values), places


def _roll(x: Tensor, shifts: Sequence[int], dims: Sequence[int] = ()) -> Tensor:
    """All of a tensor in one line, where no dimension is named."""
    return NotImplemented if dims else x.flatten().roll(shifts, (0,)).view_as(x)


def _running(x: Tensor, dim: int, is_taken: Callable[[Tensor, Tensor], Tensor]) -> tuple[Tensor, Tensor]:
    """What is greatest, or least, up to each element, and where: of 1, 2, 4, ... elements before it."""
    torch = loaded_torch()
    values = x.movedim(dim, -1)
    places = torch.arange(values.shape[-1]).expand(values.shape)
    distance = 1
    while distance < values.shape[-1]:
        earlier, later = values[..., :-distance], values[..., distance:]
        taken = is_taken(earlier, later) | torch.isnan(later)
        found = torch.where(taken, later, earlier), torch.where(taken, places[..., distance:], places[..., :-distance])
        values = torch.cat([values[..., :distance], found[0]], -1)
        places = torch.cat([places[..., :distance], found[1]], -1)
        distance *= 2
    return values.movedim(-1, dim), places.movedim(-1, dim)


def _searchsorted(
    bounds: Tensor,
    x: Tensor,
    *,
    out_int32: bool = False,
    right: bool = False,
    side: str | None = None,
    sorter: Tensor | None = None,
) -> Tensor:
    """How many bounds lie in front of each value."""
    torch = loaded_torch()
    if sorter is not None:
        bounds = bounds.gather(-1, sorter)
    bounds, values = bounds.unsqueeze(-2), x.unsqueeze(-1)
    is_in_front = bounds <= values if right or side == "right" else bounds < values
    return is_in_front.sum(-1).to(torch.int32 if out_int32 else torch.int64)


def _smoothed(
    x: Tensor, sizes: Sequence[int], aligned: bool, rows: float | None = None, columns: float | None = None
) -> Tensor:
    """A triangle around each pixel of the result, as wide as its pixels are apart in the image, if that is more."""
    torch = loaded_torch()
    down = _triangles(x.shape[-2], sizes[0], aligned, rows).to(x.dtype)
    along = _triangles(x.shape[-1], sizes[1], aligned, columns).to(x.dtype)
    return torch.matmul(torch.matmul(down, x), along.T)


def _triangles(given: int, made: int, aligned: bool, factor: float | None) -> Tensor:
    """The weights of given pixels in those that are made, all in a line."""
    torch = loaded_torch()
    scale = 1 / factor if factor else given / made
    if aligned:
        scale = (given - 1) / (made - 1) if made > 1 else 0.0
    width = max(scale, 1.0)
    centres = (torch.arange(made) + 0.5) * scale
    weights = (1 - (torch.arange(given) + 0.5 - centres.unsqueeze(1)).abs() / width).clamp_min(0)
    return weights / weights.sum(1, keepdim=True)


def _cdist(x: Tensor, y: Tensor, p: float, mode: int | None) -> Tensor:
    """PyTorch's distances between rows, by products of matrices where it has them so (the mode, and many rows)."""
    torch = loaded_torch()
    by_products = mode == 1 or (mode != 2 and max(x.shape[-2], y.shape[-2]) > 25)
    if p == 2 and by_products:
        squares = (x * x).sum(-1).unsqueeze(-1) + (y * y).sum(-1).unsqueeze(-2)
        return (squares - 2 * x @ y.transpose(-1, -2)).clamp_min(0).sqrt()
    return torch.linalg.vector_norm(x.unsqueeze(-2) - y.unsqueeze(-3), p, -1)


def _pdist(x: Tensor, p: float = 2) -> Tensor:
    torch = loaded_torch()
    first, second = torch.triu_indices(x.shape[0], x.shape[0], 1)
    return torch.linalg.vector_norm(x[first] - x[second], p, -1)


def _embedding_bag(
    table: Tensor,
    rows: Tensor,
    starts: Tensor,
    _scale: object,
    mode: int,
    _sparse: object,
    weights: Tensor | None,
    has_end: bool,
    padding: int | None,
) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """Bags of a table's rows by which rows are members: sums (mode 0) and means (1) as products, else maxima."""
    torch = loaded_torch()
    place = torch.arange(rows.shape[0], device=rows.device)
    ends = starts[1:] if has_end else torch.cat([starts[1:], place[-1:] + 1])
    starts = starts[:-1] if has_end else starts
    member = (place >= starts.unsqueeze(1)) & (place < ends.unsqueeze(1))
    if padding is not None and padding >= 0:
        member &= rows != padding
    sizes = member.sum(1, keepdim=True)
    values = torch.embedding(table, rows)
    if mode == 2:
        found = torch.where(member.unsqueeze(2), values, -torch.inf).amax(1)
        return torch.where(sizes > 0, found, 0), rows, sizes, rows
    if weights is not None:
        values = values * weights.unsqueeze(1)
    sums = member.to(table.dtype) @ values
    return (sums if mode == 0 else sums / sizes.clamp_min(1)), rows, sizes, rows

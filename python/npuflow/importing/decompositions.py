"""Which of PyTorch's ops are taken apart before torch-mlir reads them, and into what where PyTorch doesn't say."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cache
from typing import TYPE_CHECKING, Any

from npuflow.bindings import ir, load_torch_decompositions, new_torch_context
from npuflow.importing import (
    arithmetic,
    attention,
    bessel,
    convolutions,
    float_parts,
    gammas,
    linear_algebra,
    moments,
    norms,
    orders,
    places,
    pools,
    sampling,
    scaling,
    special_functions,
    wide_sums,
    windows,
)
from npuflow.importing.complex_numbers import without_complex_numbers
from npuflow.importing.higher_order import without_functions
from npuflow.importing.packages import loaded_torch

if TYPE_CHECKING:
    from torch import Tensor
    from torch.export import ExportedProgram

# A row that is written is a slice for torch-mlir, and a mask over all of a tensor as PyTorch decomposes it.
_KEPT = ("aten.select_scatter.default",)
# What torch-mlir leaves whole, for the sake of complex numbers or of other compilers, and then has no lowering of.
_TRANSFORMS = ("aten.fft_", "aten.stft", "aten.istft")
_OF_PYTORCH = ("aten.isfinite.default", "aten.linalg_norm.default", "aten.linalg_norm.ord_str")


def decomposed(program: ExportedProgram, as_products: bool = False) -> ExportedProgram:
    """The program in ops that torch-mlir reads, of real numbers; some by more products where that is said."""
    table = dict(_decompositions(as_products))
    flat = without_functions(program, table)
    norms.take_norms_apart(flat.graph)
    real = without_complex_numbers(flat)
    return flat if real is flat else real.run_decompositions(table)


@cache
def _decompositions(as_products: bool) -> Mapping[Any, Callable[..., Any]]:
    """What PyTorch's ops are taken apart into: torch-mlir's choice, and what it has no lowering of."""
    torch = loaded_torch()
    whole = {str(op): (op, how) for op, how in torch._decomp.core_aten_decompositions().items()}
    chosen = {
        op: how for op, how in load_torch_decompositions().get_decomposition_table().items() if str(op) not in _KEPT
    }
    unknown = {op: how for op, how in torch._decomp.decomposition_table.items() if _is_unknown(op)}
    taken = (each for name, each in whole.items() if name in _OF_PYTORCH or name.startswith(_TRANSFORMS))
    named = {**_TAKEN_APART, **(_AS_PRODUCTS if as_products else {})}
    own = {op: how for name, how in named.items() if (op := _op_named(name)) is not None}
    table = {**unknown, **chosen, **dict(taken)}
    table |= {op: _first_of(how, table[op]) if op in table else how for op, how in own.items()}
    table[torch.ops.prims.scalar_tensor.default] = _number
    summing = (op for name in wide_sums.SUMMING if (op := _op_named(name)) is not None)
    return {**table, **{op: wide_sums.widened(op, table.get(op)) for op in summing}}


def _first_of(how: Callable[..., Any], otherwise: Callable[..., Any]) -> Callable[..., Any]:
    """What an op is taken apart into where the first way says nothing of it."""

    def found(*given: Any, **named: Any) -> Any:  # noqa: ANN401
        made = how(*given, **named)
        return otherwise(*given, **named) if made is NotImplemented else made

    return found


def _number(value: float, *, dtype: Any = None, **_: Any) -> Tensor:  # noqa: ANN401
    return loaded_torch().full((), value, dtype=dtype)


def _op_named(name: str) -> Any:  # noqa: ANN401
    """An overload of one of PyTorch's ops, if this version has it."""
    op, overload = name.split(".")
    return getattr(getattr(loaded_torch().ops.aten, op, None), overload, None)


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


def _spectrogram(name: str) -> Callable[..., Any]:
    """Of a single signal as of several: PyTorch takes that apart into what it then cannot read."""

    def found(x: Tensor, *rest: Any, **named: Any) -> Any:  # noqa: ANN401
        return _op_named(name)(x.unsqueeze(0), *rest, **named).select(0, 0) if x.dim() == 1 else NotImplemented

    return found


def _block_diag(blocks: Sequence[Tensor]) -> Tensor:
    torch = loaded_torch()
    blocks = torch.atleast_2d(*blocks)
    widths = [block.shape[1] for block in blocks]
    starts = [sum(widths[:number]) for number in range(len(widths))]
    pads = ((start, sum(widths) - start - width) for start, width in zip(starts, widths, strict=True))
    return torch.cat([torch.nn.functional.pad(*each) for each in zip(blocks, pads, strict=True)])


def _diagonal_scatter(x: Tensor, values: Tensor, offset: int = 0, dim1: int = 0, dim2: int = 1) -> Tensor:
    torch = loaded_torch()
    planes = x.movedim((dim1, dim2), (-2, -1))
    height, width = planes.shape[-2:]
    above = max(-offset, 0)
    by_rows = torch.nn.functional.pad(values.to(x.dtype), (above, height - above - values.shape[-1])).unsqueeze(-1)
    is_here = torch.arange(width) - torch.arange(height).unsqueeze(1) == offset
    return torch.where(is_here, by_rows, planes).movedim((-2, -1), (dim1, dim2))


def _quantized(x: Tensor, scale: Tensor, zero: Tensor, axis: int, least: int, most: int) -> tuple[Tensor, Tensor]:
    """Each channel by its own scale, and which elements are in its range."""
    torch = loaded_torch()
    scale, zero = (orders.lying_along(each, axis, x.dim()) for each in (scale, zero.to(torch.float32)))
    found = zero + torch.round(x * (1 / scale))
    return ((found.clamp(least, most) - zero) * scale).to(x.dtype), (found >= least) & (found <= most)


def _renormed(table: Tensor, rows: Tensor, largest: float, p: float) -> Tensor:
    """The table with no row that is looked up longer than said."""
    torch = loaded_torch()
    norms = torch.linalg.vector_norm(table, p, 1, keepdim=True)
    is_read = (torch.arange(table.shape[0]).unsqueeze(1) == rows.flatten()).any(1, keepdim=True)
    return torch.where(is_read & (norms > largest), table * (largest / (norms + 1e-7)), table)


def _roll(x: Tensor, shifts: Sequence[int], dims: Sequence[int] = ()) -> Tensor:
    """All of a tensor in one line, where no dimension is named."""
    return NotImplemented if dims else x.flatten().roll(shifts, (0,)).view_as(x)


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
    """Bags of a table's rows, each of which is in one or none: sums (mode 0), means (1) and maxima.

    A row is added to its bag alone, so that what is infinite stays there.
    """
    torch = loaded_torch()
    place = torch.arange(rows.shape[0], device=rows.device)
    ends = starts[1:] if has_end else torch.cat([starts[1:], place[-1:] + 1])
    starts = starts[:-1] if has_end else starts
    member = (place >= starts.unsqueeze(1)) & (place < ends.unsqueeze(1))
    if padding is not None:
        member &= rows != padding % table.shape[0]
    sizes = member.sum(1, keepdim=True)
    values = torch.embedding(table, rows)
    if mode == 2:
        return _greatest_of_bags(values, member), rows, sizes, rows
    if weights is not None:
        values = values * weights.unsqueeze(1)
    kind = torch.float32 if wide_sums.is_narrow(table.dtype) else table.dtype
    bag = ((place >= starts.unsqueeze(1)).sum(0) - 1).clamp_min(0)
    counted = torch.where(member.any(0).unsqueeze(1), values.to(kind), 0)
    sums = torch.zeros(starts.shape[0], table.shape[1], dtype=kind).index_add(0, bag, counted)
    found = sums if mode == 0 else sums / sizes.clamp_min(1)
    return found.to(table.dtype), rows, sizes, rows


def _greatest_of_bags(values: Tensor, member: Tensor) -> Tensor:
    """What is no number isn't greater than another in PyTorch, but nothing is greater than it, if it comes first."""
    torch = loaded_torch()
    is_none = torch.isnan(values)
    found = torch.where(member.unsqueeze(2) & ~is_none, values, -torch.inf).amax(1)
    first = member.to(torch.int64).argmax(1)
    has_rows = member.any(1, keepdim=True)
    found = torch.where(is_none.index_select(0, first), torch.nan, found)
    return torch.where(has_rows, found, 0)


def _multilabel_margin(x: Tensor, target: Tensor, reduction: int) -> tuple[Tensor, Tensor]:
    """Labels in front of the first -1 count; PyTorch's own decomposition takes those behind it for label 0."""
    torch = loaded_torch()
    shape = target.shape
    x, target = torch.atleast_1d(x), torch.atleast_1d(target)
    place = torch.arange(target.shape[-1])
    counts = place < torch.where(target == -1, place, target.shape[-1]).amin(-1, keepdim=True)
    own = x.gather(-1, torch.where(counts, target, 0))
    is_target = (place == torch.where(counts, target, -1).unsqueeze(-1)).any(-2)
    gaps = (1 - own.unsqueeze(-1) + x.unsqueeze(-2)).clamp_min(0)
    wrong = counts.unsqueeze(-1) & ~is_target.unsqueeze(-2)
    loss = torch.where(wrong, gaps, 0).sum((-1, -2)) / x.shape[-1]
    loss = loss.mean() if reduction == 1 else loss.sum() if reduction == 2 else loss
    return loss, is_target.to(x.dtype).reshape(shape)


def _padded(x: Tensor, amounts: Sequence[int], value: float = 0) -> Tensor:
    """Amounts below 0 are slices: torch-mlir takes rows that are moved, by (1, -1), for what they were."""
    if all(amount >= 0 for amount in amounts):
        return NotImplemented
    for place, (before, behind) in enumerate(zip(amounts[::2], amounts[1::2], strict=True)):
        dim = x.dim() - 1 - place
        x = x.narrow(dim, max(-before, 0), x.shape[dim] + min(before, 0) + min(behind, 0))
    return loaded_torch().constant_pad_nd(x, [max(amount, 0) for amount in amounts], value)


def _segment_reduce(x: Tensor, how: str, *, initial: float | None = None, **segments: Any) -> Tensor:  # noqa: ANN401
    """Rows by which segment they are members of: sums and means as products."""
    torch = loaded_torch()
    lengths, offsets = segments.get("lengths"), segments.get("offsets")
    given = lengths if lengths is not None else offsets
    if segments.get("axis", 0) != 0 or given is None or given.dim() != 1:
        return NotImplemented
    ends = given[1:] if lengths is None else given.cumsum(0)
    starts = given[:-1] if lengths is None else ends - given
    place = torch.arange(x.shape[0])
    member = (place >= starts.unsqueeze(1)) & (place < ends.unsqueeze(1))
    values = x.reshape(x.shape[0], -1)
    if how in ("sum", "mean"):
        found = member.to(x.dtype) @ values + (initial or 0)
        count = member.sum(1, keepdim=True)
        empty = torch.nan if initial is None else initial
        found = torch.where(count > 0, found / count, empty) if how == "mean" else found
    else:
        neutral = {"max": -torch.inf, "min": torch.inf, "prod": 1.0}[how]
        some = torch.where(member.unsqueeze(2), values, neutral)
        first = torch.full_like(some[:, :1], neutral if initial is None else initial)
        some = torch.cat((first, some), 1)
        found = some.prod(1) if how == "prod" else some.amax(1) if how == "max" else some.amin(1)
    return found.reshape(-1, *x.shape[1:])


_TAKEN_APART: Mapping[str, Callable[..., Any]] = {
    **arithmetic.TAKEN_APART,
    **attention.TAKEN_APART,
    **bessel.TAKEN_APART,
    **convolutions.TAKEN_APART,
    **float_parts.TAKEN_APART,
    **gammas.TAKEN_APART,
    **linear_algebra.TAKEN_APART,
    **moments.TAKEN_APART,
    **orders.TAKEN_APART,
    **places.TAKEN_APART,
    **pools.TAKEN_APART,
    **sampling.TAKEN_APART,
    **scaling.TAKEN_APART,
    **special_functions.TAKEN_APART,
    **wide_sums.TAKEN_APART,
    **windows.TAKEN_APART,
    "_native_batch_norm_legit_no_training.default": norms.normed_as_one,
    "block_diag.default": _block_diag,
    "constant_pad_nd.default": _padded,
    "diagonal_scatter.default": _diagonal_scatter,
    "embedding_bag.padding_idx": _embedding_bag,
    "embedding_renorm.default": _renormed,
    "fake_quantize_per_channel_affine_cachemask.default": _quantized,
    "roll.default": _roll,
    "multilabel_margin_loss_forward.default": _multilabel_margin,
    **{name: _spectrogram(name) for name in ("stft.default", "stft.center")},
    "segment_reduce.default": _segment_reduce,
    "_cdist_forward.default": _cdist,
    "_pdist_forward.default": _pdist,
}
_AS_PRODUCTS: Mapping[str, Callable[..., Any]] = {**convolutions.AS_PRODUCTS, **scaling.AS_PRODUCTS}

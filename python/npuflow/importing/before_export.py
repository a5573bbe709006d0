"""What PyTorch itself cannot export, since sizes or checks depend on data, in operations that it can."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from math import log, pi
from typing import TYPE_CHECKING, Any, NamedTuple

from npuflow.importing.function_mode import calling
from npuflow.importing.packages import loaded_torch

if TYPE_CHECKING:
    from torch import Tensor

_REDUCTIONS = ("none", "mean", "sum")
# The logarithm of what doesn't happen: finite, so that differences of two of these are numbers.
_NEVER = -1e30


class LeastSquares(NamedTuple):
    """What `torch.linalg.lstsq` returns."""

    solution: Tensor
    residuals: Tensor
    rank: Tensor
    singular_values: Tensor


def exportable() -> AbstractContextManager[object]:
    """In it, functions that PyTorch cannot export are computed by others."""
    instead = _instead()
    return calling(lambda function, given, named: instead.get(function, function)(*given, **named))


def _instead() -> Mapping[Any, Callable[..., Any]]:
    torch = loaded_torch()
    functional = torch.nn.functional
    return {
        functional.ctc_loss: alignment_loss,
        functional.gaussian_nll_loss: gaussian_loss,
        torch.ctc_loss: _numbered_alignment_loss,
        torch.linalg.lstsq: _least_squares,
        torch.cov: covariances,
        torch.corrcoef: correlations,
    }


def _least_squares(A: Tensor, B: Tensor, *_: object, **__: object) -> LeastSquares:  # noqa: N803  (PyTorch's names)
    """Whatever small values, or ways of finding them, are asked for."""
    return least_squares(A, B)


def least_squares(matrix: Tensor, right: Tensor) -> LeastSquares:
    """By factors of the matrix, or of its transpose where equations are fewer than unknowns; of full rank."""
    torch = loaded_torch()
    height, width = matrix.shape[-2:]
    is_vector = right.dim() == matrix.dim() - 1 and right.shape == matrix.shape[:-1]
    columns = right.unsqueeze(-1) if is_vector else right
    if height >= width:
        turned, factor = torch.linalg.qr(matrix)
        found = torch.linalg.solve_triangular(factor, turned.mT @ columns, upper=True)
    else:
        turned, factor = torch.linalg.qr(matrix.mT)
        found = turned @ torch.linalg.solve_triangular(factor.mT, columns, upper=False)
    left = (matrix @ found - columns).square().sum(-2) if height > width else matrix.new_zeros(0)
    rank = torch.full(matrix.shape[:-2], min(height, width))
    return LeastSquares(found.squeeze(-1) if is_vector else found, left, rank, matrix.new_zeros(0))


def gaussian_loss(
    x: Tensor,
    target: Tensor,
    variance: Tensor | float,
    full: bool = False,
    eps: float = 1e-6,
    reduction: str = "mean",
) -> Tensor:
    """Without looking whether a variance is negative."""
    torch = loaded_torch()
    spread = variance if isinstance(variance, torch.Tensor) else x.new_full((), variance)
    if spread.shape != x.shape and spread.shape == x.shape[:-1]:
        spread = spread.unsqueeze(-1)
    spread = spread.clamp_min(eps)
    loss = 0.5 * (torch.log(spread) + (x - target).square() / spread) + (0.5 * log(2 * pi) if full else 0)
    return _reduced(loss, reduction)


def covariances(
    x: Tensor, *, correction: int = 1, fweights: Tensor | None = None, aweights: Tensor | None = None
) -> Tensor:
    """Of each two rows, without looking whether weights are negative."""
    torch = loaded_torch()
    rows = torch.atleast_2d(x if x.is_floating_point() or x.is_complex() else x.to(torch.get_default_dtype()))
    once = rows.new_ones(rows.shape[1])
    counts = once if fweights is None else fweights.to(rows.dtype)
    shares = once if aweights is None else aweights
    weights = counts * shares
    total = weights.sum()
    apart = rows - (rows * weights).sum(1, keepdim=True) / total
    freedom = total - correction * (weights * shares).sum() / total
    return ((apart * weights) @ apart.T / freedom.clamp_min(0)).squeeze()


def correlations(x: Tensor) -> Tensor:
    torch = loaded_torch()
    found = covariances(x)
    if found.dim() == 0:
        return found / found
    spread = torch.sqrt(found.diagonal())
    return (found / spread.unsqueeze(1) / spread).clamp(-1, 1)


def alignment_loss(
    scores: Tensor,
    targets: Tensor,
    input_lengths: Tensor | Sequence[int],
    target_lengths: Tensor | Sequence[int],
    blank: int = 0,
    reduction: str = "mean",
    zero_infinity: bool = False,
) -> Tensor:
    """CTC's loss by the sums of all alignments so far, step by step; those that are too long are infinite."""
    torch = loaded_torch()
    is_one = scores.dim() == 2
    wide = (scores.unsqueeze(1) if is_one else scores).float()
    steps, count, _ = wide.shape
    lengths, sizes = (torch.as_tensor(each).reshape(-1).expand(count) for each in (input_lengths, target_lengths))
    labels = _labels(targets, target_lengths, sizes, blank)
    found = torch.gather(wide, 2, labels.expand(steps, *labels.shape))
    place = torch.arange(labels.shape[1])
    # From the label two before, over the blank between, unless that is the same.
    may_skip = (labels != blank) & (labels != _later(labels, 2, blank)) & (place >= 2)
    so_far = torch.where(place < 2, found[0], _NEVER)
    for step in range(1, steps):
        skipped = torch.where(may_skip, _later(so_far, 2, _NEVER), _NEVER)
        total = found[step] + _log_of_sum(so_far, _later(so_far, 1, _NEVER), skipped)
        so_far = torch.where((step < lengths).unsqueeze(1), total, so_far)
    ends = (place == 2 * sizes.unsqueeze(1)) | (place == 2 * sizes.unsqueeze(1) - 1)
    loss = -torch.where(ends, so_far, _NEVER).logsumexp(1)
    loss = torch.where(loss > -_NEVER / 2, 0 if zero_infinity else torch.inf, loss).to(scores.dtype)
    if reduction == "mean":
        return (loss / sizes.clamp_min(1)).mean()
    return _reduced(loss.squeeze(0) if is_one else loss, reduction)


def _numbered_alignment_loss(*given: Any, **named: Any) -> Tensor:  # noqa: ANN401
    """The same with the number of a reduction."""
    names = ("scores", "targets", "input_lengths", "target_lengths", "blank", "reduction", "zero_infinity")
    values = {**dict(zip(names, given)), **named}
    values["scores"] = values.pop("log_probs", values.get("scores"))
    return alignment_loss(**values | {"reduction": _REDUCTIONS[values.get("reduction", 1)]})


def _labels(targets: Tensor, given: Tensor | Sequence[int], sizes: Tensor, blank: int) -> Tensor:
    """Each row's targets with blanks around them; targets may be rows, or one behind the other in a single row."""
    torch = loaded_torch()
    if targets.dim() == 1:
        most = targets.shape[0] if isinstance(given, torch.Tensor) else max(given)
        places = (sizes.cumsum(0) - sizes).unsqueeze(1) + torch.arange(most)
        targets = targets[places.clamp_max(targets.shape[0] - 1)]
    pairs = torch.stack((torch.full_like(targets, blank), targets), -1).flatten(1)
    return torch.nn.functional.pad(pairs, (0, 1), value=blank)


def _later(values: Tensor, steps: int, first: float) -> Tensor:
    """Each row moved by some places."""
    return loaded_torch().nn.functional.pad(values, (steps, -steps), value=first)


def _log_of_sum(first: Tensor, second: Tensor, third: Tensor) -> Tensor:
    torch = loaded_torch()
    most = torch.maximum(torch.maximum(first, second), third)
    return most + torch.log(torch.exp(first - most) + torch.exp(second - most) + torch.exp(third - most))


def _reduced(loss: Tensor, reduction: str) -> Tensor:
    return loss.mean() if reduction == "mean" else loss.sum() if reduction == "sum" else loss

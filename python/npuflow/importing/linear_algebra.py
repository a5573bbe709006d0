"""Equations and factors of matrices, which torch-mlir doesn't lower: LAPACK's ways, step by step of a fixed size."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from npuflow.importing.packages import loaded_torch

if TYPE_CHECKING:
    from torch import Tensor

# 1/11! is less than a float's last bit; what has a norm of 2^12 overflows, or nearly vanishes.
_TAYLOR, _MOST_HALVINGS = 10, 12


def inverse(matrix: Tensor, **_: bool) -> tuple[Tensor, Tensor]:
    torch = loaded_torch()
    unit = torch.eye(matrix.shape[-1], dtype=matrix.dtype).expand(matrix.shape)
    found = _solved(matrix, unit)
    return found, _no_errors(matrix)


def solution(matrix: Tensor, right: Tensor, *, left: bool = True, **_: bool) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """What PyTorch returns beside it, factors and the order of rows, nobody reads but its derivative."""
    torch = loaded_torch()
    is_vector = right.dim() == 1 or (right.dim() == matrix.dim() - 1 and right.shape == matrix.shape[:-1])
    columns = right.unsqueeze(-1) if is_vector else right
    batch = torch.broadcast_shapes(matrix.shape[:-2], columns.shape[:-2])
    a, b = matrix.expand(*batch, *matrix.shape[-2:]), columns.expand(*batch, *columns.shape[-2:])
    found = _solved(a, b) if left else _solved(a.mT, b.mT).mT
    return (found.squeeze(-1) if is_vector else found), matrix, _order(matrix), _no_errors(matrix)


def _no_errors(matrix: Tensor) -> Tensor:
    torch = loaded_torch()
    return torch.zeros(matrix.shape[:-2], dtype=torch.int32)


def determinant(matrix: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    heads = _eliminated(matrix)[1]
    return heads.prod(-1), matrix, _order(matrix)


def logarithm_of_determinant(matrix: Tensor) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    heads = _eliminated(matrix)[1]
    return heads.sign().prod(-1), heads.abs().log().sum(-1), matrix, _order(matrix)


def _order(matrix: Tensor) -> Tensor:
    torch = loaded_torch()
    return torch.arange(1, matrix.shape[-1] + 1, dtype=torch.int32).expand(matrix.shape[:-1])


def _solved(matrix: Tensor, right: Tensor) -> Tensor:
    return _eliminated(loaded_torch().cat([matrix, right], -1))[0][..., matrix.shape[-1] :]


def _eliminated(both: Tensor) -> tuple[Tensor, Tensor]:
    """By Gauss and Jordan: the row with the largest element of a column takes its turn, all others lose that column.

    What these elements are is the second result, negative where rows change places: their product is the determinant.
    """
    torch = loaded_torch()
    if both.shape[-2] == 0:
        return both, both.new_zeros((*both.shape[:-2], 0))
    rows = torch.arange(both.shape[-2])
    heads = []
    for step in range(both.shape[-2]):
        column = both[..., step]
        best = torch.where(rows >= step, column.abs(), -1.0).argmax(-1, keepdim=True)
        is_best, is_step = (rows == best).unsqueeze(-1), (rows == step).unsqueeze(-1)
        pivot = torch.where(is_best, both, 0).sum(-2, keepdim=True)
        head = pivot[..., step : step + 1]
        heads.append(torch.where(best == step, 1, -1) * head.squeeze(-1))
        both = torch.where(is_best, both[..., step : step + 1, :], both)
        pivot = pivot / head
        both = torch.where(is_step, pivot, both - both[..., step : step + 1] * pivot)
    return both, torch.cat(heads, -1)


def cholesky(matrix: Tensor, *, upper: bool = False, **_: bool) -> tuple[Tensor, Tensor]:
    """Column by column; what has no factor gives what is no number."""
    torch = loaded_torch()
    size = matrix.shape[-1]
    if size == 0:
        return matrix.clone(), _no_errors(matrix)
    rest = matrix.mT if upper else matrix
    rows = torch.arange(size)
    columns = []
    for step in range(size):
        column = rest[..., step] * torch.rsqrt(rest[..., step, step]).unsqueeze(-1)
        column = torch.where(rows >= step, column, 0)
        columns.append(column)
        rest = rest - column.unsqueeze(-1) * column.unsqueeze(-2)
    factor = torch.stack(columns, -1)
    return (factor.mT if upper else factor), _no_errors(matrix)


def solved_triangle(
    matrix: Tensor, right: Tensor, *, upper: bool, left: bool = True, unitriangular: bool = False
) -> Tensor:
    """Row by row, from the one that has but one unknown."""
    torch = loaded_torch()
    if not left:
        return solved_triangle(matrix.mT, right.mT, upper=not upper, unitriangular=unitriangular).mT
    size = matrix.shape[-1]
    if size == 0:
        return right.clone()
    batch = torch.broadcast_shapes(matrix.shape[:-2], right.shape[:-2])
    matrix, rest = matrix.expand(*batch, *matrix.shape[-2:]), right.expand(*batch, *right.shape[-2:])
    rows = torch.arange(size).unsqueeze(-1)
    found = [rest] * size
    for step in reversed(range(size)) if upper else range(size):
        row = rest[..., step : step + 1, :]
        found[step] = row if unitriangular else row / matrix[..., step : step + 1, step : step + 1]
        is_left = rows < step if upper else rows > step
        rest = torch.where(is_left, rest - matrix[..., :, step : step + 1] * found[step], rest)
    return torch.cat(found, -2)


def solved_by_factor(right: Tensor, factor: Tensor, upper: bool = False) -> Tensor:
    lower = factor.mT if upper else factor
    return solved_triangle(lower.mT, solved_triangle(lower, right, upper=False), upper=True)


def orthogonal(matrix: Tensor, mode: str = "reduced") -> tuple[Tensor, Tensor]:
    """Q and R by Householder's reflections, with LAPACK's signs."""
    torch = loaded_torch()
    height, width = matrix.shape[-2:]
    steps = min(height, width)
    rows = torch.arange(height)
    rest, mirrors = matrix, []
    for step in range(steps if height > width else steps - 1):
        column = torch.where(rows >= step, rest[..., step], 0)
        head = column[..., step : step + 1]
        tail = torch.where(rows > step, column, 0)
        size = torch.sqrt((column * column).sum(-1, keepdim=True))
        # A column that is zero below its head stays as it is.
        is_done = (tail == 0).all(-1, keepdim=True)
        mirror = tail + torch.where(rows == step, head + torch.where(head < 0, -size, size), 0)
        squares = (mirror * mirror).sum(-1, keepdim=True)
        scaled = torch.where(is_done, 0, 2 * mirror / torch.where(is_done, 1, squares))
        mirrors.append((mirror.unsqueeze(-1), scaled.unsqueeze(-1)))
        rest = _reflected(rest, *mirrors[-1])
    kept = height if mode == "complete" else steps
    found = torch.eye(height, kept, dtype=matrix.dtype).expand(*matrix.shape[:-2], height, kept)
    for each in reversed(mirrors) if mode != "r" else ():
        found = _reflected(found, *each)
    return (matrix.new_zeros(0) if mode == "r" else found), torch.triu(rest[..., :kept, :])


def pseudoinverse(matrix: Tensor, **_: object) -> Tensor:
    """Of a matrix of full rank; small singular values are no zeros."""
    if matrix.shape[-2] < matrix.shape[-1]:
        return pseudoinverse(matrix.mT).mT
    turned, factor = orthogonal(matrix)
    return solved_triangle(factor, turned.mT, upper=True)


def reflections(matrix: Tensor, factors: Tensor) -> Tensor:
    """The product of mirrors that stand below a diagonal, whose heads are 1."""
    torch = loaded_torch()
    height, width = matrix.shape[-2:]
    rows = torch.arange(height)
    found = torch.eye(height, width, dtype=matrix.dtype).expand(matrix.shape)
    for step in reversed(range(factors.shape[-1])):
        mirror = torch.where(rows > step, matrix[..., step], torch.where(rows == step, 1.0, 0.0)).unsqueeze(-1)
        found = _reflected(found, mirror, mirror * factors[..., step].unsqueeze(-1).unsqueeze(-1))
    return found


def exponential(matrix: Tensor) -> Tensor:
    """By Taylor's series of what is halved until its norm is below 1, and squared as often."""
    torch = loaded_torch()
    norm = matrix.abs().sum(-1).amax(-1)
    halvings = torch.log2(norm.clamp_min(1e-30)).ceil().clamp(0, _MOST_HALVINGS).unsqueeze(-1).unsqueeze(-1)
    small = matrix * torch.exp2(-halvings)
    unit = torch.eye(matrix.shape[-1], dtype=matrix.dtype)
    found = unit + small / _TAYLOR
    for step in range(_TAYLOR - 1, 0, -1):
        found = unit + small @ found / step
    for step in range(_MOST_HALVINGS):
        found = torch.where(halvings > step, found @ found, found)
    return found


def _reflected(matrix: Tensor, mirror: Tensor, scaled: Tensor) -> Tensor:
    return matrix - scaled * (mirror * matrix).sum(-2, keepdim=True)


TAKEN_APART: Mapping[str, Callable[..., Any]] = {
    "cholesky.default": lambda x, upper=False: cholesky(x, upper=upper)[0],
    "cholesky_inverse.default": lambda factor, upper=False: solved_by_factor(
        loaded_torch().eye(factor.shape[-1], dtype=factor.dtype), factor, upper
    ),
    "cholesky_solve.default": solved_by_factor,
    "inverse.default": lambda x: inverse(x)[0],
    # These check as well that there is a result, which no function of npuflow can.
    "linalg_cholesky.default": lambda x, *, upper=False: cholesky(x, upper=upper)[0],
    "linalg_inv.default": lambda x: inverse(x)[0],
    "linalg_slogdet.default": lambda x: logarithm_of_determinant(x)[:2],
    "linalg_solve.default": lambda a, b, *, left=True: solution(a, b, left=left)[0],
    "linalg_cholesky_ex.default": cholesky,
    "linalg_householder_product.default": reflections,
    "linalg_inv_ex.default": inverse,
    "linalg_matrix_exp.default": exponential,
    "linalg_pinv.atol_rtol_tensor": pseudoinverse,
    "linalg_qr.default": orthogonal,
    "linalg_solve_triangular.default": solved_triangle,
    "_linalg_det.default": determinant,
    "_linalg_slogdet.default": logarithm_of_determinant,
    "_linalg_solve_ex.default": solution,
}

"""PyTorch's operators of functions: conditions, loops, and attention whose scores and masks are functions."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

import npuflow
from npuflow.errors import InputError
from npuflow.execute.jit import compile_function
from npuflow.importing.networks import import_network

if TYPE_CHECKING:
    from torch import Tensor, nn

pytestmark = pytest.mark.usefixtures("_torch")


def computing(compute: Any) -> nn.Module:  # noqa: ANN401
    import torch
    from torch import nn

    class Computing(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.one, self.other = nn.Linear(8, 8), nn.Linear(8, 8)
            self.bias = nn.Parameter(torch.randn(2, 31))
            self.register_buffer("steps", torch.tensor(3))

        def forward(self, *given: Tensor) -> Any:  # noqa: ANN401
            return compute(self, *given)

    torch.manual_seed(0)
    return Computing()


def executed(program: Any, *given: Tensor) -> list[Any]:  # noqa: ANN401
    return list(compile_function(program.operation, "main").run([each.numpy() for each in given]).results)


def is_as_in_pytorch(module: nn.Module, *given: Tensor) -> None:
    import torch
    from torch.utils._pytree import tree_leaves

    found = executed(npuflow.from_torch(module, given), *given)
    with torch.no_grad():
        expected = tree_leaves(module(*given))
    for one, wanted in zip(found, expected, strict=True):
        np.testing.assert_allclose(one, wanted.numpy(), rtol=1e-4, atol=1e-5)


def one_or_other(held: Any, x: Tensor) -> Any:  # noqa: ANN401
    import torch

    def then(x: Tensor) -> tuple[Tensor, Tensor]:
        return held.one(x), x.argmax(-1)

    def otherwise(x: Tensor) -> tuple[Tensor, Tensor]:
        return torch.sin(held.other(x)), x.argmin(-1)

    return torch.cond(x.sum() > 0, then, otherwise, (x,))


def condition_inside(_: object, x: Tensor) -> Any:  # noqa: ANN401
    import torch

    def inner(x: Tensor) -> Any:  # noqa: ANN401
        return torch.cond(x.max() > 1, lambda x: x * 2, lambda x: x * 3, (x,))

    return torch.cond((x.sum() > 0).reshape(1), inner, lambda x: x.cos(), (x,))


@pytest.mark.parametrize("compute", [one_or_other, condition_inside])
def test_what_a_condition_chooses_is_returned(compute: Any) -> None:  # noqa: ANN401
    import torch

    module = computing(compute)
    for shift in (-1.0, 0.3, 2.0):
        is_as_in_pytorch(module, torch.rand(5, 8) - 0.5 + shift)


def counted(held: Any, x: Tensor) -> Any:  # noqa: ANN401
    import torch
    from torch._higher_order_ops import while_loop

    count = torch.tensor(1)
    count.add_(1)
    return while_loop(lambda i, _: i < 5, lambda i, x: (i + 1, torch.tanh(held.one(x)) * i), (count, x))


def counted_to_a_buffer(held: Any, x: Tensor) -> Any:  # noqa: ANN401
    import torch
    from torch._higher_order_ops import while_loop

    def step(i: Tensor, x: Tensor) -> tuple[Tensor, Tensor]:
        return i + 1, torch.sin(held.one(x))

    return while_loop(lambda i, _: i < held.steps, step, (torch.tensor(0), x))[1]


def scanned(held: Any, x: Tensor) -> Any:  # noqa: ANN401
    import torch
    from torch._higher_order_ops import scan

    def step(state: dict[str, Tensor], row: Tensor) -> tuple[dict[str, Tensor], Any]:
        new = torch.tanh(held.one(row) + held.other(state["h"]))
        return {"h": new, "sum": state["sum"] + row.sum()}, (new * 2, state["sum"].clone())

    return scan(step, {"h": x.new_zeros(8), "sum": x.new_zeros(())}, x, dim=0, reverse=True)


def mapped(held: Any, x: Tensor) -> Any:  # noqa: ANN401
    from torch._higher_order_ops import map as each_row

    return each_row(lambda row, shift: held.one(row).sin() + shift, x, x[0] * 2)


@pytest.mark.parametrize("compute", [counted, counted_to_a_buffer, scanned, mapped])
def test_loops_of_known_steps_are_written_out(compute: Any) -> None:  # noqa: ANN401
    import torch

    is_as_in_pytorch(computing(compute), torch.randn(5, 8))


def plain(_: object, q: Tensor, k: Tensor, v: Tensor) -> Any:  # noqa: ANN401
    from torch.nn.attention.flex_attention import flex_attention

    return flex_attention(q[:, :, :8], k, v)


def places(held: Any, q: Tensor, k: Tensor, v: Tensor) -> Any:  # noqa: ANN401
    from torch.nn.attention.flex_attention import flex_attention

    def score(score: Tensor, _: Tensor, head: Tensor, row: Tensor, place: Tensor) -> Tensor:
        return score + held.bias[head, row - place + 15]

    return flex_attention(q, k, v, score_mod=score)


def masked(_: object, q: Tensor, k: Tensor, v: Tensor) -> Any:  # noqa: ANN401
    """Some rows have nothing in them."""
    from torch.nn.attention.flex_attention import create_block_mask, flex_attention

    def mask(_: Tensor, __: Tensor, row: Tensor, place: Tensor) -> Tensor:
        return (row >= place) & (row - place < 5) & (row > 2)

    blocks = create_block_mask(mask, None, None, 16, 16, device="cpu")
    return flex_attention(q, k[:, :1], v[:, :1], block_mask=blocks, enable_gqa=True, scale=0.3, return_lse=True)


@pytest.mark.parametrize("compute", [plain, places, masked])
def test_attention_by_functions_is_products(compute: Any) -> None:  # noqa: ANN401
    import torch

    is_as_in_pytorch(computing(compute), *(torch.randn(2, 2, 16, 8) for _ in range(3)))


def test_exported_programs_with_them_are_read(tmp_path: Path) -> None:
    import torch

    module, x = computing(one_or_other), torch.randn(5, 8)
    with torch.no_grad():
        torch.export.save(torch.export.export(module, (x,)), tmp_path / "chosen.pt2")
        expected = module(x)
    found = executed(import_network(str(tmp_path / "chosen.pt2")), x)
    for one, wanted in zip(found, expected, strict=True):
        np.testing.assert_allclose(one, wanted.numpy(), rtol=1e-4, atol=1e-5)


def endless(held: Any, x: Tensor) -> Any:  # noqa: ANN401
    import torch
    from torch._higher_order_ops import while_loop

    return while_loop(lambda i, _: i < 5, lambda i, x: (i - 1, held.one(x)), (torch.tensor(0), x))


def by_data(held: Any, x: Tensor) -> Any:  # noqa: ANN401
    from torch._higher_order_ops import while_loop

    return while_loop(lambda x: x.sum() < 4, lambda x: (held.one(x) + 2,), (x,))


def inside(held: Any, x: Tensor) -> Any:  # noqa: ANN401
    import torch

    return torch.cond(x.sum() > 0, lambda x: counted_to_a_buffer(held, x), lambda x: x.sin(), (x,))


def writing(held: Any, x: Tensor) -> Any:  # noqa: ANN401
    import torch

    def then(x: Tensor) -> Tensor:
        held.steps.add_(1)
        return x * 2

    return torch.cond(x.sum() > 0, then, lambda x: x.sin(), (x,))


@pytest.mark.parametrize(
    ("compute", "said"),
    [
        (endless, "how often a `while_loop` repeats is more than 4096; hint: loop over a fixed number of steps"),
        (by_data, "how often a `while_loop` repeats depends on data; hint: loop over a fixed number of steps"),
        (inside, "how often a `while_loop` repeats is not known in a branch, or in another loop; hint: loop"),
        (writing, "a function that 'cond' is given writes to a tensor of the network; hint: have it return"),
    ],
)
def test_others_are_refused_by_name(compute: Any, said: str) -> None:  # noqa: ANN401
    import torch

    with pytest.raises(InputError, match=re.escape(said)):
        npuflow.from_torch(computing(compute), torch.randn(5, 8))

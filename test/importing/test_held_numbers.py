"""Numbers that a network reads of its own tensors are constants of its program."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

import npuflow
from npuflow.errors import InputError
from npuflow.execute.jit import compile_function

if TYPE_CHECKING:
    from torch import Tensor, nn

pytestmark = pytest.mark.usefixtures("_torch")


def holding(compute: Any) -> nn.Module:  # noqa: ANN401
    import torch

    class Holding(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.register_buffer("count", torch.tensor(3))
            self.register_buffer("sizes", torch.tensor([4, 2]))
            self.scale = torch.nn.Parameter(torch.tensor(0.75))

        def forward(self, x: Tensor) -> Tensor:
            made: Tensor = compute(self, x)
            return made

    return Holding()


@pytest.mark.parametrize(
    "compute",
    [
        lambda held, x: x * held.scale.item() + held.count.item(),
        lambda held, x: x.view(held.sizes.tolist()).sum(0) * int(held.count),
        lambda held, x: x[: int(held.count)] if held.count > 2 and bool(held.scale) else x,
        lambda held, x: sum(x * step for step in range(held.count)) ** float(held.count),
        lambda held, x: x.view(-1, int(held.count * 2 - 2)) / held.scale.exp().item(),
    ],
    ids=["item", "sizes", "choice", "range", "computed"],
)
def test_what_a_network_holds_is_known(compute: Any) -> None:  # noqa: ANN401
    import torch

    module, x = holding(compute), torch.randn(8)
    program = npuflow.from_torch(module, (x,))
    (found,) = compile_function(program.operation, "main").run([x.numpy()]).results
    np.testing.assert_allclose(found, module(x).detach().numpy(), rtol=1e-5)


def test_what_is_written_is_read_each_time() -> None:
    import torch

    def counting(held: Any, x: Tensor) -> Tensor:  # noqa: ANN401
        held.count += 1
        return x * held.count

    module, x = holding(counting), torch.randn(8)
    execute = compile_function(npuflow.from_torch(module, (x,)).operation, "main")
    for count in (3, 7):
        found, kept = execute.run([x.numpy(), np.array(count)]).results
        np.testing.assert_allclose(found, x.numpy() * (count + 1), rtol=1e-6)
        assert kept == count + 1


def test_what_is_written_is_not_chosen_by() -> None:
    import torch

    def choosing(held: Any, x: Tensor) -> Tensor:  # noqa: ANN401
        held.count += 1
        return x if held.count > 3 else -x

    with pytest.raises(InputError, match=r"hint: choose between tensors by `torch.where`"):
        npuflow.from_torch(holding(choosing), (torch.randn(8),))

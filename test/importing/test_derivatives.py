"""Networks that take derivatives inside, as forces of energies and residuals of equations."""

from __future__ import annotations

import copy
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

import npuflow
from npuflow.core.passes import ops_of
from npuflow.errors import InputError
from npuflow.execute.jit import compile_function

if TYPE_CHECKING:
    from torch import Tensor, nn

pytestmark = pytest.mark.usefixtures("_torch")


def computing(compute: Any, *layers: nn.Module) -> nn.Module:  # noqa: ANN401
    import torch
    from torch import nn

    class Computing(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.net = nn.Sequential(*(layers or (nn.Linear(3, 16), nn.Tanh(), nn.Linear(16, 1))))
            self.scale = torch.tensor([0.5, 1.0, 2.0])
            self.register_buffer("power", torch.tensor(3))

        def forward(self, *given: Tensor) -> Any:  # noqa: ANN401
            return compute(self, *given)

    return Computing()


def is_as_in_pytorch(module: nn.Module, *given: Tensor) -> None:
    from torch.utils._pytree import tree_leaves

    program = npuflow.from_torch(copy.deepcopy(module), [each.clone() for each in given])
    found = compile_function(program.operation, "main").run([each.numpy() for each in given]).results
    expected = tree_leaves(module(*(each.clone() for each in given)))
    for one, wanted in zip(found, expected, strict=True):
        np.testing.assert_allclose(one, wanted.detach().numpy(), rtol=1e-4, atol=1e-5)


def residual(held: Any, x: Tensor) -> Any:  # noqa: ANN401
    from torch.func import grad, hessian, vmap

    def u(point: Tensor) -> Tensor:
        return held.net(point).squeeze(-1)  # type: ignore[no-any-return]

    return u(x), vmap(grad(u))(x), vmap(hessian(u))(x).diagonal(dim1=-2, dim2=-1).sum(-1)


def forces(held: Any, x: Tensor) -> tuple[Tensor, Tensor]:  # noqa: ANN401
    import torch

    places = x.requires_grad_(True)
    energy = (held.net(places) / (1 + places.square().sum(-1, keepdim=True))).sum()
    (slope,) = torch.autograd.grad(energy, places, create_graph=True)
    return energy, -slope


def twice(held: Any, x: Tensor) -> Tensor:  # noqa: ANN401
    import torch

    with torch.enable_grad():
        x = x.detach().requires_grad_(True)
        (first,) = torch.autograd.grad(held.net(x).sum(), x, create_graph=True)
        return torch.autograd.grad(first[:, 0].sum(), x)[0]


def backward(held: Any, x: Tensor) -> Tensor | None:  # noqa: ANN401
    x = x.clone().requires_grad_()
    held.net(x).sum().backward()
    return x.grad


def held_tensors(held: Any, x: Tensor) -> Tensor:  # noqa: ANN401
    """One that is no buffer, one that is made inside, and a number of a buffer."""
    import torch
    from torch.func import grad

    def compute(x: Tensor) -> Tensor:
        return (held.net(x * held.scale) ** int(held.power)).sum() * torch.tensor(2.0)

    return grad(compute)(x)  # type: ignore[no-any-return]


@pytest.mark.parametrize("compute", [residual, forces, twice, backward, held_tensors])
def test_derivatives_are_computed(compute: Any) -> None:  # noqa: ANN401
    import torch

    torch.manual_seed(0)
    is_as_in_pytorch(computing(compute), torch.randn(7, 3))


@pytest.mark.parametrize("name", ["jacrev", "jacfwd"])
def test_jacobians_are_computed(name: str) -> None:
    import torch

    torch.manual_seed(0)
    jacobian = getattr(torch.func, name)
    is_as_in_pytorch(computing(lambda held, x: jacobian(lambda x: held.net(x).squeeze(-1))(x)), torch.randn(4, 3))


def test_derivatives_of_layers_are_computed() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    layers = (nn.Conv2d(2, 4, 3, padding=1), nn.SiLU(), nn.GroupNorm(2, 4), nn.MaxPool2d(2), nn.Mish(), nn.Flatten())
    is_as_in_pytorch(
        computing(lambda held, x: torch.func.grad(lambda x: held.net(x).square().sum())(x), *layers),
        torch.randn(1, 2, 8, 8),
    )
    layer = nn.TransformerEncoderLayer(16, 2, 32, batch_first=True).eval()
    attending = computing(lambda held, x: torch.func.grad(lambda x: held.net(x).square().sum())(x), layer)
    is_as_in_pytorch(attending.eval(), torch.randn(1, 5, 16))


@pytest.mark.parametrize("p", [1.0, 2.0])
def test_distances_have_derivatives(p: float) -> None:
    """Also those of a row to itself, which are 0."""
    import torch

    def compute(_: object, x: Tensor) -> Tensor:
        return torch.func.grad(lambda x: torch.cdist(x, x, p).square().sum().sqrt())(x)  # type: ignore[no-any-return]

    torch.manual_seed(0)
    is_as_in_pytorch(computing(compute), torch.randn(4, 3))


@pytest.mark.parametrize(
    ("given", "named"),
    [((2,), {}), (((3, 2), 1, (1, 0)), {}), ((3, 2, 1, False, False), {}), ((2,), {"divisor_override": 3})],
)
def test_averages_of_windows_have_derivatives(given: tuple[Any, ...], named: dict[str, Any]) -> None:
    import torch

    def compute(_: object, x: Tensor) -> Tensor:
        pool = torch.nn.functional.avg_pool2d
        return torch.func.grad(lambda x: pool(x, *given, **named).square().sum())(x)  # type: ignore[no-any-return]

    torch.manual_seed(0)
    is_as_in_pytorch(computing(compute), torch.randn(2, 3, 6, 5))


def test_inverses_have_derivatives() -> None:
    import torch

    torch.manual_seed(0)

    def compute(_: object, x: Tensor) -> Tensor:
        return torch.func.grad(lambda x: torch.linalg.inv(x @ x.T + torch.eye(4)).sum())(x)  # type: ignore[no-any-return]

    is_as_in_pytorch(computing(compute), torch.randn(4, 3))


def test_weights_stay_resources() -> None:
    import torch
    from torch import nn

    module = computing(forces, nn.Linear(32, 64), nn.Tanh(), nn.Linear(64, 1))
    program = npuflow.from_torch(module, torch.randn(5, 32))
    held = [str(op.attributes["value"]) for op in ops_of(program.operation, "arith.constant")]
    assert sum(value.startswith("dense_resource<") and value.endswith("tensor<64x32xf32>") for value in held) == 1


def test_what_is_written_beside_derivatives_is_a_result() -> None:
    import torch

    def compute(held: Any, x: Tensor) -> Tensor:  # noqa: ANN401
        held.power += 1
        return torch.func.grad(lambda x: held.net(x).sum() * held.power)(x)  # type: ignore[no-any-return]

    module, x = computing(compute), torch.randn(7, 3)
    execute = compile_function(npuflow.from_torch(copy.deepcopy(module), x).operation, "main")
    found, left = execute.run([x.numpy(), np.array(3)]).results
    np.testing.assert_allclose(found, module(x).detach().numpy(), rtol=1e-5, atol=1e-6)
    assert left == 4


def test_the_first_refusal_is_said() -> None:
    import torch

    def compute(held: Any, x: Tensor) -> Tensor:  # noqa: ANN401
        slope = torch.func.grad(lambda x: held.net(x).sum())(x)
        return slope if x.sum() > 0 else -slope

    with pytest.raises(InputError, match="PyTorch cannot export this module"):
        npuflow.from_torch(computing(compute), torch.randn(7, 3))

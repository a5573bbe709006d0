"""Networks that take and return more than tensors in a row: lists, dictionaries, numbers, nothing."""

from __future__ import annotations

from collections import OrderedDict
from dataclasses import dataclass, fields
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import pytest

import npuflow
from npuflow.core.passes import ops_of
from npuflow.errors import InputError, UsageError
from npuflow.execute.jit import compile_function
from npuflow.importing.networks import import_network

if TYPE_CHECKING:
    from torch import Tensor, nn

pytestmark = pytest.mark.usefixtures("_torch")


def module_of(function: Any) -> nn.Module:  # noqa: ANN401
    from torch import nn

    made: nn.Module = type("Computation", (nn.Module,), {"forward": staticmethod(function)})()
    return made


def results(module: Any, *inputs: Tensor) -> list[Any]:  # noqa: ANN401
    return list(compile_function(module.operation, "main").run([each.numpy() for each in inputs]).results)


def shown_type(module: Any) -> str:  # noqa: ANN401
    return str(ops_of(module.operation, "func.func")[0].attributes["function_type"].value)


def test_numbers_are_constants() -> None:
    import torch

    def scaled(x: Tensor, factor: float, count: int, negated: bool, mode: str) -> Tensor:
        y = x * factor + count
        return -y if negated and mode == "all" else y

    x = torch.randn(5, 7)
    module = npuflow.from_torch(module_of(scaled), (x, 0.5, 3, True, "all"))
    assert shown_type(module) == "(tensor<5x7xf32>) -> tensor<5x7xf32>"
    (found,) = results(module, x)
    np.testing.assert_array_equal(found, -(x.numpy() * np.float32(0.5) + 3))


def test_tensors_come_in_lists_and_dictionaries_and_by_name() -> None:
    import torch

    def joined(
        parts: list[Tensor], scales: dict[str, Tensor], mask: Tensor | None = None, shift: float = 0.0
    ) -> Tensor:
        y = torch.cat(parts, 1) * scales["w"] + shift
        return y if mask is None else torch.where(mask, y, 0.0)

    a, b, w, mask = torch.randn(3, 5), torch.randn(3, 2), torch.randn(7), torch.rand(3, 7) > 0.5
    expected = joined([a, b], {"w": w}, mask, 1.5).numpy()
    module = npuflow.from_torch(module_of(joined), ([a, b], {"w": w}), keywords={"shift": 1.5, "mask": mask})
    (found,) = results(module, a, b, w, mask)
    np.testing.assert_allclose(found, expected, rtol=1e-6)


def test_results_are_the_tensors_among_what_is_returned() -> None:
    import torch

    def nested(x: Tensor, y: Tensor | None) -> dict[str, Any]:
        return {"first": [x + 1, (x * 2, None)], "loss": 0.0, "y": y, "last": {"sums": x.sum(-1)}}

    x = torch.randn(3, 5)
    module = npuflow.from_torch(module_of(nested), (x, None))
    found = results(module, x)
    assert len(found) == 3
    for one, wanted in zip(found, (x + 1, x * 2, x.sum(-1)), strict=True):
        np.testing.assert_allclose(one, wanted.numpy(), rtol=1e-5, atol=1e-6)


@dataclass
class Fields:
    z: Any
    loss: Any = None
    a: Any = None


class Named(NamedTuple):
    z: Any
    loss: Any = None
    a: Any = None


class Ordered(OrderedDict[str, Any]):
    """A dictionary of a kind of its own."""


@dataclass
class Both(OrderedDict[str, Any]):
    """As Hugging Face's outputs are: a dictionary of its fields that aren't None."""

    z: Any = None
    loss: Any = None
    a: Any = None

    def __post_init__(self) -> None:
        for each in fields(self):
            if (value := getattr(self, each.name)) is not None:
                self[each.name] = value


KINDS = [Fields, Named, Ordered, Both]


@pytest.mark.parametrize("kind", KINDS)
def test_structures_of_results_are_their_fields_in_order(kind: Any) -> None:  # noqa: ANN401
    import torch

    x = torch.randn(3, 5)
    module = module_of(lambda x: {"nested": [kind(z=x + 1, a=(x.sum(-1), kind(z=x * 2)))]})
    found = results(npuflow.from_torch(module, (x,)), x)
    assert len(found) == 3
    for one, wanted in zip(found, (x + 1, x.sum(-1), x * 2), strict=True):
        np.testing.assert_allclose(one, wanted.numpy(), rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("kind", KINDS)
def test_structures_are_taken_as_they_are(kind: Any) -> None:  # noqa: ANN401
    import torch

    def scaled(one: Any, factor: float, *, other: Any) -> Tensor:  # noqa: ANN401
        of = dict if kind is Ordered else lambda value: {name: getattr(value, name) for name in ("z", "a")}
        assert isinstance(one, kind)
        first, second = of(one), of(other["in"])
        return first["z"] * factor + first["a"][0] - second["z"]

    x, y, z = torch.randn(3, 5), torch.randn(3, 1), torch.randn(5)
    given, named = (kind(z=x, a=[y]), 0.5), {"other": {"in": kind(z=z, a=3)}}
    module = module_of(scaled)
    (found,) = results(npuflow.from_torch(module, given, keywords=named), x, y, z)
    np.testing.assert_allclose(found, module(*given, **named).numpy(), rtol=1e-5, atol=1e-6)
    assert not module._forward_hooks
    assert not module._forward_pre_hooks


def test_other_objects_are_no_results() -> None:
    import torch

    class Held:
        def __init__(self, value: Tensor) -> None:
            self.value = value

    with pytest.raises(InputError, match="the network returns an object of type Held; hint: return tensors, and lists"):
        npuflow.from_torch(module_of(lambda x: [Held(x)]), torch.zeros(3))


def test_what_is_written_is_counted_among_tensors() -> None:
    """A cache is argument 1 and result 1, whatever stands between."""
    import torch

    def written(x: Tensor, place: int, cache: Tensor) -> tuple[Tensor, None, Tensor]:
        cache[place] = x
        return cache.sum(), None, cache

    x, cache = torch.randn(5), torch.zeros(4, 5)
    module = npuflow.from_torch(module_of(written), (x, 2, cache.clone()))
    assert "%arg1: tensor<4x5xf32> {npu.becomes = 1 : i64}" in str(module)
    total, left = results(module, x, cache)
    cache[2] = x
    np.testing.assert_array_equal(left, cache.numpy())
    np.testing.assert_allclose(total, cache.sum().numpy(), rtol=1e-5)


@pytest.mark.parametrize(
    "given", ["(Net(), {'x': x, 'mask': mask})", "(Net(), x, {'mask': mask})", "(Net(), (x, mask))"]
)
def test_a_function_gives_inputs_by_place_and_by_name(given: str, tmp_path: Path) -> None:
    file = tmp_path / "network.py"
    file.write_text(
        "import torch\nclass Net(torch.nn.Module):\n    def forward(self, x, mask=None):\n"
        "        return x if mask is None else x.masked_fill(mask, 0.0)\n"
        f"def f():\n    x, mask = torch.randn(3, 5), torch.ones(3, 5, dtype=torch.bool)\n    return {given}\n"
    )
    module = import_network(f"{file}:f")
    assert shown_type(module) == "(tensor<3x5xf32>, tensor<3x5xi1>) -> tensor<3x5xf32>"


def test_what_is_no_input_is_refused() -> None:
    import torch

    for given in (1, "x", None):
        with pytest.raises(UsageError, match=r"the inputs are of type .*; hint: give a tensor, or a tuple"):
            npuflow.from_torch(torch.nn.ReLU(), given)  # type: ignore[arg-type]
    with pytest.raises(UsageError, match="an input is of type object; hint: give tensors, numbers"):
        npuflow.from_torch(torch.nn.ReLU(), ([torch.zeros(1), object()],))


def test_a_network_without_tensors_as_results_is_refused() -> None:
    import torch

    with pytest.raises(InputError, match="the network returns no tensor; hint: return what is to be computed"):
        npuflow.from_torch(module_of(lambda x: {"size": len(x)}), torch.zeros(3))

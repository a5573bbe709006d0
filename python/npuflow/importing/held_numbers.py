"""Numbers that a network reads of its own buffers and weights, as by `.item()`: they are known, so constants."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, Any

from npuflow.importing.function_mode import calling
from npuflow.importing.packages import loaded_torch

if TYPE_CHECKING:
    from torch import Tensor, nn
    from torch._subclasses.fake_tensor import FakeTensor
    from torch.export import ExportedProgram

# As many as sizes of dimensions or levels that a network lists.
_MOST = 64


def knowing_numbers(module: nn.Module, export: Callable[[], ExportedProgram]) -> ExportedProgram:
    """A module's program in which what it reads of small tensors of its own, and doesn't write, are constants."""
    told = _Told(module, frozenset())
    with told.telling():
        program = export()
    written = told.written()
    if not written:
        return program
    with _Told(module, written).telling():
        return export()


class _Told:
    """The small tensors of a module, but for some, which know what they hold while it is exported.

    PyTorch has tensors without data in their places by then, of which it only knows that they are numbers: none that
    torch-mlir reads, nor any to choose or to count by. But these tensors may say what they hold, as those do that
    PyTorch makes of numbers in the code. It writes to what they say as well, or forgets it.
    """

    def __init__(self, module: nn.Module, other: Collection[str]) -> None:
        torch = loaded_torch()
        self.module = module
        self.held = {
            name: tensor.detach().clone()
            for name, tensor in _tensors(module)
            if name not in other and type(tensor) in (torch.Tensor, torch.nn.Parameter) and tensor.numel() <= _MOST
        }
        self.before = {name: tensor.clone() for name, tensor in self.held.items()}
        self.places: dict[str, FakeTensor] = {}

    def telling(self) -> AbstractContextManager[object]:
        """In it, the first function that a module calls finds these tensors told."""

        def call(function: Callable[..., Any], given: Sequence[Any], named: Mapping[str, Any]) -> Any:  # noqa: ANN401
            if self.held and not self.places and self._is_replaced(next(iter(self.held))):
                self._tell()
            return function(*given, **named)

        return calling(call)

    def _is_replaced(self, name: str) -> bool:
        """Asked at each function: all tensors of a module are replaced at once, and to list them takes long."""
        from torch._subclasses.fake_tensor import FakeTensor

        owner, _, attribute = name.rpartition(".")
        return isinstance(getattr(self.module.get_submodule(owner), attribute), FakeTensor)

    def _tell(self) -> None:
        from torch._subclasses.fake_tensor import FakeTensor

        for name, tensor in _tensors(self.module):
            if name in self.held and isinstance(tensor, FakeTensor):
                tensor.constant = self.held[name]
                self.places[name] = tensor

    def written(self) -> set[str]:
        return {
            name
            for name, tensor in self.places.items()
            if tensor.constant is not self.held[name] or not loaded_torch().equal(tensor.constant, self.before[name])
        }


def _tensors(module: nn.Module) -> list[tuple[str, Tensor]]:
    return [*module.named_parameters(), *module.named_buffers()]

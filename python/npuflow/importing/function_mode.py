"""PyTorch's functions, called in another way while something is exported."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from typing import Any

from npuflow.importing.packages import loaded_torch

Call = Callable[[Callable[..., Any], Sequence[Any], Mapping[str, Any]], Any]


def calling(call: Call) -> AbstractContextManager[object]:
    """In it, `call` gets each function that is called, with its arguments, and gives what that returns."""

    def computed(
        _: object,
        function: Callable[..., Any],
        __: object,
        given: Sequence[Any] = (),
        named: Any = None,  # noqa: ANN401
    ) -> Any:  # noqa: ANN401
        return call(function, given, named or {})

    mode = type("Calling", (loaded_torch().overrides.TorchFunctionMode,), {"__torch_function__": computed})
    made: AbstractContextManager[object] = mode()
    return made

"""Networks that functions of a Python file make: `MODULE.py:function`."""

from __future__ import annotations

import inspect
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from npuflow.core.python_files import module_name, place_of_failure, run_python_file
from npuflow.errors import Diagnostic, InputError, NpuflowError, Severity, SourceLocation, unknown_name, with_hint
from npuflow.importing.arguments import positional
from npuflow.importing.input_types import HINT, InputType
from npuflow.importing.packages import load_package

if TYPE_CHECKING:
    from torch import Tensor, nn

_HINT_FUNCTION = "return a torch.nn.Module, or one and the tuple of its inputs, or also a dictionary of those by name"


@dataclass(frozen=True)
class PythonNetwork:
    """A module, what it is called with, and where its source is."""

    module: nn.Module
    inputs: tuple[object, ...]
    keywords: Mapping[str, object]
    place: SourceLocation


def load_network(path: str, name: str, types: Sequence[InputType]) -> PythonNetwork:
    """The module of that name and inputs for it; of a function with arguments, the function itself as a module.

    A class or a function that needs no arguments is called, always with the same random numbers. Raises InputError.
    """
    file = Path(path)
    if not file.is_file():
        raise InputError(with_hint(f"cannot open '{path}': no such file", "check the path"))
    torch = _torch()
    called = module_name(file, "npuflow_network")
    with _failures_in(path, called), _siblings_importable(file):
        torch.manual_seed(0)
        loaded = run_python_file(file, called)
        found = getattr(loaded, name, None)
        if found is None:
            known = [one for one, value in vars(loaded).items() if callable(value) and not one.startswith("_")]
            raise InputError(Diagnostic(Severity.ERROR, unknown_name("function", name, known), SourceLocation(path, 1)))
        place = _place_of(found, path)
        made = _made(found, name, place, bool(types))
    module, inputs, keywords = _parts_of(made)
    if callable(module) and not isinstance(module, torch.nn.Module):
        module = _as_module(module)
    if not isinstance(module, torch.nn.Module):
        raise _refused(f"'{name}' returns {type(module).__name__}, no network", _HINT_FUNCTION, place)
    if types or (inputs is None and not keywords):
        inputs, keywords = _inputs_of(types, name, place), {}
    return PythonNetwork(module, positional(() if inputs is None else inputs), keywords, place)


def _parts_of(made: object) -> tuple[Any, Any, Mapping[str, object]]:
    """A network, its inputs if it comes with any, and those that it takes by name."""
    if not isinstance(made, tuple) or len(made) not in (2, 3):
        return made, None, {}
    module, *inputs = made
    keywords = inputs.pop() if isinstance(inputs[-1], Mapping) else {}
    return (module, inputs[0] if inputs else None, keywords) if len(inputs) < 2 else (made, None, {})


def _torch() -> Any:  # noqa: ANN401  (PyTorch's types are unknown where it isn't installed)
    return load_package("torch", "importing a network from Python")


def _made(found: Any, name: str, place: SourceLocation, has_types: bool) -> object:  # noqa: ANN401
    """What a name stands for: a module, what makes one, or a function of tensors, which is what is to be computed."""
    torch = _torch()
    if isinstance(found, torch.nn.Module):
        return found
    if not callable(found):
        raise _refused(f"'{name}' is {type(found).__name__}, no function", _HINT_FUNCTION, place)
    needed = [
        one.name
        for one in inspect.signature(found).parameters.values()
        if one.default is one.empty and one.kind not in (one.VAR_POSITIONAL, one.VAR_KEYWORD)
    ]
    if not needed:
        return found()
    if isinstance(found, type) or not has_types:
        what = f"'{name}' needs {', '.join(needed)}"
        hint = f"say the types of its tensors with --inputs: {HINT}; or give what makes the network no arguments"
        raise _refused(what, hint, place)
    return found


def _as_module(function: Callable[..., object]) -> nn.Module:
    torch = _torch()
    made: nn.Module = type("Computation", (torch.nn.Module,), {"forward": staticmethod(function)})()
    return made


def _inputs_of(types: Sequence[InputType], name: str, place: SourceLocation) -> tuple[Tensor, ...]:
    """Zeros of the types that are given."""
    torch = _torch()
    if not types:
        raise _refused(f"'{name}' returns no inputs", f"say their types with --inputs: {HINT}", place)
    elements = {"f16": torch.float16, "bf16": torch.bfloat16, "f32": torch.float32, "f64": torch.float64}
    elements |= {"i1": torch.bool, "i8": torch.int8, "i16": torch.int16, "i32": torch.int32, "i64": torch.int64}
    return tuple(torch.zeros(one.shape, dtype=elements[one.element]) for one in types)


@contextmanager
def _failures_in(path: str, called: str) -> Iterator[None]:
    """What the file raises is an InputError at its own line."""
    try:
        yield
    except NpuflowError as error:
        place = place_of_failure(error, {called: path})
        raise type(error)([replace(one, location=one.location or place) for one in error.diagnostics]) from error
    except (Exception, SystemExit) as error:
        place = place_of_failure(error, {called: path}) or SourceLocation(path, 1)
        what = with_hint(f"the file failed: {type(error).__name__}: {error}", "run it by Python alone, then mend it")
        raise InputError(Diagnostic(Severity.ERROR, what, place)) from error


@contextmanager
def _siblings_importable(file: Path) -> Iterator[None]:
    """As for a script, the folder of the file is where its imports look first."""
    folder = str(file.resolve().parent)
    sys.path.insert(0, folder)
    try:
        yield
    finally:
        sys.path.remove(folder)


def _place_of(found: object, path: str) -> SourceLocation:
    code = getattr(found, "__code__", None)
    return SourceLocation(path, code.co_firstlineno if code is not None else 1)


def _refused(what: str, hint: str, place: SourceLocation) -> InputError:
    return InputError(Diagnostic(Severity.ERROR, with_hint(what, hint), place))

"""Dataclasses and dictionaries of kinds of their own, as Hugging Face's outputs: PyTorch doesn't look into such."""

from __future__ import annotations

import copy
import dataclasses
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from npuflow.errors import InputError, with_hint
from npuflow.importing.packages import loaded_torch

if TYPE_CHECKING:
    from torch import nn

# What a network is called with and returns that is no tensor, and has none inside.
PLAIN = (bool, int, float, str, type(None))
_KNOWN = ("torch", "builtins")


@contextmanager
def plain_structures(
    module: nn.Module, given: tuple[object, ...], named: Mapping[str, object]
) -> Iterator[tuple[tuple[object, ...], Mapping[str, object]]]:
    """In it, a module takes and returns dictionaries where it has these; gives what it is called with then."""
    call = given, dict(named)

    def take(_: object, *taken: Any) -> Any:  # noqa: ANN401
        return _closed(call, taken)

    def give(_: object, __: object, returned: object) -> object:
        return _checked(opened(returned))

    hooks = [module.register_forward_hook(give)]
    if opened(call) is not call:
        hooks.append(module.register_forward_pre_hook(take, prepend=True, with_kwargs=True))
    try:
        yield opened(call)
    finally:
        for hook in hooks:
            hook.remove()


def opened(value: Any) -> Any:  # noqa: ANN401  (whatever a network takes or returns)
    """The same with dictionaries of their fields, in order, where these are."""
    pytree = loaded_torch().utils._pytree
    if not any(map(_is_structure, pytree.tree_leaves(value))):
        return value
    return pytree.tree_map(lambda leaf: opened(_fields(leaf)) if _is_structure(leaf) else leaf, value)


def _closed(like: Any, value: Any) -> Any:  # noqa: ANN401
    """What was opened, with these where `like` has them."""
    return loaded_torch().utils._pytree.tree_map(
        lambda leaf, own: _filled(leaf, own) if _is_structure(leaf) else own, like, value
    )


def _filled(structure: Any, values: Mapping[str, object]) -> Any:  # noqa: ANN401
    """One like this of other values; fields that it isn't made of, it computes."""
    own = _closed(_fields(structure), values)
    if dataclasses.is_dataclass(structure):
        made_of = {field.name: own[field.name] for field in dataclasses.fields(structure) if field.init}
        return dataclasses.replace(structure, **made_of)  # type: ignore[type-var]
    made = copy.copy(structure)
    made.update(own)
    return made


def _is_structure(value: object) -> bool:
    return isinstance(value, Mapping) or (dataclasses.is_dataclass(value) and not isinstance(value, type))


def _fields(structure: Any) -> dict[str, object]:  # noqa: ANN401
    if not dataclasses.is_dataclass(structure):
        return dict(structure)
    return {field.name: getattr(structure, field.name, None) for field in dataclasses.fields(structure)}


def _checked(returned: object) -> object:
    """Raises InputError for objects that may have tensors inside, of which nobody says in what order."""
    torch = loaded_torch()
    for value in torch.utils._pytree.tree_leaves(returned):
        if type(value).__module__.partition(".")[0] not in _KNOWN and not isinstance(value, (torch.Tensor, *PLAIN)):
            what = f"the network returns an object of type {type(value).__name__}"
            raise InputError(with_hint(what, "return tensors, and lists, dictionaries and dataclasses of these"))
    return returned

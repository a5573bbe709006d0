"""Small modules that call one of PyTorch's ops, as PyTorch's own database of ops and modules has samples of them.

Each sample is called in several ways: with its own numbers, with such as ties and infinities are made of, with operands
of other types, with numbers for tensors, and with tensors that the module itself makes, which an importer folds.
"""

from __future__ import annotations

import copy
import random
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import islice
from typing import Any

import torch
from torch import Tensor, nn
from torch.testing._internal.common_methods_invocations import op_db
from torch.testing._internal.common_modules import module_db
from torch.utils._pytree import tree_flatten, tree_leaves, tree_unflatten

KINDS = {
    "f32": torch.float32,
    "bf16": torch.bfloat16,
    "f16": torch.float16,
    "f64": torch.float64,
    "i64": torch.int64,
    "i32": torch.int32,
    "i16": torch.int16,
    "i8": torch.int8,
    "u8": torch.uint8,
    "i1": torch.bool,
}
# What returns memory as it found it, is no op of tensors, or for devices of others.
_LEFT_OUT = ("empty", "new_empty", "jiterator", "sparse.", "to_sparse", "resize", "triton", "_flash", "_efficient")
# Where equal elements may be told apart, or not: how many results PyTorch says something of.
_SAID = {"topk": 1, "kthvalue": 1, "median": 1, "nanmedian": 1, "mode": 1}
# Some arguments are in order: other numbers would make nothing that is said.
_ORDERED = ("searchsorted", "bucketize")
_LARGEST, _SAMPLES = 2000, 400
_EDGES = (0.0, -0.0, 1.0, -1.0, 0.5, -0.5, 1.5, -1.5, 2.5, -2.5, 3.0, 100.0, torch.inf, -torch.inf, torch.nan)
_WHOLE_EDGES = (0, 1, -1, 2, -2, 3, 5, -7, 100, 2**40, -(2**40))
_NUMBERS = (2, -1, 0, 3, 0.5, -1.5, 2.0, True)
WAYS = ("ties", "edges", "mixed", "number", "made", "known")


class Called(nn.Module):
    """An op of arguments, the tensors of which are inputs but for some that it makes itself, all of one number."""

    def __init__(
        self, op: Callable[..., Any], given: object, made: dict[int, float] | None = None, said: int | None = None
    ) -> None:
        super().__init__()
        self.op, self.said = op, said
        self.leaves, self.spec = tree_flatten(given)
        self.made = made or {}
        self.tensors = [place for place, leaf in enumerate(self.leaves) if isinstance(leaf, Tensor)]

    @property
    def inputs(self) -> tuple[Tensor, ...]:
        return tuple(self.leaves[place] for place in self.tensors if place not in self.made)

    def forward(self, *given: Tensor) -> tuple[Tensor, ...]:
        left, leaves = list(given), list(self.leaves)
        for place in self.tensors:
            like = self.leaves[place]
            leaves[place] = _made(like, self.made[place]) if place in self.made else left.pop(0)
        args, kwargs = tree_unflatten(leaves, self.spec)
        found = [each for each in tree_leaves(self.op(*args, **kwargs)) if isinstance(each, Tensor)][: self.said]
        return tuple(torch.view_as_real(each.resolve_conj()) if each.is_complex() else each for each in found)

    def in_f32(self) -> tuple[Tensor, ...] | None:
        """The same of 16-bit floats held in 32 bits, which PyTorch adds up in their own type here and there."""
        narrow = (torch.bfloat16, torch.float16)
        wide = copy.deepcopy(self).float()
        wide.leaves = [
            leaf.float()
            if isinstance(leaf, Tensor) and leaf.dtype in narrow
            else torch.float32
            if any(leaf is one for one in narrow)
            else leaf
            for leaf in self.leaves
        ]
        return computed(wide, 1)


def _made(like: Tensor, value: float) -> Tensor:
    if value in (0, 1):
        return (torch.ones if value else torch.zeros)(like.shape, dtype=like.dtype)
    return torch.full(like.shape, value, dtype=like.dtype)


@dataclass(frozen=True)
class Case:
    """A module, and what PyTorch says that it computes of its inputs."""

    op: str
    kind: str
    way: str
    module: Called
    expected: tuple[Tensor, ...] = field(repr=False)

    def __str__(self) -> str:
        def shown(leaf: object) -> str:
            return f"{tuple(leaf.shape)}:{str(leaf.dtype)[6:]}" if isinstance(leaf, Tensor) else repr(leaf)[:40]

        return f"{self.op} {self.kind} {self.way}: {', '.join(map(shown, self.module.leaves))}"


def names() -> list[str]:
    """All ops and, with capital letters, modules."""
    ops = [op.full_name for op in op_db if not any(word in op.full_name for word in _LEFT_OUT)]
    return [*dict.fromkeys(ops), *dict.fromkeys(f"nn.{info.module_cls.__name__}" for info in module_db)]


def cases(name: str, kind: str, seed: int, count: int) -> list[Case]:
    """So many samples of an op as they are, and one more for each way to call it; with a count of 0 all samples."""
    draw = random.Random(f"{seed} {name} {kind}")
    torch.manual_seed(draw.randrange(2**31))
    calls = [call for call in _calls(name, KINDS[kind]) if _is_small(call)]
    if not calls:
        return []
    chosen = [("given", call) for call in (draw.sample(calls, min(count, len(calls))) if count else calls)]
    chosen += [(way, call) for way in WAYS for call in (draw.sample(calls, 1) if count else calls)]
    found = (_case(name, kind, way, call, draw) for way, call in chosen)
    return [case for case in found if case is not None]


_Call = tuple[Callable[..., Any], Any]


def _calls(name: str, dtype: torch.dtype) -> Iterator[_Call]:
    """Functions, and the arguments of PyTorch's samples of them."""
    for op in op_db:
        if op.full_name == name and dtype in op.dtypes:
            for sample in (*op.sample_inputs("cpu", dtype), *islice(_references(op, dtype), _SAMPLES)):
                yield op.op, ((sample.input, *sample.args), sample.kwargs)
    for info in module_db:
        if f"nn.{info.module_cls.__name__}" == name and dtype in info.dtypes:
            for training in (False, True):
                for one in info.module_inputs_func(info, "cpu", dtype, requires_grad=False, training=training):
                    made = one.constructor_input
                    module = info.module_cls(*made.args, **made.kwargs).to(dtype).train(training)
                    yield module, (tuple(one.forward_input.args), one.forward_input.kwargs)


def _references(op: Any, dtype: torch.dtype) -> Iterator[Any]:  # noqa: ANN401
    """More samples where there are others: of other sizes, types and numbers; some fail to be made."""
    try:
        yield from op.reference_inputs("cpu", dtype) if op.reference_inputs_func is not None else ()
    except Exception:  # noqa: BLE001
        return


def _is_small(call: _Call) -> bool:
    tensors = [leaf for leaf in tree_leaves(call[1]) if isinstance(leaf, Tensor)]
    return bool(tensors) and all(
        one.numel() <= _LARGEST and one.layout is torch.strided and not one.is_complex() for one in tensors
    )


def _case(name: str, kind: str, way: str, call: _Call, draw: random.Random) -> Case | None:
    """The call in that way, if PyTorch computes it, and the same twice."""
    op, given = call
    leaves, spec = tree_flatten(given)
    leaves = [leaf.detach().clone().contiguous() if isinstance(leaf, Tensor) else leaf for leaf in leaves]
    tensors = [place for place, leaf in enumerate(leaves) if isinstance(leaf, Tensor)]
    made: dict[int, float] = {}
    if way in ("ties", "edges"):
        if name in _ORDERED:
            return None
        change = _tied if way == "ties" else _edged
        of_kind = [place for place in tensors if leaves[place].dtype == KINDS[kind] and leaves[place].numel()]
        leaves = [change(leaf, draw) if place in of_kind else leaf for place, leaf in enumerate(leaves)]
        tensors = of_kind
    elif way in ("mixed", "number"):
        for place in tensors[1:]:
            leaves[place] = draw.choice(_NUMBERS) if way == "number" else _cast(leaves[place], draw)
        tensors = tensors[1:]
    elif way in ("made", "known"):
        tensors = tensors if way == "known" else draw.sample(tensors[1:], min(1, len(tensors[1:])))
        made = {place: _value(leaves[place], draw) for place in tensors if leaves[place].numel()}
    if not tensors:
        return None
    module = Called(op, tree_unflatten(leaves, spec), made, _SAID.get(name))
    if not module.inputs and not made:
        return None
    first, second = computed(module, 1), computed(module, 2)
    if not first or second is None or not all(map(_same, first, second)):
        return None
    return Case(name, kind, way, module, first)


def _tied(x: Tensor, draw: random.Random) -> Tensor:
    """Few different numbers, zeros and negative ones among them, halves too."""
    few = [-2, -1, 0, 0, 1, 2, 3] if not x.is_floating_point() else [-2.5, -1.0, -0.5, 0.0, 0.5, 1.0, 1.5, 2.0]
    return torch.tensor([draw.choice(few) for _ in range(x.numel())]).to(x.dtype).reshape(x.shape)


def _edged(x: Tensor, draw: random.Random) -> Tensor:
    some = _EDGES if x.is_floating_point() else _WHOLE_EDGES
    return torch.tensor([draw.choice(some) for _ in range(x.numel())]).to(x.dtype).reshape(x.shape)


def _cast(x: Tensor, draw: random.Random) -> Tensor:
    others = ("f32", "bf16", "f16", "i64", "i32", "i1")
    return x.to(KINDS[draw.choice(others)])


def _value(x: Tensor, draw: random.Random) -> float:
    number: float = draw.choice((1, x.flatten()[0].item()))
    return number


def computed(module: Called, seed: int) -> tuple[Tensor, ...] | None:
    torch.manual_seed(seed)
    try:
        with torch.no_grad():
            found = module(*(one.clone() for one in module.inputs))
            return tuple(one.clone().contiguous() for one in found)
    except Exception:  # noqa: BLE001  (PyTorch refuses it itself)
        return None


def _same(one: Tensor, other: Tensor) -> bool:
    return bool(torch.equal(one.nan_to_num(), other.nan_to_num())) if one.shape == other.shape else False


class Together(nn.Module):
    """Several modules as one, since importing takes as long for many ops as for one."""

    def __init__(self, modules: Sequence[Called]) -> None:
        super().__init__()
        self.each = nn.ModuleList(modules)

    @property
    def inputs(self) -> tuple[Tensor, ...]:
        return tuple(one for module in self.each for one in module.inputs)

    def forward(self, *given: Tensor) -> tuple[Tensor, ...]:
        left = iter(given)
        return tuple(one for module in self.each for one in module(*islice(left, len(module.inputs))))

"""Networks that take derivatives, as forces of energies do: PyTorch exports these once they are written out."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, suppress
from typing import TYPE_CHECKING, Any

from npuflow.errors import InputError, with_hint
from npuflow.importing.function_mode import calling
from npuflow.importing.held_numbers import knowing_numbers
from npuflow.importing.packages import loaded_torch

if TYPE_CHECKING:
    from torch import Tensor, nn
    from torch.export import ExportedProgram

# What PyTorch's exporter takes for one op whatever it is to be taken apart into.
_KEPT = ("mish_backward", "silu_backward")


def exported(module: nn.Module, given: tuple[Any, ...], named: Mapping[str, Any]) -> ExportedProgram:
    """A module as a program, written out first if PyTorch refuses it as it stands; that refusal is what it raises."""
    torch = loaded_torch()
    export, is_wrapped = torch.export.export, torch._C._functorch.is_functorch_wrapped_tensor
    try:
        program = knowing_numbers(module, lambda: export(module, given, dict(named), strict=False))
        if any(isinstance(each, torch.Tensor) and is_wrapped(each) for each in program.constants.values()):
            raise InputError(with_hint("a derivative is not exported", "take it outside of the network"))
        return program
    except Exception:
        with suppress(Exception):
            return knowing_numbers(module, lambda: export(*_written_out(module, given, named), strict=False))
        raise


def _written_out(
    module: nn.Module, given: tuple[Any, ...], named: Mapping[str, Any]
) -> tuple[nn.Module, tuple[Tensor, ...]]:
    """A module of the ops that one calls, those of its derivatives among them, and the tensors that it takes.

    Its weights are the same tensors, by the same names; its results are those of the module in one row. Attention is
    products, of which derivatives are.
    """
    torch = loaded_torch()
    pytree, tensor, attention = torch.utils._pytree, torch.Tensor, torch.nn.attention
    leaves, structure = pytree.tree_flatten((given, dict(named)))
    state = {**dict(module.named_parameters()), **dict(module.named_buffers())}
    inputs = tuple(leaf for leaf in leaves if isinstance(leaf, tensor))

    def compute(*tensors: Tensor) -> list[Any]:
        held, row = dict(zip(state, tensors)), iter(tensors[len(state) :])
        call = (next(row) if isinstance(leaf, tensor) else leaf for leaf in leaves)
        made = torch.func.functional_call(module, held, *pytree.tree_unflatten(call, structure))
        return [leaf for leaf in pytree.tree_leaves(made) if isinstance(leaf, tensor)]

    kept = [getattr(torch.ops.aten, name).default for name in _KEPT]
    apart = {op: torch._decomp.decomposition_table[op] for op in kept}
    trace = torch.fx.experimental.proxy_tensor.make_fx(
        compute, apart, tracing_mode="fake", _allow_non_fake_inputs=True, record_stack_traces=True
    )
    with torch.enable_grad(), attention.sdpa_kernel(attention.SDPBackend.MATH), _with_derivatives():
        made = trace(*state.values(), *inputs)
    graph = made.graph
    held = state | {node.target: getattr(made, node.target) for node in graph.find_nodes(op="get_attr")}
    for name, node in zip(state, graph.find_nodes(op="placeholder"), strict=False):
        with graph.inserting_before(node):
            node.replace_all_uses_with(graph.get_attr(name))
        graph.erase_node(node)
    # That a matrix has no inverse isn't reported.
    for node in graph.find_nodes(op="call_function", target=torch.ops.aten._linalg_check_errors.default):
        graph.erase_node(node)
    return torch.fx.GraphModule(held, graph), inputs


def _with_derivatives() -> AbstractContextManager[object]:
    """In it, functions of whose derivatives torch-mlir has no lowering are computed by ones of whose it has."""
    torch = loaded_torch()
    averages = torch.nn.functional.avg_pool2d
    instead: Mapping[Any, Callable[..., Any]] = {torch.cdist: _distances, averages: _averages}

    def call(function: Callable[..., Any], given: Sequence[Any], named: Mapping[str, Any]) -> Any:  # noqa: ANN401
        made = instead[function](*given, **named) if function in instead else NotImplemented
        return function(*given, **named) if made is NotImplemented else made

    return calling(call)


def _distances(x1: Tensor, x2: Tensor, p: float = 2.0, **_: object) -> Tensor:
    """Of rows, however PyTorch is asked to compute them."""
    made: Tensor = loaded_torch().linalg.vector_norm(x1.unsqueeze(-2) - x2.unsqueeze(-3), p, -1)
    return made


def _averages(
    input: Tensor,  # noqa: A002  (PyTorch's names)
    kernel_size: int | Sequence[int],
    stride: int | Sequence[int] | None = None,
    padding: int | Sequence[int] = 0,
    ceil_mode: bool = False,
    count_include_pad: bool = True,
    divisor_override: int | None = None,
) -> Any:  # noqa: ANN401
    """Convolutions of each channel by ones, over how many pixels count."""
    torch = loaded_torch()
    if ceil_mode:
        return NotImplemented
    sizes = [kernel_size] * 2 if isinstance(kernel_size, int) else [*kernel_size] * (2 // len(kernel_size))
    ones = torch.ones(1, 1, *sizes, dtype=input.dtype)
    planes = input.reshape(-1, 1, *input.shape[-2:])

    def summed(x: Tensor) -> Tensor:
        made: Tensor = torch.nn.functional.conv2d(x, ones, stride=stride or sizes, padding=padding)
        return made

    sums, count = summed(planes), divisor_override or sizes[0] * sizes[1]
    made = sums / (count if count_include_pad or divisor_override else summed(torch.ones_like(planes[:1])))
    return made.reshape(*input.shape[:-2], *made.shape[-2:])

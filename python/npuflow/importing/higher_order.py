"""PyTorch's operators of functions, as `torch.cond` and `scan`: computed by what those functions are made of."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from npuflow.errors import InputError, with_hint
from npuflow.importing.flexible_attention import attended
from npuflow.importing.function_mode import calling
from npuflow.importing.packages import loaded_torch
from npuflow.importing.while_loops import count_steps, repeated

if TYPE_CHECKING:
    from torch import Tensor
    from torch.export import ExportedProgram

Way = Callable[..., Any]


def without_functions(program: ExportedProgram, table: dict[Any, Way]) -> ExportedProgram:
    """A program with its ops taken apart by a table, and both branches of a condition computed, all steps of a loop.

    Raises InputError for what branches and steps write to, and for loops whose steps data decides.
    """
    ways, asserts = _ways(), loaded_torch().ops.aten._assert_tensor_metadata.default
    _refuse_writes(program)

    def call(function: Way, given: Sequence[Any], named: Mapping[str, Any]) -> Any:  # noqa: ANN401
        if function not in ways:
            return function(*given, **named)
        with calling(call):  # what is inside may have others inside
            return ways[function](*given, **named)

    counted = count_steps(program)
    with calling(call):
        flat: ExportedProgram = counted.run_decompositions(table)
    # What is only asked for its type, as blocks of attention, isn't computed.
    for node in flat.graph.find_nodes(op="call_function", target=asserts):
        flat.graph.erase_node(node)
    flat.graph.eliminate_dead_code()
    return flat


def _refuse_writes(program: ExportedProgram) -> None:
    """Raises InputError for branches and steps that write to what they are given: branches are all computed."""
    from torch._higher_order_ops.utils import check_input_alias_and_mutation_return_outputs as effects

    ways, graph_module = _ways(), loaded_torch().fx.GraphModule
    for graph in [each for each in program.graph_module.modules() if isinstance(each, graph_module)]:
        for node in [each for each in graph.graph.nodes if each.target in ways]:
            parts = [graph.get_submodule(each.target) for each in node.args if getattr(each, "op", None) == "get_attr"]
            if any(effects(part)[3] for part in parts if isinstance(part, graph_module)):
                what = f"a function that '{node.target}' is given writes to a tensor of the network"
                raise InputError(with_hint(what, "have it return what becomes of that tensor"))


def _ways() -> Mapping[Any, Way]:
    ops = loaded_torch().ops.higher_order
    return {
        ops.cond: _chosen,
        ops.flex_attention: attended,
        ops.map_impl: _mapped,
        ops.scan: _scanned,
        ops.while_loop: repeated,
    }


def _chosen(condition: Tensor | bool, then: Way, otherwise: Way, operands: Sequence[Any]) -> Any:  # noqa: ANN401
    """Of the results of both, those of one."""
    torch = loaded_torch()
    if isinstance(condition, bool):
        return (then if condition else otherwise)(*operands)
    pick = condition.reshape(())
    return torch.utils._pytree.tree_map(
        lambda one, other: torch.where(pick, one, other), then(*operands), otherwise(*operands)
    )


def _mapped(step: Way, rows: Sequence[Tensor], rest: Sequence[Any]) -> Any:  # noqa: ANN401
    made = [step(*each, *rest) for each in zip(*rows, strict=True)]
    return tuple(map(loaded_torch().stack, zip(*made, strict=True)))


def _scanned(step: Way, state: Sequence[Tensor], rows: Sequence[Tensor], rest: Sequence[Any]) -> Any:  # noqa: ANN401
    """The last state, and what each step has made beside the next."""
    made = []
    for each in zip(*rows, strict=True):
        found = step(*state, *each, *rest)
        state, own = found[: len(state)], found[len(state) :]
        made.append(own)
    return (*state, *map(loaded_torch().stack, zip(*made, strict=True)))

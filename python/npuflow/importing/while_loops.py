"""Loops of PyTorch's `while_loop` whose steps can be counted before they are computed."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from npuflow.errors import InputError, with_hint
from npuflow.importing.known_values import known_value
from npuflow.importing.packages import loaded_torch

if TYPE_CHECKING:
    from torch import fx
    from torch.export import ExportedProgram

# Each step is ops of its own: more make no program that anybody waits for.
_MOST = 4096
_STEPS = "npuflow_steps"

Way = Callable[..., Any]


def count_steps(program: ExportedProgram) -> ExportedProgram:
    """The program with each such loop's condition knowing how often it holds; raises InputError where data decides."""
    if not _loops_of(program):
        return program
    functional: ExportedProgram = program.run_decompositions({})
    for node in _loops_of(functional):
        functional.graph_module.get_submodule(node.args[0].target).meta[_STEPS] = _steps_of(node, functional)
    return functional


def _loops_of(program: ExportedProgram) -> Sequence[fx.Node]:
    target = loaded_torch().ops.higher_order.while_loop
    return list(program.graph.find_nodes(op="call_function", target=target))


def repeated(goes_on: fx.GraphModule, step: Way, state: Sequence[Any], rest: Sequence[Any], **__: object) -> Any:  # noqa: ANN401
    """What such a loop computes; raises InputError for one in a branch or another loop, whose steps aren't counted."""
    if _STEPS not in goes_on.meta:
        raise _uncounted("is not known in a branch, or in another loop")
    for _ in range(goes_on.meta[_STEPS]):
        state = step(*state, *rest)
    return tuple(state)


def _steps_of(node: fx.Node, program: ExportedProgram) -> int:
    """By what is computed of constants in the loop."""
    torch, unknown = loaded_torch(), object()

    class Known(torch.fx.Interpreter):  # type: ignore[misc,name-defined]
        def run_node(self, node: fx.Node) -> Any:  # noqa: ANN401
            is_inside = node.op not in ("placeholder", "output")
            if is_inside and any(self.env[each] is unknown for each in node.all_input_nodes):
                return unknown
            return super().run_node(node)

    def known(value: Any) -> object:  # noqa: ANN401
        found = known_value(value, program) if isinstance(value, torch.fx.Node) else value
        return unknown if found is None else found

    goes_on, body = (Known(program.graph_module.get_submodule(each.target)) for each in node.args[:2])
    state, rest = (list(map(known, values)) for values in node.args[2:])
    for count in range(_MOST + 1):
        condition = goes_on.run(*state, *rest)
        if condition is unknown:
            raise _uncounted("depends on data")
        if not condition:
            return count
        state = body.run(*state, *rest)
    raise _uncounted(f"is more than {_MOST}")


def _uncounted(why: str) -> InputError:
    hint = "loop over a fixed number of steps, and choose between tensors by `torch.where`"
    return InputError(with_hint(f"how often a `while_loop` repeats {why}", hint))

"""Complex numbers as two real ones: a program that computes with any is exported again, as what it does of parts."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from npuflow.errors import InputError, with_hint
from npuflow.importing.complex_ops import Parts, computed_of_parts
from npuflow.importing.packages import loaded_torch

if TYPE_CHECKING:
    from torch import fx, nn
    from torch.export import ExportedProgram


def without_complex_numbers(program: ExportedProgram) -> ExportedProgram:
    """The program if it has no complex numbers, else one that computes the same of real and imaginary parts."""
    torch = loaded_torch()
    if not any(_is_complex(node.meta.get("val")) for node in program.graph.nodes):
        return program
    inputs = program.example_inputs[0] if program.example_inputs else ()
    if _is_complex(inputs):
        what = "an input is complex, which no function of npuflow takes"
        raise InputError(with_hint(what, "take pairs of reals, and torch.view_as_complex of them"))
    with torch.fx.traceback.preserve_node_meta():
        return torch.export.export(_of_parts(program.module()), inputs, strict=False)


def _of_parts(module: nn.Module) -> nn.Module:
    """A module that computes of parts what another does of complex numbers."""
    torch = loaded_torch()
    held = _pairs_held_by(module)
    execute = torch.fx.Interpreter(module)
    execute.extra_traceback = False
    run_node = execute.run_node

    def run_of_parts(node: fx.Node) -> object:
        args, kwargs = execute.fetch_args_kwargs_from_env(node)
        if node.op == "get_attr" and node.target in held:
            return Parts.of_pairs(run_node(node))
        has_parts = any(isinstance(one, Parts) for one in _flat((args, *kwargs.values())))
        if node.op == "output" and has_parts:
            what = "a result is complex, which no function of npuflow returns"
            raise InputError(with_hint(what, "return torch.view_as_real of it"))
        if node.op == "call_function" and (has_parts or _is_complex(node.meta.get("val"))):
            return computed_of_parts(node.target, args, kwargs)
        return run_node(node)

    execute.run_node = run_of_parts
    made = torch.nn.Module()
    made.of, made.forward = module, execute.run
    return made


def _pairs_held_by(module: nn.Module) -> set[str]:
    """Makes the complex tensors that a module has pairs, and says which they are."""
    torch = loaded_torch()
    found = set()
    for name in {node.target for node in module.graph.nodes if node.op == "get_attr"}:
        owner, _, last = name.rpartition(".")
        inner = module.get_submodule(owner)
        value = getattr(inner, last)
        if _is_complex(value):
            delattr(inner, last)
            inner.register_buffer(last, torch.view_as_real(value.detach().resolve_conj()).contiguous())
            found.add(name)
    return found


def _is_complex(value: Any) -> bool:  # noqa: ANN401  (a tensor, several, or anything else)
    torch = loaded_torch()
    return any(isinstance(one, torch.Tensor) and one.is_complex() for one in _flat(value))


def _flat(value: object) -> list[object]:
    return [one for each in value for one in _flat(each)] if isinstance(value, (list, tuple)) else [value]

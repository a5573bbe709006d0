"""PyTorch modules and exported programs to `linalg` on tensors."""

from __future__ import annotations

from collections.abc import Container, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from npuflow.bindings import ir, load_torch_importer, new_torch_context
from npuflow.core.passes import ops_of
from npuflow.core.python_files import line_outside
from npuflow.errors import Diagnostic, InputError, NpuflowError, Severity, UsageError, with_hint
from npuflow.importing.arguments import check_call, check_inputs, keep_tensors, positional, types_of
from npuflow.importing.before_export import exportable
from npuflow.importing.decompositions import decomposed, name_listed_weights
from npuflow.importing.derivatives import exported
from npuflow.importing.input_types import ELEMENTS
from npuflow.importing.lowering import FROM_TORCH, lower
from npuflow.importing.module_ways import exportable_modules
from npuflow.importing.nothing import leave_out_nothing
from npuflow.importing.packages import first_words, load_package, loaded_torch, quietly
from npuflow.importing.structures import plain_structures
from npuflow.importing.uniform import fold_uniform
from npuflow.importing.updates import hold_buffers, note_updates, open_updates, write_slices
from npuflow.importing.weights import make_resource_hooks
from npuflow.importing.wide_bytes import widen_bytes

if TYPE_CHECKING:
    from torch import Tensor, dtype, nn
    from torch.export import ExportedProgram

DEFAULT_NAME = "main"
_PACKAGES = ("npuflow", "torch", "torch_mlir", "functorch", "sympy", "numpy")


def from_torch(
    module: nn.Module,
    inputs: Tensor | Sequence[object],
    name: str = DEFAULT_NAME,
    *,
    keywords: Mapping[str, object] | None = None,
    as_products: bool = False,
) -> ir.Module:
    """What a PyTorch module computes of an input, or inputs, like these, as a function of `linalg` on tensors.

    Inputs, and `keywords` by their names, are tensors, and lists, dictionaries and dataclasses of these; numbers are
    constants of what is computed, and `None` and numbers that a module returns are no results. The module is exported
    as it stands: `.eval()` leaves dropout out. Its weights are shared, not copied; they must not be changed as long as
    what is returned, or made of it, is used. `as_products` is for a module that `convert` gives a compute type: images
    are scaled, linearly or cubically, by products with constant matrices, and transposed convolutions multiply with
    zeros rather than to join results: f32 has no fast products. Raises InputError for what cannot be exported or
    lowered.
    """
    torch = load_package("torch", "importing a PyTorch module")
    if not isinstance(module, torch.nn.Module):
        raise UsageError(with_hint(f"the module is of type {type(module).__name__}", "give a torch.nn.Module"))
    if not isinstance(name, str) or not name:
        raise UsageError(with_hint(f"{name!r} is no name of a function", "give one, or leave it out"))
    given, named = positional(inputs), dict(keywords or {})
    check_inputs(given, named)
    try:
        with (
            quietly(),
            torch.no_grad(),
            exportable(),
            exportable_modules(),
            plain_structures(module, given, named) as call,
        ):
            program = exported(module, *call)
    except NpuflowError:
        raise
    except Exception as error:
        check_call(module, given, named)
        raise _refused("PyTorch cannot export this module", error, types_of(given, named)) from error
    return from_exported(program, name, as_products=as_products)


def from_exported(program: ExportedProgram, name: str = DEFAULT_NAME, *, as_products: bool = False) -> ir.Module:
    """The same for what `torch.export` has made, or loaded from a file.

    What it writes in place, buffers and inputs, are arguments that say which result they become.
    """
    _refuse_sizes_of_data(program)
    importer = load_torch_importer()
    _refuse_kinds(program, importer.TORCH_DTYPE_TO_MLIR_TYPE)
    context = new_torch_context()
    reader = importer.FxImporter(context=context, hooks=make_resource_hooks())
    try:
        with quietly():
            flat = decomposed(program, as_products)
            keep_tensors(flat)
            _refuse_random_numbers(flat)
            leave_out_nothing(flat.graph)
            fold_uniform(flat)
            write_slices(flat)
            updates = open_updates(flat)
            hold_buffers(flat)
            name_listed_weights(flat)
            widen_bytes(flat.graph)
            reader.import_frozen_program(flat, func_name=name)
    except NpuflowError:
        raise
    except Exception as error:
        raise _refused("torch-mlir cannot read this program", error) from error
    module: Any = reader.module
    lower(module, FROM_TORCH)
    (function,) = (op for op in ops_of(module.operation, "func.func") if op.opview.name.value == name)
    note_updates(function, updates)
    return module


def _refuse_sizes_of_data(program: ExportedProgram) -> None:
    """As elements that a mask chooses have them: torch-mlir ends the process with such, or takes all memory."""
    from torch.fx.experimental.symbolic_shapes import free_unbacked_symbols

    for node in program.graph.nodes:
        shape = getattr(node.meta.get("val"), "shape", ())
        if any(free_unbacked_symbols(size) for size in shape):
            raise InputError(
                with_hint(
                    f"how large '{node.name}' is depends on data",
                    "keep all elements and leave some out by `torch.where`, or choose a fixed number by their places",
                )
            )


def _refuse_kinds(program: ExportedProgram, known: Container[dtype]) -> None:
    """Tensors of types that torch-mlir has none for, as integers of 16 bits without a sign, and sparse ones.

    And floats of 8 bits, which nothing behind the import computes of.
    """
    torch = loaded_torch()
    for node in program.graph.nodes:
        value = node.meta.get("val")
        if not isinstance(value, torch.Tensor):
            continue
        if value.layout is not torch.strided:
            raise InputError(
                with_hint(f"'{node.name}' is sparse ({value.layout})", "make it dense by .to_dense() before")
            )
        if value.dtype not in known:
            what = f"'{node.name}' is of {value.dtype}, which torch-mlir has no type for"
            raise InputError(with_hint(what, f"use a type with a sign, or a float: types are {', '.join(ELEMENTS)}"))
        if value.dtype.is_floating_point and value.dtype.itemsize < 2:
            what = f"'{node.name}' is of {value.dtype}, which is not computed of"
            raise InputError(with_hint(what, "make it f16, bf16 or f32 before it is imported, weights too"))


def _refuse_random_numbers(program: ExportedProgram) -> None:
    """An array has no source of these; what draws them and isn't read is left out."""
    torch = load_package("torch", "importing an exported program")
    for node in program.graph.nodes:
        if torch.Tag.nondeterministic_seeded in getattr(node.target, "tags", ()) and node.users:
            raise InputError(
                with_hint(
                    f"'{node.name}' draws random numbers",
                    "give them as an input, and call .eval() where dropout is to be left out",
                )
            )


def _refused(what: str, error: Exception, inputs: str = "") -> InputError:
    """At the network's own line, if it is from one.

    A network's own errors, and tensors', as of sizes that don't match, are Python's; who cannot export something has
    others.
    """
    hint = "write that part of the network in another way"
    if inputs and type(error).__module__ == "builtins":
        hint = f"see whether PyTorch itself computes it of inputs like these, {inputs}; if it does, {hint}"
    if "when training" in str(error):
        hint = "call .eval() on it, which makes norms use what they have learned"
    if "DataDependent" in type(error).__name__:
        hint = "choose between tensors by `torch.where`, where data decides what is computed"
    said = with_hint(f"{what}: {first_words(error)}", hint)
    return InputError(Diagnostic(Severity.ERROR, said, line_outside(error, _PACKAGES)))

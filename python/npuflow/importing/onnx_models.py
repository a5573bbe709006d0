"""ONNX models to `linalg` on tensors."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from npuflow.bindings import ir, load_onnx_importer, new_torch_context
from npuflow.core.passes import ops_of
from npuflow.errors import InputError, NpuflowError, UsageError, with_hint
from npuflow.importing.input_types import InputType
from npuflow.importing.lowering import FROM_ONNX, UnknownOpsError, lower
from npuflow.importing.onnx_constants import work_out_constants
from npuflow.importing.onnx_crashes import lowered_apart
from npuflow.importing.onnx_functions import WITHOUT_LOWERING, with_functions_written_out
from npuflow.importing.onnx_kinds import check_kinds
from npuflow.importing.onnx_rewrites import rewrite_nodes
from npuflow.importing.packages import first_words, load_package, quietly
from npuflow.importing.weights import move_to_resources


def from_onnx(path: str, inputs: Sequence[InputType] = ()) -> ir.Module:
    """What an ONNX file computes; `inputs` say the sizes that it leaves open. Raises InputError."""
    onnx = load_package("onnx", "importing an ONNX model")
    with _failures_of(path), quietly():
        model = onnx.load(path)
        _fix_shapes(model, inputs)
        onnx.checker.check_model(model)
        inferred = _inferred(model)
    check_kinds(inferred)
    module = lowered_apart(inferred, lambda each: _lowered(path, each), path)
    move_to_resources(module)
    return module


def _lowered(path: str, model: Any) -> ir.Module:  # noqa: ANN401  (onnx has no types)
    """Of a model whose shapes have been inferred.

    Ops that torch-mlir doesn't have are the functions of other ops that ONNX itself says they are, if it does.
    """
    importer = load_onnx_importer()
    inferred = model
    with _failures_of(path), quietly():
        # One such function may be made of another one.
        while (written_out := with_functions_written_out(inferred, WITHOUT_LOWERING)) is not None:
            inferred = _inferred(written_out)
        while work_out_constants(inferred):
            inferred = _inferred(inferred)
        if rewrite_nodes(inferred):
            inferred = _inferred(inferred)
        info = importer.ModelInfo(inferred, config=importer.Config())
        module: Any = info.create_module(context=new_torch_context())
        importer.NodeImporter.define_function(info.main_graph, module.operation).import_all()
    try:
        lower(module, FROM_ONNX)
    except UnknownOpsError as error:
        with _failures_of(path), quietly():
            written_out = with_functions_written_out(inferred, error.names)
            inferred = written_out and _inferred(written_out)
        if inferred is None:
            raise
        return _lowered(path, inferred)
    if ops_of(module.operation, "ml_program.global_store"):  # the state of what draws numbers
        raise InputError(with_hint(f"'{path}' draws random numbers, which cannot be imported", "make them inputs"))
    return module


def _inferred(model: Any) -> Any:  # noqa: ANN401
    return load_package("onnx", "importing an ONNX model").shape_inference.infer_shapes(model, data_prop=True)


@contextmanager
def _failures_of(path: str) -> Iterator[None]:
    """What onnx or torch-mlir's importer raise of a file as an InputError."""
    try:
        yield
    except NpuflowError:
        raise
    except Exception as error:
        what = f"'{path}' cannot be imported: {first_words(error)}"
        raise InputError(with_hint(what, "check it with onnx.checker")) from error


def _fix_shapes(model: Any, inputs: Sequence[InputType]) -> None:  # noqa: ANN401  (onnx has no types)
    """Gives the model's inputs the sizes that are asked for."""
    weights = {one.name for one in model.graph.initializer}
    open_inputs = [one for one in model.graph.input if one.name not in weights]
    if inputs and len(inputs) != len(open_inputs):
        raise UsageError(with_hint(f"the model has {len(open_inputs)} inputs, {len(inputs)} are given", "give each"))
    for value, given in zip(open_inputs, inputs):
        dims = value.type.tensor_type.shape.dim
        if len(dims) != len(given.shape):
            raise UsageError(with_hint(f"input '{value.name}' has {len(dims)} dimensions, not {given}", "give as many"))
        for dim, size in zip(dims, given.shape):
            if dim.HasField("dim_value") and dim.dim_value != size:
                raise UsageError(
                    with_hint(f"input '{value.name}' has a size of {dim.dim_value}, not {size}", "leave it as it is")
                )
            dim.dim_value = size

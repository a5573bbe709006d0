"""Networks in, whatever they are written in: by the end of a file's name."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from npuflow.bindings import ir
from npuflow.errors import InputError, UsageError, with_hint
from npuflow.importing.input_types import InputType

KINDS = "MODULE.py:function, a .pt2 file of torch.export, or an .onnx file"


def import_network(source: str, inputs: Sequence[InputType] = (), *, as_products: bool = False) -> ir.Module:
    """A network as a module of `linalg` on tensors; raises InputError or UsageError.

    What PyTorch exports has images scaled by products where that is said, as is best for a compute type.
    """
    path, colon, name = source.rpartition(":")
    if colon and name and path.endswith(".py"):
        return _from_python(path, name, inputs, as_products)
    suffix = Path(source if name else path).suffix
    if suffix not in (".pt2", ".onnx"):
        hint = f"{source.rstrip(':')}:function" if suffix == ".py" else f"give {KINDS}"
        raise UsageError(with_hint(f"cannot tell what to import from '{source}'", hint))
    if not Path(source).is_file():
        raise InputError(with_hint(f"cannot open '{source}': no such file", "check the path"))
    if suffix == ".onnx":
        from npuflow.importing.onnx_models import from_onnx

        return from_onnx(source, inputs)
    if inputs:
        raise UsageError(with_hint("an exported program has its inputs' types", "leave --inputs out"))
    return _from_exported_file(source, as_products)


def _from_python(path: str, name: str, inputs: Sequence[InputType], as_products: bool) -> ir.Module:
    from npuflow.importing.python_networks import load_network
    from npuflow.importing.torch_programs import from_torch

    network = load_network(path, name, inputs)
    try:
        return from_torch(network.module, network.inputs, keywords=network.keywords, as_products=as_products)
    except InputError as error:
        raise InputError([replace(one, location=one.location or network.place) for one in error.diagnostics]) from error


def _from_exported_file(path: str, as_products: bool) -> ir.Module:
    from npuflow.importing.packages import first_words, load_package, quietly
    from npuflow.importing.torch_programs import from_exported

    torch = load_package("torch", "importing an exported program")
    try:
        with quietly():
            program = torch.export.load(path)
    except Exception as error:
        hint = "write it with torch.export.save, by a version of PyTorch that this one can read"
        raise InputError(with_hint(f"'{path}' is no exported program: {first_words(error)}", hint)) from error
    return from_exported(program, as_products=as_products)

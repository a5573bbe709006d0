"""The only module that imports MLIR: `torch_mlir` first, else a plain `mlir` package of the same layout.

Everything else says `from npuflow.bindings import ir, scf, ...`.
"""

from __future__ import annotations

import importlib
from types import ModuleType
from typing import TYPE_CHECKING

from npuflow.provider import find_provider

PROVIDER = find_provider()


def _load(path: str) -> ModuleType:
    try:
        return importlib.import_module(f"{PROVIDER}.{path}")
    except ImportError as error:
        raise ImportError(
            f"'{PROVIDER}.{path}' cannot be imported ({error}), so this MLIR build lacks what npuflow needs; "
            "hint: pip install --upgrade torch-mlir"
        ) from error


if TYPE_CHECKING:  # the bindings ship no types; a type checker sees modules full of Any
    from torch_mlir import ir as ir
    from torch_mlir import passmanager as passmanager
    from torch_mlir import rewrite as rewrite
    from torch_mlir.dialects import affine as affine
    from torch_mlir.dialects import arith as arith
    from torch_mlir.dialects import bufferization as bufferization
    from torch_mlir.dialects import ext as ext
    from torch_mlir.dialects import func as func
    from torch_mlir.dialects import irdl as irdl
    from torch_mlir.dialects import linalg as linalg
    from torch_mlir.dialects import math as math
    from torch_mlir.dialects import memref as memref
    from torch_mlir.dialects import scf as scf
    from torch_mlir.dialects import tensor as tensor
    from torch_mlir.dialects import transform as transform
    from torch_mlir.dialects.transform import interpreter as interpreter
else:
    ir = _load("ir")
    passmanager = _load("passmanager")
    rewrite = _load("rewrite")
    ext = _load("dialects.ext")
    irdl = _load("dialects.irdl")
    affine = _load("dialects.affine")
    arith = _load("dialects.arith")
    bufferization = _load("dialects.bufferization")
    func = _load("dialects.func")
    linalg = _load("dialects.linalg")
    math = _load("dialects.math")
    memref = _load("dialects.memref")
    scf = _load("dialects.scf")
    tensor = _load("dialects.tensor")
    transform = _load("dialects.transform")
    interpreter = _load("dialects.transform.interpreter")
_register = _load("_mlir_libs._mlirRegisterEverything")
_globals = _load("_mlir_libs._mlir").globals

# Dialects whose ops we make without having read one. Others are loaded with the first that is read, and by passes of
# MLIR that make them. All take a context four times as long, and each canonicalization looks through the ops of all.
_LOADED = ("affine", "arith", "bufferization", "func", "irdl", "linalg", "math", "memref", "scf", "tensor", "vector")


def load_execution_engine() -> ModuleType:
    """The JIT; loaded on demand since few commands need it."""
    return _load("execution_engine")


def load_runtime() -> ModuleType:
    """numpy <-> memref descriptors; loaded on demand with the JIT."""
    return _load("runtime")


def load_torch_importer() -> ModuleType:
    """What reads programs that PyTorch has exported; loads PyTorch. Only torch-mlir's package has it."""
    return _load("extras.fx_importer")


def load_torch_decompositions() -> ModuleType:
    """Which of PyTorch's ops are taken apart before torch-mlir reads them."""
    return _load("extras.fx_decomp_util")


def load_onnx_importer() -> ModuleType:
    """What reads ONNX models; loads the package `onnx`."""
    return _load("extras.onnx_importer")


def new_torch_context() -> ir.Context:
    """A context that knows the dialects in which torch-mlir's importers write, and what it makes of them."""
    context = ir.Context()
    _load("dialects.torch").register_dialect(context)
    return context


def find_dialects_in(package: str) -> None:
    """Says where MLIR finds modules of dialects: one that it doesn't find it looks for again at each attribute."""
    _globals.append_dialect_search_prefix(package)


def new_context() -> ir.Context:
    """A context that can read every upstream dialect, has those of programs, and knows every LLVM translation."""
    context = ir.Context(load_on_create_dialects=())
    if not _finds(context, "linalg"):
        registry = ir.DialectRegistry()
        _register.register_dialects(registry)
        context.append_dialect_registry(registry)
        _register.register_llvm_translations(context)
    for name in _LOADED:
        context.get_dialect_descriptor(name)
    _load_exporters_dialect(context)
    return context


def _finds(context: ir.Context, dialect: str) -> bool:
    """Loads a dialect if a context knows it."""
    try:
        context.get_dialect_descriptor(dialect)
    except ValueError:
        return False
    return True


def _load_exporters_dialect(context: ir.Context) -> None:
    """Lets a context know `tm_tensor`, in which PyTorch's exporter says what linalg cannot: by a pass that makes it."""
    if PROVIDER != "torch_mlir":
        return
    _load("_mlir_libs._torchMlir")
    with context, ir.Location.unknown():
        manager = passmanager.PassManager.parse("builtin.module(func.func(convert-torch-to-tmtensor))")
        manager.run(ir.Module.parse("func.func private @nothing()").operation)

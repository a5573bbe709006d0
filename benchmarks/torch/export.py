#!/usr/bin/env python3
"""Writes the models of this folder as MLIR files, one per model and type: what torch-mlir makes of them, as it stands.

Needs PyTorch beside npuflow (`pip install torch`). Weights are the file's constants, as users export them.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

import blocks
import layers
import networks
import torch
from model import Model
from torch import Tensor, nn

import npuflow
from npuflow.errors import NpuflowError

MODELS = (*layers.MODELS, *blocks.MODELS, *networks.MODELS)
TYPES = {"f32": torch.float32, "bf16": torch.bfloat16, "f16": torch.float16}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("directory", type=Path)
    parser.add_argument("--types", default="f32", help="comma-separated: f32, bf16, f16")
    parser.add_argument("--only", default="", help="models whose name has this in it")
    arguments = parser.parse_args()
    arguments.directory.mkdir(parents=True, exist_ok=True)
    failed = 0
    for name in arguments.types.split(","):
        for model in MODELS:
            if arguments.only in model.name:
                failed += not export(model, name, arguments.directory)
    return 1 if failed else 0


def export(model: Model, type_name: str, directory: Path) -> bool:
    """Writes one file; where torch-mlir can't, says why."""
    path = directory / f"{file_name(model)}.{type_name}.mlir"
    try:
        path.write_text(text_of(model, TYPES[type_name]))
    except NpuflowError as error:
        print(f"{path.name}: not exported: {error.diagnostics[0].message}", file=sys.stderr)
        return False
    return True


def file_name(model: Model) -> str:
    return "".join(c if c.isalnum() else "_" for c in model.name)


def text_of(model: Model, kind: torch.dtype) -> str:
    torch.manual_seed(0)
    module = cast(model.make(), kind)
    inputs = tuple(each.to(kind) if each.is_floating_point() else each for each in model.inputs())
    return str(npuflow.from_torch(module, inputs))


def cast(module: nn.Module, kind: torch.dtype) -> nn.Module:
    """The module with its floats in another type, those that it keeps beside its parameters as well."""
    for inner in module.modules():
        for name, value in vars(inner).items():
            if isinstance(value, Tensor) and value.is_floating_point():
                setattr(inner, name, value.to(kind))
    return module.to(kind)


if __name__ == "__main__":
    sys.exit(main())

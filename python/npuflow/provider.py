"""Which package MLIR's Python bindings come from, and what it says of itself, without loading it."""

from __future__ import annotations

import importlib.util
import mmap
import re
import struct
from dataclasses import dataclass
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

PROVIDERS = ("torch_mlir", "mlir")

_DISTRIBUTIONS = {"torch_mlir": "torch-mlir", "mlir": "mlir-python-bindings"}
_REVISION = re.compile(rb"\b(\d+\.\d+\.\d+[\w.]*) \(?([0-9a-f]{40})")
# The header of a 64-bit little-endian ELF file: where its table of sections is, and how large and many its entries are.
_ELF, _ELF_HEADER, _SECTION = b"\x7fELF\x02\x01", struct.Struct("<40xQ10xHHH"), struct.Struct("<IIQQQQ24x")


@cache
def find_provider() -> str:
    """The first of PROVIDERS that is installed; raises ImportError where none is."""
    for name in PROVIDERS:
        if importlib.util.find_spec(name) is None:
            continue
        if importlib.util.find_spec(f"{name}.ir") is not None:
            return name
    raise ImportError(
        "npuflow needs MLIR's Python bindings, and neither 'torch_mlir' nor 'mlir' is importable; "
        "hint: pip install torch-mlir"
    )


def distribution_text() -> str:
    """`torch-mlir 20261001`."""
    provider = find_provider()
    distribution = _DISTRIBUTIONS[provider]
    try:
        return f"{distribution} {version(distribution)}"
    except PackageNotFoundError:
        return f"{provider} of unknown version"


def libraries() -> list[Path]:
    """The shared libraries that MLIR itself is in."""
    spec = importlib.util.find_spec(f"{find_provider()}._mlir_libs")
    folders = spec.submodule_search_locations if spec is not None else None
    return sorted(library for folder in folders or () for library in Path(folder).glob("lib*CAPI*.so*"))


@dataclass(frozen=True)
class LlvmBuild:
    """LLVM's version, and the revision that it was built from."""

    number: str = "of unknown version"
    revision: str = "unknown"


def llvm_build() -> LlvmBuild:
    """What stands in MLIR's library, `24.0.0git 10dbfc48…`: loading it to ask takes ten times as long."""
    for library in libraries():
        with library.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as data:
            begin, end = _constants(data)
            if found := _REVISION.search(data, begin, end):
                return LlvmBuild(found[1].decode(), found[2].decode())
    return LlvmBuild()


def _constants(data: mmap.mmap) -> tuple[int, int]:
    """Where texts are in a library, `.rodata`: a twentieth of its 200 MiB. The whole where it is built otherwise."""
    whole = (0, len(data))
    if data[:6] != _ELF or len(data) < _ELF_HEADER.size:
        return whole
    table, size, count, names = _ELF_HEADER.unpack_from(data)
    if size < _SECTION.size or names >= count or table + size * count > len(data):
        return whole
    sections = [_SECTION.unpack_from(data, table + size * i) for i in range(count)]
    for name, _, _, _, begin, length in sections:
        at = sections[names][4] + name
        if data[at : at + len(b".rodata\0")] == b".rodata\0" and begin + length <= len(data):
            return begin, begin + length
    return whole

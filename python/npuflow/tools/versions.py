"""What `--version` says."""

from __future__ import annotations

import npuflow
from npuflow.provider import distribution_text, llvm_build


def version_text() -> str:
    """Our version, that of the package MLIR comes from, and LLVM's version and revision; nothing of MLIR is loaded."""
    build = llvm_build()
    return (
        f"npuflow {npuflow.__version__}\n"
        f"MLIR from {distribution_text()}\n"
        f"LLVM {build.number}, revision {build.revision}"
    )

"""Running MLIR's own passes from inside of a pass."""

from __future__ import annotations

from npuflow.bindings import ir, passmanager


def run_upstream(op: ir.Operation, passes: str) -> None:
    """Runs `passes`, a pipeline text such as `canonicalize,cse`, on `op`, unverified: that follows the pass around it."""
    manager = passmanager.PassManager("any")
    manager.add(passes)
    manager.enable_verifier(False)
    manager.run(op)

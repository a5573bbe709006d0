"""Running MLIR's own passes from inside of a pass."""

from __future__ import annotations

from npuflow.bindings import ir, passmanager


def run_upstream(op: ir.Operation, passes: str) -> None:
    """Runs `passes`, as `canonicalize,cse`, on `op`; it is verified when the pass around it is done."""
    manager = passmanager.PassManager("any")
    manager.add(passes)
    manager.enable_verifier(False)
    manager.run(op)

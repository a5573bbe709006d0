"""What it saves to reshape lines of pixels to images, on devices whose matrix instructions take patches."""

from __future__ import annotations

from npuflow.compiler.compiled_function import CompiledFunction
from npuflow.report.losses import with_kernels
from npuflow.report.measures import Reshapes
from npuflow.simulate.run import simulate


def measure_reshapes(function: CompiledFunction) -> Reshapes | None:
    """Simulates the function once with its pixels as they lie; None where none are reshaped."""
    kernels = function.reshapes()
    if not kernels:
        return None
    before = {name: reshape.cycles_before for name, reshape in kernels.items()}
    return Reshapes(simulate(with_kernels(function, before.get)).cycles, kernels)

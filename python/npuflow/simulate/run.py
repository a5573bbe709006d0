"""Running a program: for its times alone, or with its data."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from npuflow import _native
from npuflow.errors import InputError, unknown_name, with_hint
from npuflow.execute.arena import Arena
from npuflow.execute.limits import ProgramFailedError, limits_in_force
from npuflow.execute.meter import meter_in_force
from npuflow.execute.sandbox import run_in_child
from npuflow.simulate.encode import Encoded, encode
from npuflow.simulate.encode_alike import EncodedModel
from npuflow.simulate.kernels import Abi, KernelFunction
from npuflow.simulate.program import Program
from npuflow.simulate.results import RunResults, decode

# All bits set: not a number in every float type, and unlikely as an integer.
POISON = 0xFF

# Every engine keeps what it knows of every other.
_MOST_ENGINES = 4096


class DeadlockError(InputError):
    """Engines wait for each other; the message says who for whom."""


@dataclass(frozen=True)
class RunLimits:
    """What a run may cost before it is refused: steps (about 10 to 50 million a second) and events in a trace."""

    steps: int = 2_000_000_000
    trace_events: int = 1_000_000


DEFAULT_RUN_LIMITS = RunLimits()


@dataclass(frozen=True)
class Executed:
    """A functional run: its results, and every memory's bytes at the end."""

    results: RunResults
    memories: Mapping[str, NDArray[np.uint8]]


def simulate(
    program: Program, *, trace: bool = False, limits: RunLimits = DEFAULT_RUN_LIMITS, skips_repeats: bool = True
) -> RunResults:
    """Times a program without moving data; raises InputError for one that is wrong, DeadlockError if it gets stuck.

    What repeats itself is counted, and costs no steps; results are the same without that.
    """
    encoded = encode(program)
    native = _run(encoded.native, trace, limits, None, skips_repeats=skips_repeats)
    return decode(program, encoded, native, traced=trace)


def cycles_of_run(program: Program) -> int:
    """How long a program takes, if nothing else is of interest; raises what `simulate` does."""
    return _run(encode(program).native, False, DEFAULT_RUN_LIMITS, None).cycles


def cycles_like(model: EncodedModel, program: Program) -> int:
    """How long a program takes that differs little from one that is encoded."""
    return _run(model.native_of(program), False, DEFAULT_RUN_LIMITS, None).cycles


def execute(
    program: Program,
    inputs: Mapping[str, NDArray[np.generic]],
    kernels: Mapping[str, KernelFunction],
    *,
    trace: bool = False,
    limits: RunLimits = DEFAULT_RUN_LIMITS,
    what: str = "the functional run",
) -> Executed:
    """Runs a program with its data: the same events and times as `simulate`, and bytes that really move.

    `inputs` are the memories that hold data from the start; all others begin poisoned. What looks wrong on the way is
    in `results.hazards`. Kernels that aren't ours run in a child process, under limits; messages call it `what`.
    """
    if len(program.engines) > _MOST_ENGINES:
        what = f"the program has {len(program.engines)} engines, a functional run at most {_MOST_ENGINES}"
        raise InputError(with_hint(what, "use `simulate`, or a smaller part of the array"))
    encoded = encode(program)
    _check_inputs(program, inputs)
    limits_in_force().require(_data_bytes(program, encoded), what)
    arena = Arena([(memory.bytes, POISON) for memory in program.memories])
    memories = {memory.name: piece for memory, piece in zip(program.memories, arena.pieces, strict=True)}
    for name, array in inputs.items():
        memories[name][:] = np.ascontiguousarray(array).reshape(-1).view(np.uint8)
    names = encoded.native.kernels
    functions = [_function(name, kernels) for name in names]
    with meter_in_force().run() as done:
        data = _native.Data(arena.pieces, [name in inputs for name in memories], functions, done)

        def run() -> _native.RawResults:
            return _run(encoded.native, trace, limits, data)

        native = run() if all(kernels[name].ours for name in names) else run_in_child(run, what)
    overrun = arena.overrun([f"memory '{name}'" for name in memories])
    if overrun is not None:
        raise ProgramFailedError(f"{what} wrote {overrun}")
    return Executed(decode(program, encoded, native, traced=trace), memories)


def needed_bytes(program: Program) -> int:
    """What a functional run takes: the memories, and what watches who touches them."""
    return _data_bytes(program, encode(program))


def _data_bytes(program: Program, encoded: Encoded) -> int:
    return sum(memory.bytes for memory in program.memories) + encoded.native.watching_bytes()


def _run(
    program: _native.ProgramBuilder,
    trace: bool,
    limits: RunLimits,
    data: _native.Data | None,
    *,
    skips_repeats: bool = True,
) -> _native.RawResults:
    events = limits.trace_events if trace else 0
    try:
        return _native.simulate(program, limits.steps, events, data, skips_repeats)
    except _native.Deadlock as error:
        raise DeadlockError(str(error)) from error
    except _native.Fault as error:
        raise InputError(str(error)) from error


def _check_inputs(program: Program, inputs: Mapping[str, NDArray[np.generic]]) -> None:
    sizes = {memory.name: memory.bytes for memory in program.memories}
    for name, array in inputs.items():
        if name not in sizes:
            raise InputError(unknown_name("memory", name, sizes))
        if array.nbytes != sizes[name]:
            what = f"memory '{name}' has {sizes[name]} bytes, its data {array.nbytes}"
            raise InputError(with_hint(what, "give an array of the memory's size"))


def _function(name: str, kernels: Mapping[str, KernelFunction]) -> tuple[int, bool]:
    if name not in kernels:
        raise InputError(with_hint(f"kernel '{name}' has no function", f"there are {', '.join(kernels) or 'none'}"))
    return kernels[name].address, kernels[name].abi is Abi.MEMREFS

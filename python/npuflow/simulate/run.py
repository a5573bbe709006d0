"""Running a program: for its times alone, or with its data."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from npuflow import _native
from npuflow.errors import InputError, unknown_name, with_hint
from npuflow.simulate.encode import Encoded, encode
from npuflow.simulate.kernels import Abi, KernelFunction
from npuflow.simulate.program import Program
from npuflow.simulate.results import Results, decode

# All bits set: not a number in every float type, and unlikely as an integer.
POISON = 0xFF

# Watching who touched a byte takes up to 25 bytes more.
_MOST_DATA_BYTES = 256 << 20

# Every engine keeps what it knows of every other.
_MOST_ENGINES = 4096


class DeadlockError(InputError):
    """Engines wait for each other; the message says who for whom."""


@dataclass(frozen=True)
class RunLimits:
    """What a run may cost before it is refused: steps (about 10 to 50 million a second) and events in a trace."""

    steps: int = 2_000_000_000
    trace_events: int = 1_000_000


DEFAULT_LIMITS = RunLimits()


@dataclass(frozen=True)
class Executed:
    """A functional run: its results, and every memory's bytes at the end."""

    results: Results
    memories: Mapping[str, NDArray[np.uint8]]


def simulate(program: Program, *, trace: bool = False, limits: RunLimits = DEFAULT_LIMITS) -> Results:
    """Times a program without moving data; raises InputError for one that is wrong, DeadlockError if it gets stuck."""
    encoded = encode(program)
    return decode(program, encoded, _run(encoded, trace, limits, None), traced=trace)


def execute(
    program: Program,
    inputs: Mapping[str, NDArray[np.generic]],
    kernels: Mapping[str, KernelFunction],
    *,
    trace: bool = False,
    limits: RunLimits = DEFAULT_LIMITS,
) -> Executed:
    """Runs a program with its data: the same events and times as `simulate`, and bytes that really move.

    `inputs` are the memories that hold data from the start; all others begin poisoned. What looks wrong on the way is
    in `results.hazards`.
    """
    if len(program.engines) > _MOST_ENGINES:
        what = f"the program has {len(program.engines)} engines, a functional run at most {_MOST_ENGINES}"
        raise InputError(with_hint(what, "use `simulate`, or a smaller part of the array"))
    encoded = encode(program)
    memories = _memories(program, inputs)
    written = [memory.name in inputs for memory in program.memories]
    functions = [_function(name, kernels) for name in encoded.kernels]
    data = _native.Data(list(memories.values()), written, functions)
    results = decode(program, encoded, _run(encoded, trace, limits, data), traced=trace)
    return Executed(results, memories)


def _run(encoded: Encoded, trace: bool, limits: RunLimits, data: _native.Data | None) -> _native.Results:
    try:
        return _native.simulate(encoded.native, limits.steps, limits.trace_events if trace else 0, data)
    except _native.Deadlock as error:
        raise DeadlockError(str(error)) from error
    except _native.Fault as error:
        raise InputError(str(error)) from error


def _memories(program: Program, inputs: Mapping[str, NDArray[np.generic]]) -> dict[str, NDArray[np.uint8]]:
    sizes = {memory.name: memory.bytes for memory in program.memories}
    for name, array in inputs.items():
        if name not in sizes:
            raise InputError(unknown_name("memory", name, sizes))
        if array.nbytes != sizes[name]:
            what = f"memory '{name}' has {sizes[name]} bytes, its data {array.nbytes}"
            raise InputError(with_hint(what, "give an array of the memory's size"))
    total = sum(sizes.values())
    if total > _MOST_DATA_BYTES:
        what = f"the memories take {total} bytes, more than {_MOST_DATA_BYTES}"
        raise InputError(with_hint(what, "use `simulate`, which needs no data, or a smaller problem"))
    return {name: _image(size, inputs.get(name)) for name, size in sizes.items()}


def _image(size: int, data: NDArray[np.generic] | None) -> NDArray[np.uint8]:
    if data is None:
        return np.full(size, POISON, np.uint8)
    return np.frombuffer(np.ascontiguousarray(data).tobytes(), np.uint8).copy()


def _function(name: str, kernels: Mapping[str, KernelFunction]) -> tuple[int, bool]:
    if name not in kernels:
        raise InputError(with_hint(f"kernel '{name}' has no function", f"there are {', '.join(kernels) or 'none'}"))
    return kernels[name].address, kernels[name].abi is Abi.MEMREFS

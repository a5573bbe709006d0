"""Mutation testing of verification: programs and schedules that are broken on purpose, and what is said of them.

A mutant counts if it computes something else: one whose results agree with the unbroken program's on other data as well
is no fault. What then passes as right is a survivor.
"""

from __future__ import annotations

import random
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from enum import Enum
from functools import partial
from typing import TypeVar

import numpy as np

from npuflow.api.entry import compile  # noqa: A004
from npuflow.bindings import ir
from npuflow.compiler.compiled_function import CompiledFunction, execute_function
from npuflow.compiler.execute_wide import execute_wide
from npuflow.compiler.sequence import CompiledSequence, execute_sequence
from npuflow.compiler.verify_function import verify_function
from npuflow.core.expansion import Expansion, expand
from npuflow.core.parsing import parse
from npuflow.core.pipeline_text import parse_pipeline
from npuflow.core.runner import Runner
from npuflow.dialect.context import new_context
from npuflow.errors import InputError
from npuflow.execute.arrays import Array, functions_of, signature_of
from npuflow.execute.bounds import observed_arrays, wide_inputs
from npuflow.execute.clone import spell_out
from npuflow.execute.data import Draw, arrays_for
from npuflow.execute.jit import compile_function
from npuflow.execute.references import Reference, make_reference
from npuflow.execute.verification import Status, check
from npuflow.execute.widen import widened
from npuflow.simulate.flatten import flatten
from npuflow.testing.ir_mutators import FaultClass, Mutant, mutants_of
from npuflow.testing.schedule_mutators import ScheduleMutant, schedule_mutants_of

_OTHER_SEEDS, _OTHER_DRAWS = (1, 2), (Draw.FULL, Draw.POSITIVE)
# Results in 64 bits that differ by less were summed in another order.
_NEAR = 1e-11
Run = Callable[[Sequence[Array]], Sequence[Array]]
AnyMutant = TypeVar("AnyMutant", Mutant, ScheduleMutant)


class MutantStatus(Enum):
    """What became of a mutant."""

    CAUGHT = "caught"
    SURVIVED = "survived"
    EQUIVALENT = "computes the same"
    INVALID = "no program"


@dataclass(frozen=True)
class Trial:
    """One mutant and what verification said."""

    fault: FaultClass
    mutant: str
    outcome: MutantStatus
    said: str = ""


@dataclass(frozen=True)
class MutationSubject:
    """A program, for which device and by which pipeline; `most` mutants are tried per fault and stage."""

    text: str
    device: str = "npu1"
    pipeline: str = "npuflow-stream-k"
    most: int = 2
    seed: int = 0

    def module(self) -> ir.Module:
        return parse(self.text, new_context())

    def reference(self) -> Reference:
        module = self.module()
        return make_reference(module.operation, next(functions_of(module.operation)), self.seed)


def trials(subject: MutationSubject) -> Iterator[Trial]:
    """Mutants of the program as it came, as it is when all is bufferized, and of its schedule."""
    reference = subject.reference()
    for module in (_spelled_out(subject), _bufferized(subject)):
        for mutant in _some(mutants_of(module), subject):
            yield _ir_trial(mutant, module, reference, subject)
    compiled = compile(subject.text, subject.pipeline, device=subject.device)
    (whole, *_) = compiled.sequences or compiled.functions
    yield from _schedule_trials(whole.compiled, reference, subject)


def _spelled_out(subject: MutationSubject) -> ir.Module:
    module = subject.module()
    with module.context:
        spell_out(module)
    return module


def _bufferized(subject: MutationSubject) -> ir.Module:
    module = subject.module()
    nest = expand(parse_pipeline(subject.pipeline), Expansion(device=subject.device))
    Runner(nest).run(module)
    return module


def _some(mutants: Sequence[AnyMutant], subject: MutationSubject) -> list[AnyMutant]:
    """As many of each kind as the subject asks for."""
    by_kind: defaultdict[tuple[FaultClass, str], list[AnyMutant]] = defaultdict(list)
    for mutant in mutants:
        by_kind[mutant.fault, mutant.mutator.name].append(mutant)
    chosen = random.Random(subject.seed)
    return [m for group in by_kind.values() for m in chosen.sample(group, min(subject.most, len(group)))]


def _ir_trial(mutant: Mutant, module: ir.Module, reference: Reference, subject: MutationSubject) -> Trial:
    try:
        broken = mutant.applied(module)
        broken.operation.verify()
    except (InputError, ir.MLIRError) as error:
        return Trial(mutant.fault, str(mutant), MutantStatus.INVALID, str(error).splitlines()[0])
    found = check(broken.operation, reference)
    if found.status is Status.SKIPPED:
        return Trial(mutant.fault, str(mutant), MutantStatus.INVALID, str(found))
    runs = [partial(_run_ir, one, reference) for one in (module, broken)]
    return _judged(mutant, found.status, str(found), runs, subject)


def _run_ir(module: ir.Module, reference: Reference, inputs: Sequence[Array]) -> Sequence[Array]:
    """What a module computes, in 64 bits if it has floats."""
    if reference.has_floats:
        module, inputs = widened(module.operation, reference.name), wide_inputs(inputs)
    execution = compile_function(module.operation, reference.name).run(inputs)
    return observed_arrays(reference.signature, execution)


def _schedule_trials(
    function: CompiledFunction | CompiledSequence, reference: Reference, subject: MutationSubject
) -> Iterator[Trial]:
    parts = [function] if isinstance(function, CompiledFunction) else list(function.parts.values())
    for part in parts:
        for mutant in _some(schedule_mutants_of(part.schedule), subject):
            schedule = mutant.applied(part.schedule)
            broken = replace(part, schedule=schedule, program=flatten(schedule, part.device))
            whole: CompiledFunction | CompiledSequence = broken
            if isinstance(function, CompiledSequence):
                whole = replace(function, parts={**function.parts, part.name: broken})
            try:
                found_here = verify_function(whole, reference)
            except InputError as error:
                yield Trial(mutant.fault, str(mutant), MutantStatus.CAUGHT, error.diagnostics[0].message)
                continue
            runs = [partial(_run_schedule, one, reference) for one in (function, whole)]
            said = "; ".join([found_here.message, *found_here.hazards[:1]])
            yield _judged(mutant, found_here.status, said, runs, subject)


def _run_schedule(
    function: CompiledFunction | CompiledSequence, reference: Reference, inputs: Sequence[Array]
) -> Sequence[Array]:
    if reference.has_floats:
        return execute_wide(function, wide_inputs(inputs))
    if isinstance(function, CompiledFunction):
        return execute_function(function, inputs).outputs
    return execute_sequence(function, inputs).outputs


def _judged(
    mutant: Mutant | ScheduleMutant, status: Status, said: str, runs: Sequence[Run], subject: MutationSubject
) -> Trial:
    """A mutant that isn't called wrong survives, unless it computes the same on other data too."""
    if status is Status.WRONG:
        return Trial(mutant.fault, str(mutant), MutantStatus.CAUGHT, said)
    module = subject.module()
    function = next(functions_of(module.operation))
    specs = signature_of(function).inputs
    drawn = (arrays_for(function, specs, seed, draw) for seed in _OTHER_SEEDS for draw in _OTHER_DRAWS)
    same = [_are_same(*(run(inputs) for run in runs)) for inputs in drawn]
    if all(same):
        return Trial(mutant.fault, str(mutant), MutantStatus.EQUIVALENT, said)
    told = f"{said} on this data, {same.count(False)} of {len(same)} other draws tell"
    return Trial(mutant.fault, str(mutant), MutantStatus.SURVIVED, told)


def _are_same(before: Sequence[Array], after: Sequence[Array]) -> bool:
    return all(np.allclose(*pair, rtol=_NEAR, atol=0.0, equal_nan=True) for pair in zip(before, after, strict=True))

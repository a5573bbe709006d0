"""Other ways to compile functions in parts, tried once all is planned: what is faster is taken."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace

from npuflow.compiler.compilation import Batch, Compilation, Split
from npuflow.compiler.compiled import Sequence as PartSequence
from npuflow.compiler.core_loads import load_seconds_of
from npuflow.compiler.functions import before_strategies
from npuflow.compiler.moved_parts import MovedPart, faster_parts, moved_parts
from npuflow.compiler.regroupings import Regrouping, regroupings
from npuflow.compiler.sources import FunctionSource
from npuflow.compiler.units import UnitCompiler
from npuflow.compiler.without_refused import regrouped
from npuflow.errors import InputError
from npuflow.execute.limits import UNLIMITED, limited
from npuflow.execute.sandbox import begun_in_child
from npuflow.network.decisions import Decision
from npuflow.ops.estimated import estimated_of

# What fits as a whole comes apart where that takes so much less behind the launch: parts are more to read.
_CLEARLY = 0.95
# So often it is tried whether fewer cores are faster yet that are loaded one by one, and whether other groups are.
_MOST_TRIES, _MOST_REGROUPED = 3, 2
# Functions of so many parts are compiled without fusion as well: where that is soon done, estimates don't decide.
_FEW_PARTS = 12


# What may be told parts, by their names, and what of that made functions faster, by theirs.
_Moved = Mapping[str, MovedPart]
_Winners = Mapping[str, Sequence[_Moved]]


@dataclass(frozen=True)
class Tries:
    """Other compilations of functions that were compiled; those that are faster are taken over by the `work`."""

    work: Compilation

    def come_apart(self, sources: Sequence[FunctionSource]) -> None:
        """Takes those of several groups, which fit as a whole, in parts where that is faster.

        All groups of a whole have one array: to set up its columns may take longer than what a small group does.
        """
        work = self.work
        if work.prefix is None or work.split is not Split.IF_FASTER or Decision.PHASES not in work.how.decided:
            return
        for source in sources:
            if source.name not in work.functions or not work.has_several_groups(source.name):
                continue
            other = work.apart(work.taken)
            with suppress(InputError):  # of what can't be compiled in parts, or never ends, others will say so
                if other.fits_in_parts(source):
                    self._takes_apart(source.name, other, other.sequence(source.name))

    def _takes_apart(self, name: str, other: Compilation, apart: PartSequence) -> bool:
        """Takes another one's parts of a function that fits as a whole, where these are clearly faster."""
        whole = self.work.functions[name]
        seconds, launch = whole.simulate().seconds, whole.compiled.launch_us * 1e-6
        is_faster = apart.seconds - launch < _CLEARLY * (seconds - launch)
        if is_faster:
            del self.work.functions[name]
            self.work.take_parts(name, other, f"as a whole it takes {seconds * 1e6:.4g} us")
        return is_faster

    def improved(self, batch: Batch, firsts: Mapping[str, str]) -> Batch:
        """The same with what is faster by what parts take once all is planned.

        While other groups are tried here, a fork maps parts for DRAM as if none were faster.
        """
        asked = [(one, found) for one in self._regrouped(batch) if (found := self._regroupings(one))]
        with self._mapped_ahead(batch, beside=bool(asked)) as mapped:
            before = batch
            batch = self.work.batch(firsts) if self.regroup(asked) else batch
            ahead = mapped() if batch is before else None
        batch = self.work.batch(firsts) if self.map_for_dram(batch, ahead) else batch
        return self.work.batch(firsts) if self.set_up_less(batch) else batch

    @contextmanager
    def _mapped_ahead(self, batch: Batch, *, beside: bool) -> Iterator[Callable[[], _Winners | None]]:
        """What is faster mapped for DRAM, once it is asked for; None where that isn't found `beside` other tries."""
        jobs = self.work.compiler.jobs
        if jobs == 1 or not beside or not any(map(self._moved_parts, self._mapped(batch))):
            yield lambda: None
            return

        def found() -> _Winners:
            self.work.compiler.jobs = 1
            return {before.name: self._map_for_dram(before) for before in self._mapped(batch)}

        with begun_in_child(found, "mapping for DRAM") as told:

            def winners() -> _Winners | None:
                with limited(UNLIMITED), suppress(Exception):
                    return told()
                return None

            self.work.compiler.jobs = jobs - 1
            try:
                yield winners
            finally:
                self.work.compiler.jobs = jobs

    def set_up_less(self, batch: Batch) -> bool:
        """Whether functions take less time with parts that less is set up for, where plans wait long for that."""
        found = [self._set_up_less(before) for before in batch.sequences if not before.like]
        return any(found)

    def _set_up_less(self, before: PartSequence) -> bool:
        """Whether a function does; where each core is loaded by itself it is tried as long as that gains much."""
        name, start, is_one_by_one = before.name, before, self._loads_one_by_one(before.name)
        is_decided = (Decision.CORES if is_one_by_one else Decision.TRIES) in self.work.how.decided
        for _ in range(_MOST_TRIES if is_one_by_one else 1):
            loads = load_seconds_of(before) if is_decided else {}
            if not loads:
                break
            other = self._told(name, loads, self.work.moved)
            if other is None or (found := other.sequence(name)).seconds >= before.seconds:
                break
            self.work.replace_parts(name, other)
            gains_much, before = found.seconds <= _CLEARLY * before.seconds, found
            if not gains_much:
                break
        return before is not start

    def map_for_dram(self, batch: Batch, ahead: _Winners | None = None) -> bool:
        """Whether functions take less time with parts mapped for DRAM whose tensors don't stay on the chip.

        What is known `ahead` to be faster is taken without trying what isn't.
        """
        if ahead is not None:
            found = [self._take_told(name, told) for name, winners in ahead.items() for told in winners]
        else:
            found = [bool(self._map_for_dram(before)) for before in self._mapped(batch)]
        return any(found)

    def _mapped(self, batch: Batch) -> list[PartSequence]:
        """Those of which parts may be mapped for DRAM."""
        is_decided = {Decision.PHASES, Decision.TRIES} <= self.work.how.decided
        return [one for one in batch.sequences if is_decided and not one.like]

    def _moved_parts(self, sequence: PartSequence) -> _Moved:
        return moved_parts(sequence, self.work.cuts[sequence.name].calls)

    def _map_for_dram(self, start: PartSequence) -> list[_Moved]:
        """What made a function faster, the best last; what got slower is mapped as before in another try."""
        name, best, calls = start.name, start, self.work.cuts[start.name].calls
        told, winners = self._moved_parts(start), list[_Moved]()
        for number in range(_MOST_TRIES):
            other = self._told(name, {}, told) if told else None
            if other is None:
                break
            found = other.sequence(name)
            faster = faster_parts(told, start, found, calls)
            is_better = found.seconds < best.seconds
            if is_better:
                self.work.replace_parts(name, other)
                best = found
                winners.append(told)
            if len(faster) == len(told) or not (is_better or number == 0):
                break
            told = faster
        return winners

    def _take_told(self, name: str, told: _Moved) -> bool:
        """Maps parts for DRAM that are known to be faster so."""
        other = self._told(name, {}, told)
        if other is not None:
            self.work.replace_parts(name, other)
        return other is not None

    def unfuse(self, batch: Batch, sources: Sequence[FunctionSource]) -> bool:
        """Whether small functions take less time with no groups as one."""
        if self.work.how.unfused is None or not self._tries_groups:
            return False
        sequences = {one.name: one for one in batch.sequences}
        found = [self._unfuse(source, sequences.get(source.name)) for source in sources]
        return any(found)

    def _unfuse(self, source: FunctionSource, before: PartSequence | None) -> bool:
        """Whether one does: by its parts, if it has few, or as a whole of several groups."""
        name = source.name
        if before is None and (self.work.split is not Split.IF_FASTER or not self.work.has_several_groups(name)):
            return False
        if before is not None and len(before.parts) > _FEW_PARTS:
            return False
        other = self._without_fusion(name)
        try:
            if not other.fits_in_parts(source):
                return False
            (found,) = Tries(other).improved(other.batch({name: name}), {name: name}).sequences
        except InputError:  # of what never ends, say
            return False
        if before is not None and found.seconds < before.seconds:
            reason = f"{self.work.reasons[name]}; with groups as one it takes {before.seconds * 1e6:.4g} us"
            self.work.replace_parts(name, other, reason)
            return True
        return before is None and self._takes_apart(name, other, found)

    def _without_fusion(self, name: str) -> Compilation:
        """What compiles a function in parts that are a group each, of which nobody may hear."""
        work, pipeline = self.work, self.work.how.unfused
        assert pipeline is not None, "it may be tried"
        how = replace(work.how, pipeline=pipeline, unfused=None, decided=work.how.decided - {Decision.FUSION})
        other = work.apart(work.taken - (work.cuts[name].kinds.keys() if name in work.cuts else set()))
        compiler = UnitCompiler(how, other.sink, work.compiler.jobs)
        return replace(other, how=how, prefix=before_strategies(pipeline), compiler=compiler)

    def _told(self, name: str, loads: Mapping[str, float], moved: Mapping[str, MovedPart]) -> Compilation | None:
        """Another compilation of a function whose parts know this; None where they take as long as they did."""
        attempt, other = self.work.attempts[name], self.work.apart(self.work.taken - self.work.cuts[name].kinds.keys())
        other.loads, other.moved = loads, {**moved}
        fits = other.fits_in_parts(other.begun(attempt.source, attempt))
        return other if fits and other.times(name) != self.work.times(name) else None

    def regroup(self, asked: Sequence[tuple[PartSequence, list[Regrouping]]]) -> bool:
        """Whether functions take less time with other groups as one, where what parts take speaks for these."""
        found = [self._regroup(before, own) for before, own in asked]
        return any(found)

    def _regrouped(self, batch: Batch) -> list[PartSequence]:
        """Those of which other groups may be one."""
        return [one for one in batch.sequences if self._tries_groups and not one.like]

    @property
    def _tries_groups(self) -> bool:
        return {Decision.FUSION, Decision.PHASES, Decision.TRIES} <= self.work.how.decided

    def _regroup(self, start: PartSequence, asked: list[Regrouping]) -> bool:
        name, source = start.name, self.work.attempts[start.name].source
        best, tried = start, list[list[Regrouping]]()
        while asked and asked not in tried and len(tried) < _MOST_REGROUPED:
            tried.append(asked)
            other = self.work.apart(self.work.taken - self.work.cuts[name].kinds.keys())
            found = other.sequence(name) if other.fits_in_parts(regrouped(source, asked)) else None
            if found is not None and found.seconds < best.seconds:
                self.work.replace_parts(name, other)
                best = found
            good = asked[: len(asked) // 2] if found is None else [one for one in asked if one.is_better(found, start)]
            known = {one for some in tried for one in some}
            more = [one for one in self._regroupings(best) if one not in known] if good == asked else []
            asked = [*good, *more]
        return best is not start

    def _regroupings(self, sequence: PartSequence) -> list[Regrouping]:
        ready = self.work.attempts[sequence.name].prepared
        return [] if ready is None else [*regroupings(sequence, estimated_of(ready.function))]

    def _loads_one_by_one(self, name: str) -> bool:
        parts = (self.work.functions[part].compiled for part in self.work.cuts[name].kinds)
        return any(part.device.control.loads_one_by_one for part in parts)

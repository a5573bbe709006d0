"""What is found once of parts that are planned again, as they are or with others: what stays on the chip, and times."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from npuflow.compiler.compiled_function import CompiledFunction
from npuflow.core.answers import AsksAhead
from npuflow.network.calls import CallList
from npuflow.simulate.program import Program

if TYPE_CHECKING:
    from npuflow.compiler.home_phases import HomePhases
    from npuflow.compiler.residency import Resident
    from npuflow.compiler.spare_time import SpareTime


@dataclass
class KnownResidents:
    """What has been found so far, for one compilation; what homes cost a part is known by its program.

    `programs` have those that were met, by identity, each with the name of its `kind`: parts that are compiled again
    are called otherwise, and those that differ in numbers of their kernels alone, as layers that are alike in i8, are
    moved alike. `phases` are the last ones, for parts that may be spread, and that may not. `times` are those of
    programs that begin with what others bring, or bring something.
    """

    programs: dict[int, tuple[Program, str]] = field(default_factory=dict)
    kinds: dict[Hashable, str] = field(default_factory=dict)
    found: list[tuple[CallList, bool, Resident]] = field(default_factory=list)
    phases: dict[bool, HomePhases | None] = field(default_factory=dict)
    times: dict[Hashable, SpareTime | None] = field(default_factory=dict)

    def of(
        self, calls: CallList, parts: Mapping[str, CompiledFunction], *, spreads: bool, ahead: AsksAhead
    ) -> Resident:
        """What `resident` finds."""
        from npuflow.compiler.residency import home_phases, resident

        names = {name: self.name_of(part) for name, part in parts.items()}
        own = replace(calls, calls=tuple(replace(call, name=names[call.name]) for call in calls.calls))
        found = next((found for asked, spread, found in self.found if spread == spreads and asked == own), None)
        if found is None:
            known = {names[name]: _named(part, names[name]) for name, part in parts.items()}
            self.phases[spreads] = phases = home_phases(own, known, self.phases.get(spreads), spreads=spreads)
            found = resident(own, phases, ahead=ahead)
            self.found.append((own, spreads, found))
        back = zip(found.calls.calls, calls.calls, strict=True)
        return replace(found, calls=replace(calls, calls=tuple(replace(new, name=call.name) for new, call in back)))

    def name_of(self, part: CompiledFunction) -> str:
        """What a part's program is called wherever one like it is met."""
        met = self.programs.get(id(part.program))
        if met is None:
            kind = part.program, tuple(part.arguments), tuple(part.results)
            met = part.program, self.kinds.setdefault(kind, f"program{len(self.kinds)}")
            self.programs[id(part.program)] = met
        return met[1]


def _named(part: CompiledFunction, name: str) -> CompiledFunction:
    """A part under another name, with its IR as it is."""
    return replace(part, signature=replace(part.signature, name=name))

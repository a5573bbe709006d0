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

    `programs` have those that were met, by identity, each with a name of its own: parts that are compiled again are
    called otherwise. `phases` are the last ones, for parts that may be spread, and that may not. `times` are those of
    programs that begin with what others bring, or bring something.
    """

    programs: dict[int, tuple[Program, str]] = field(default_factory=dict)
    found: list[tuple[CallList, bool, Resident]] = field(default_factory=list)
    phases: dict[bool, HomePhases | None] = field(default_factory=dict)
    times: dict[Hashable, SpareTime | None] = field(default_factory=dict)

    def of(
        self, calls: CallList, parts: Mapping[str, CompiledFunction], *, spreads: bool, ahead: AsksAhead
    ) -> Resident:
        """What `resident` finds."""
        from npuflow.compiler.residency import home_phases, resident

        names = {name: self.name_of(part.program) for name, part in parts.items()}
        own = replace(calls, calls=tuple(replace(call, name=names[call.name]) for call in calls.calls))
        found = next((found for asked, spread, found in self.found if spread == spreads and asked == own), None)
        if found is None:
            known = {names[name]: _named(part, names[name]) for name, part in parts.items()}
            self.phases[spreads] = phases = home_phases(own, known, self.phases.get(spreads), spreads=spreads)
            found = resident(own, phases, ahead=ahead)
            self.found.append((own, spreads, found))
        back = zip(found.calls.calls, calls.calls, strict=True)
        return replace(found, calls=replace(calls, calls=tuple(replace(new, name=call.name) for new, call in back)))

    def name_of(self, program: Program) -> str:
        """What a program is called wherever it is met."""
        return self.programs.setdefault(id(program), (program, f"program{len(self.programs)}"))[1]


def _named(part: CompiledFunction, name: str) -> CompiledFunction:
    """A part under another name, with its IR as it is."""
    return replace(part, signature=replace(part.signature, name=name))

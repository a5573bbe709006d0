"""What stays on the chip between parts, found once of parts that are planned again as they are."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from npuflow.compiler.compiled_function import CompiledFunction
from npuflow.core.answers import AsksAhead
from npuflow.network.calls import CallList
from npuflow.simulate.program import Program

if TYPE_CHECKING:
    from npuflow.compiler.residency import Resident


@dataclass(frozen=True)
class _Known:
    calls: CallList
    programs: Mapping[str, Program]
    spreads: bool
    found: Resident

    def is_of(self, calls: CallList, parts: Mapping[str, CompiledFunction], *, spreads: bool) -> bool:
        """Whether calls are these, of the very programs that these have: their IR may have moved since."""
        programs = self.programs
        return (
            spreads == self.spreads
            and parts.keys() == programs.keys()
            and all(part.program is programs[name] for name, part in parts.items())
            and calls == self.calls
        )


@dataclass
class KnownResidents:
    """What has been found so far, for one compilation."""

    _known: list[_Known] = field(default_factory=list)

    def of(
        self, calls: CallList, parts: Mapping[str, CompiledFunction], *, spreads: bool, ahead: AsksAhead
    ) -> Resident:
        """What `resident` finds."""
        from npuflow.compiler.residency import resident

        for known in self._known:
            if known.is_of(calls, parts, spreads=spreads):
                return known.found
        found = resident(calls, parts, spreads=spreads, ahead=ahead)
        self._known.append(_Known(calls, {name: part.program for name, part in parts.items()}, spreads, found))
        return found

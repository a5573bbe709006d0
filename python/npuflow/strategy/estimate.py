"""How long a mapped group takes, roughly, and what it moves: what ranks the candidates of a search. Pure.

The native core estimates (`native/src/estimate.cpp`); how many cycles kernels take is asked here, once for each tile.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property

from npuflow import _native
from npuflow.strategy.flat import flat_group, flat_machine, flat_mapping
from npuflow.strategy.group import Group, Tiles
from npuflow.strategy.mapping import Mapping
from npuflow.strategy.strategy import Sizes
from npuflow.strategy.work_cycles import LeastOfResults, OpCycles, kind_of, multiplies, op_cycles
from npuflow.target import Device


@dataclass(frozen=True)
class OuterTransfer:
    """What moves of a tensor between DRAM and L2, in so many `visits`, and what is set up for that.

    `is_first` says that it is set up in front of the first block.
    """

    bytes: int
    visits: int
    channels: int
    descriptors: int
    dram_seconds: float
    is_first: bool


@dataclass(frozen=True)
class Estimate:
    """Estimates for one group on one device."""

    group: Group
    device: Device
    _natives: dict[Sizes, _native.Estimator] = field(default_factory=dict, compare=False)

    def parts(self, mapping: Mapping) -> _native.EstimateParts:
        """The whole group's time and what else is known of it: seconds of its cores, DRAM, and setting up."""
        return self.native(mapping.pack).parts(flat_mapping(mapping))

    def seconds(self, mapping: Mapping) -> float:
        """How long the whole group takes, roughly."""
        return self.parts(mapping).seconds

    def cost(self, mapping: Mapping) -> float:
        """What a search makes small: the time, and a little of DRAM's, so that what moves less is best of equals."""
        return self.parts(mapping).cost

    def played_cost(self, mapping: Mapping) -> float:
        """The cost by the pipeline played out: what takes too long to ask of all mappings."""
        return self.native(mapping.pack).played_cost(flat_mapping(mapping))

    def transfers(self, mapping: Mapping) -> dict[str, OuterTransfer]:
        """What moves of each input and result."""
        found = self.native(mapping.pack).transfers(flat_mapping(mapping))
        tensors = (*self.group.inputs, *self.group.outputs)
        return {
            tensor.name: OuterTransfer(int(bytes_), int(visits), channels, int(descriptors), seconds, is_first)
            for tensor, (bytes_, visits, channels, descriptors, seconds, is_first) in zip(tensors, found)
        }

    def cycles(self, number: int, tiles: Tiles, pack: Sequence[int]) -> int:
        """What a core computes for one call of the work of that number."""
        return OpCycles(self.group.work[number], self.device, self._kind, pack).of_tile(tiles)

    def least_of_results(self, pack: Sizes) -> list[LeastOfResults]:
        """Of each op, what a call takes at least beside its steps."""
        return [OpCycles(work, self.device, self._kind, pack).least_of_results() for work in self.group.work]

    def native(self, pack: Sizes) -> _native.Estimator:
        """The estimates of mappings whose tiles are packed so."""
        if pack not in self._natives:
            self._natives[pack] = self._native_of(pack)
        return self._natives[pack]

    def _native_of(self, pack: Sizes) -> _native.Estimator:
        group, device = self.group, self.device
        ops = [op_cycles(work, device, self._kind, pack) for work in group.work]

        def cycles(number: int, own: Sequence[int]) -> float:
            return ops[number].of_own(tuple(own))

        units = (pack[0], pack[1], 1, pack[2]) if group.packed else (1,) * len(group.sizes)
        sizes = [-(-size // unit) * unit for size, unit in zip(group.sizes, units)]
        least = [(*op.least(sizes), multiplies(op.work, device)) for op in ops]
        return _native.Estimator(flat_group(group), flat_machine(device), cycles, least)

    @cached_property
    def _kind(self) -> str:
        return kind_of(self.group, self.device)

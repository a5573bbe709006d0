"""Whether a device can carry out a schedule: its parts fit, and channels, descriptors and memories suffice. Pure.

Like places are told once, for the worst of them. `descriptors`, `channels` and `capacity` say how needs are counted.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from npuflow.errors import Shortage, SourceLocation
from npuflow.schedule.assign.assign_numbers import numbered, transfers_of
from npuflow.schedule.assign.descriptors import Use, channel_uses
from npuflow.schedule.check.capacity import capacity_violations
from npuflow.schedule.check.numbers import descriptor_clashes
from npuflow.schedule.check.violations import Need, Violation, keep_worst
from npuflow.schedule.check.well_formed import ill_formed
from npuflow.schedule.data import model
from npuflow.schedule.data.channels import Channel, Memory, channel_of
from npuflow.schedule.data.kernel_interface import KernelInterface
from npuflow.schedule.data.model import Schedule
from npuflow.target import Device


def violations(schedule: Schedule, device: Device, kernels: Mapping[str, KernelInterface]) -> list[Violation]:
    """Everything that keeps the schedule, with its kernels, off the device."""
    found = ill_formed(schedule, device, kernels)
    if found:
        return found
    code_bytes = {name: kernel.code_bytes for name, kernel in kernels.items()}
    whole = numbered(schedule, device)
    return [*_Legality(whole, device).violations(), *capacity_violations(whole, device, code_bytes)]


def lacks_descriptors(schedule: Schedule, device: Device) -> bool:
    """Whether a DMA engine needs more descriptors than it has; all are numbered."""
    return bool(_Legality(schedule, device).lacking_descriptors())


@dataclass
class _Legality:
    schedule: Schedule
    device: Device
    channels: dict[Channel, list[model.Engine]] = field(default_factory=lambda: defaultdict(list))
    uses: dict[str, list[Use]] = field(default_factory=dict)
    short: set[tuple[int, int]] = field(default_factory=set)

    def violations(self) -> list[Violation]:
        engines = self.schedule.engines.values()
        self.uses = {engine.name: channel_uses(engine, self.schedule, self.device) for engine in engines}
        lacking = self.lacking_descriptors()
        clashes = descriptor_clashes(self.schedule, self.device, self.uses, self.short)
        return [*self._channels(), *lacking, *clashes, *self._granules(), *self._zeros()]

    def lacking_descriptors(self) -> list[Violation]:
        for engine in self.schedule.engines.values():
            for place in self.schedule.places(engine.span):
                channel = channel_of(engine, place, self.schedule)
                if channel is not None:
                    self.channels[channel].append(engine)
        return list(self._descriptors())

    def _channels(self) -> Iterator[Violation]:
        beyond: dict[tuple[int, bool], Channel] = {}
        for channel, engines in self.channels.items():
            if len(engines) > 1:
                names = " and ".join(f"'{engine.name}'" for engine in engines)
                hint = "give them different stages, lanes or coordinates"
                yield Violation(f"{channel} is both {names}", hint, engines[1].location)
            key = (channel.memory.level, channel.inward)
            if channel.number >= self._channel_count(channel) and channel.number > beyond.get(key, channel).number - 1:
                beyond[key] = channel
        for channel in beyond.values():
            way, engine = "in" if channel.inward else "out", self.channels[channel][0]
            what = f"{channel.memory} needs {channel.number + 1} {way}-channels for '{engine.name}'"
            have = self._channel_count(channel)
            yield Violation(f"{what}, has {have}", "use a grid of fewer rows, or another lane", engine.location)

    def _channel_count(self, channel: Channel) -> int:
        dma = self.device.dma(channel.memory.level)
        return dma.channels_in if channel.inward else dma.channels_out

    def _descriptors(self) -> Iterator[Violation]:
        """Channels of a memory share its descriptors, or those of one parity do."""
        users: dict[tuple[Memory, int], list[tuple[str, int]]] = defaultdict(list)
        counts = {engine.name: _descriptors_of(engine) for engine in self.schedule.engines.values()}
        for channel, engines in self.channels.items():
            group = channel.number % self.device.dma(channel.memory.level).descriptor_groups
            users[channel.memory, group] += [(engine.name, counts[engine.name]) for engine in engines]
        needs: dict[tuple[int, int], Need] = {}
        for (memory, group), used in users.items():
            largest = max(used, key=lambda user: user[1])[0]
            program = self.schedule.engines[largest].program
            location = next((transfer.location for transfer in transfers_of(program)), None)
            need = Need(memory, sum(n for _, n in used), tuple(used), location or self._engine_location(largest))
            keep_worst(needs, (memory.level, group), need)
        for (level, group), need in needs.items():
            dma = self.device.dma(level)
            have = dma.descriptors // dma.descriptor_groups
            if need.need > have:
                self.short.add((level, group))
                which = f" for its {('even', 'odd')[group]} channels" if dma.descriptor_groups == 2 else ""
                what = need.text(f"descriptors{which}", have)
                hint, shortage = (
                    "use fewer slots, larger tiles, or tiles whose patterns need no split",
                    Shortage(level, need.need, have),
                )
                yield Violation(what, hint, need.location, shortage=shortage)

    def _engine_location(self, name: str) -> SourceLocation | None:
        return self.schedule.engines[name].location

    def _zeros(self) -> Iterator[Violation]:
        """Zeros that no engine of a level inserts are inserted by the simulator as if it did."""
        for engine in self.schedule.engines.values():
            zeros = [use.transfer for use in self.uses[engine.name] if use.transfer.access.zeros]
            level = engine.stage.level if zeros else None
            dma = self.device.dma(level) if level else None
            if dma is None or dma.pads_with_zeros:
                continue
            what = f"'{engine.name}' surrounds '{zeros[0].access.buffer.name}' with zeros, which no {dma.name} inserts"
            hint = "choose tiles that divide the shape; the simulator inserts them"
            yield Violation(what, hint, zeros[0].location or engine.location, is_warning=True)

    def _granules(self) -> Iterator[Violation]:
        """Bytes that no descriptor can pick are moved by the simulator as if it could."""
        for engine in self.schedule.engines.values():
            odd = [use for use in self.uses[engine.name] if use.is_sub_granule]
            if not odd:
                continue
            level = engine.stage.level
            granule = self.device.dma(level).pattern.granule_bytes if level else 0
            access = odd[0].transfer.access
            size = self.schedule.buffers[access.buffer.name].element_bytes
            what = (
                f"'{engine.name}' moves runs of '{access.buffer.name}' that are no multiple of {granule} bytes"
                f" ({size}-byte elements, sizes {list(access.sizes)}, strides {list(access.strides)})"
            )
            hint = "choose tiles and shapes whose innermost runs are; the simulator moves single elements as well"
            yield Violation(what, hint, odd[0].transfer.location or engine.location, is_warning=True)


def _descriptors_of(engine: model.Engine) -> int:
    """A shim's tasks follow each other through one queue, so its largest counts; elsewhere all stand in a list."""
    counts = [t.descriptors.count for t in transfers_of(engine.program) if t.descriptors is not None]
    return max(counts, default=0) if engine.stage.at_dram else sum(counts)

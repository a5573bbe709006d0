"""What the parts of a function set up on the chip, and what changes from one call to the next."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, field

from npuflow.bindings import ir
from npuflow.compiler.compiled_function import CompiledFunction
from npuflow.core.once_of_object import once_of_object
from npuflow.core.passes import ops_of
from npuflow.network.changes import changes_between
from npuflow.network.decisions import Decision, Decisions
from npuflow.network.phases import PhaseSetup, Piece, Store, StoreKind
from npuflow.network.set_up import PhaseChange
from npuflow.schedule.assign.setup import KernelImage, setup_of
from npuflow.schedule.data.model import Schedule
from npuflow.schedule.ir.read_kernels import kernel_interfaces
from npuflow.schedule.ir.read_schedule import kernel_functions_of
from npuflow.simulate.home_ports import HOME_LEVEL

# Where a tile is loaded in one time, whatever it is loaded with, the fewest loads take least, and of these the least.
_MOST_BYTES = 1 << 40

# What a kernel was made by plays no part in its code.
_STRATEGY = "npu.strategy"


def phase_changes(calls: Sequence[CompiledFunction], decided: Decisions) -> tuple[PhaseChange, ...]:
    """What each call but the first takes to be set up; parts that are called again are looked at once.

    With `Decision.PARAMETERS`, a constant by which kernels differ that are the same else is none of their code.
    """
    parts = {part.name: part for part in calls}
    known = {name: _known_of(part.schedule) for name, part in parts.items()}
    kernels = {name: known[name].kernels_of(part, Decision.PARAMETERS in decided) for name, part in parts.items()}
    values: dict[tuple[str, int], set[str]] = defaultdict(set)
    for kernel in (kernel for own in kernels.values() for kernel in own.values()):
        for position, value in enumerate(kernel.constants):
            values[kernel.code, position].add(value)
    setups: dict[str, PhaseSetup] = {
        name: known[name].setup_of(part, {key: one.image(values) for key, one in kernels[name].items()})
        for name, part in parts.items()
    }
    setups = {name: {**setup, **_beside_homes(setup, parts[name])} for name, setup in setups.items()}
    device, control = calls[0].device, calls[0].device.control
    columns = device.columns if control.packet_seconds else 0  # else nothing is known of streams of packets
    load_bytes = round(control.packet_seconds * control.packet_bytes_per_second) or _MOST_BYTES
    return changes_between([setups[part.name] for part in calls], decided, columns, load_bytes)


def _beside_homes(setup: PhaseSetup, part: CompiledFunction) -> PhaseSetup:
    """The stores beside what is at home, with the chains that move it."""
    found: dict[Store, tuple[Piece, ...]] = {}
    for chain in (chain for chain in part.homes if chain.descriptors):
        dma = part.device.dma(HOME_LEVEL)
        room = dma.descriptors // dma.descriptor_groups
        store = Store(StoreKind.DESCRIPTORS, dma.name, HOME_LEVEL, 0, chain.column, room, chain.group)
        found[store] = (*found.get(store, setup.get(store, ())), Piece(chain.content, chain.descriptors))
    return found


@dataclass(frozen=True)
class _KernelText:
    """A kernel's code without its constants, and these."""

    code: str
    code_bytes: int
    constants: tuple[str, ...]

    def image(self, values: Mapping[tuple[str, int], set[str]]) -> KernelImage:
        """With those constants in data that have other values elsewhere."""
        own = enumerate(self.constants)
        return KernelImage(self.code, self.code_bytes, tuple((n, v) for n, v in own if len(values[self.code, n]) > 1))


@dataclass(frozen=True)
class _KnownSetups:
    """What has been found of parts with one schedule: plans look at the same parts again and again."""

    kernels: dict[bool, dict[str, _KernelText]] = field(default_factory=dict)
    setups: dict[Hashable, PhaseSetup] = field(default_factory=dict)

    def kernels_of(self, part: CompiledFunction, takes_constants: bool) -> dict[str, _KernelText]:
        if takes_constants not in self.kernels:
            self.kernels[takes_constants] = _kernels(part, takes_constants)
        return self.kernels[takes_constants]

    def setup_of(self, part: CompiledFunction, images: Mapping[str, KernelImage]) -> PhaseSetup:
        instead = tuple((HOME_LEVEL, one.column, *one.instead) for one in part.homes if one.instead is not None)
        asked = (part.device, part.ahead.depths, instead, tuple(images.items()))
        if asked not in self.setups:
            self.setups[asked] = setup_of(part.set_up, part.device, images, instead)
        return self.setups[asked]


@once_of_object
def _known_of(_: Schedule) -> _KnownSetups:
    return _KnownSetups()


def _kernels(part: CompiledFunction, takes_constants: bool) -> dict[str, _KernelText]:
    interfaces, functions = kernel_interfaces(part.op, part.device), kernel_functions_of(part.op)
    found = {}
    for name, interface in interfaces.items():
        kernel = functions[name].clone().operation
        constants = _taken_out(kernel) if takes_constants else ()
        found[name] = _KernelText(_code(kernel), interface.code_bytes, constants)
    return found


def _taken_out(kernel: ir.Operation) -> tuple[str, ...]:
    """The numbers that a kernel computes with, in order, each of which becomes 0."""
    found = []
    for op in ops_of(kernel, "arith.constant"):
        value, type_ = op.attributes["value"], op.results[0].type
        if isinstance(value, ir.FloatAttr):
            op.attributes["value"] = ir.FloatAttr.get(type_, 0.0, loc=op.location)
        elif isinstance(value, ir.IntegerAttr) and not isinstance(type_, ir.IndexType):
            op.attributes["value"] = ir.IntegerAttr.get(type_, 0)
        else:
            continue
        found.append(str(value))
    return tuple(found)


def _code(kernel: ir.Operation) -> str:
    """What a kernel computes, whatever it is called."""
    for op in ops_of(kernel):
        if _STRATEGY in op.attributes:
            del op.attributes[_STRATEGY]
    return str(kernel.opview.type) + "".join(str(block) for block in kernel.regions[0].blocks)

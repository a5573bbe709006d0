"""`npuflow devices`: what there is to compile for."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from npuflow.errors import ExitCode, UsageError, with_hint
from npuflow.target import DEFAULT_DEVICE, Device, KernelClass, load_device
from npuflow.target.load import device_file, device_names
from npuflow.tools.command_line import CommandLine, the_only
from npuflow.tools.devices_compare import compare_devices
from npuflow.tools.flags import FileUse, flag
from npuflow.tools.outputs import check_files, screen_of


@dataclass(frozen=True)
class DevicesFlags:
    """Every flag with its default."""

    path: bool = flag(False, "print where the devices' files are, to read or to copy", group="")
    compare: tuple[str, ...] = flag(
        (),
        "compile a file for each of these devices, and show what it takes on them",
        group="",
        metavar="name|file",
    )
    json: str | None = flag(
        None,
        "write what --compare found to a file, or with '-' to stdout",
        group="",
        metavar="file",
        file=FileUse.WRITTEN,
    )
    help: bool = flag(False, "print this text", group="")


COMMAND_LINE = CommandLine(
    name="npuflow devices",
    owner=DevicesFlags,
    summary="the devices that come with npuflow, or what a file or a partial array says",
    usage="npuflow devices [<name or file.toml> ...] [--path] | --compare=<device,...> <file.mlir>",
    notes=("A name may be followed by a number of columns, or by rows x columns: npu2:2, npu2:2x4, my.toml:1.",),
    operand="name|file",
)


def run(arguments: Sequence[str]) -> ExitCode:
    """Prints one line per device, or everything about those that were named, or where their files are."""
    given = COMMAND_LINE.read(arguments)
    if given is None:
        return ExitCode.OK
    flags, names = given
    if flags.compare:
        path = the_only(names, "input file", "npuflow devices --compare=npu2,npu4.0 matmul.mlir")
        check_files(flags, names)
        return compare_devices(flags.compare, path, flags.json, screen_of(flags))
    if flags.json is not None:
        raise UsageError(with_hint("--json is for --compare", "name devices: --compare=npu2,npu4.0"))
    if flags.path:
        print("\n".join(str(device_file(name)) for name in names or device_names()))
    elif names:
        print("\n\n".join("\n".join(_details(load_device(name))) for name in names))
    else:
        print("\n".join(_summary(load_device(name)) for name in device_names()))
    return ExitCode.OK


def _summary(device: Device) -> str:
    mark = " (default)" if device.name == DEFAULT_DEVICE else ""
    return f"{device.name:<12} {device.description}{mark}"


def _details(device: Device) -> list[str]:
    lines = [f"{device.name}: {device.description}"]
    lines.append(f"  array    {device.rows} rows x {device.columns} columns at {device.clock_hz / 1e9:g} GHz")
    for level in sorted(device.levels, key=lambda level: level.number):
        count = level.shared_by.instances(device.rows, device.columns)
        lines.append(f"  {level.name:<8} {count} x {level.usable_bytes} bytes usable, one per {level.shared_by.value}")
    for dma in device.dmas:
        rate = f"{dma.bytes_per_cycle:g} bytes per cycle each"
        lines.append(f"  {dma.name:<16} {dma.channels_in} channels in, {dma.channels_out} out, {rate}")
    dram = device.dram
    lines.append(f"  dram     {dram.total_bytes_per_second / 1e9:g} GB/s in all")
    clock_hz = device.clock_of(device.engine(KernelClass.MATRIX))
    for shape in device.matmuls:
        types = f"{shape.lhs} x {shape.rhs} -> {shape.acc}"
        size = "any shape" if shape.any_shape else f"{shape.m}x{shape.n}x{shape.k}"
        size += f" in patches of {shape.patch[0]}x{shape.patch[1]}" if shape.patch else ""
        peak = 2 * shape.macs_per_cycle * device.cores * clock_hz / 1e12
        lines.append(f"  matmul   {types:<20} {size:<10} {shape.macs_per_cycle:g} MAC/cycle, {peak:.4g} Tops/s in all")
    return lines

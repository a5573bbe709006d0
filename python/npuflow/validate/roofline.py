"""The model to beat: max(compute, traffic / bandwidth) + launch, with numbers fitted per kind of kernel. Pure.

Each kind of kernel on a device, and each operator that is no matmul, gets the multiplications per cycle and core, the
bandwidth and the launch time that fit its rows best; where a row has its kernel's measured rate, that is used instead.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import product

from npuflow.target import Device
from npuflow.validate.designs import design_of
from npuflow.validate.measurements import ELEMENT_BYTES, Measurement
from npuflow.validate.vector_designs import is_vector_op, vector_traffic_bytes, vector_work

_ROUNDS = 40
_FACTORS = tuple(2 ** (step / 8) for step in range(-8, 9))
_START_SHARES = (0.1, 0.3, 0.6, 0.9)
_START_BANDWIDTHS = (15e9, 30e9, 50e9)


@dataclass(frozen=True)
class Roofline:
    """Numbers of one device and kind of kernel; for elementwise operators, `macs_per_cycle` are elements."""

    macs_per_cycle: float
    bytes_per_second: float
    launch_us: float

    def predict_us(self, row: Measurement, device: Device) -> float:
        rate = row.kernel_macs_per_cycle or self.macs_per_cycle
        work = vector_work(row) if is_vector_op(row.op) else row.macs
        compute = work / (rate * row.rows * row.cols * device.clock_hz)
        return max(compute, traffic_bytes(row) / self.bytes_per_second) * 1e6 + self.launch_us


def traffic_bytes(row: Measurement) -> float:
    """L3 traffic of a matmul's blocks: A once per column of blocks, B once per row of blocks, C once.

    Other operators read and write everything once.
    """
    if is_vector_op(row.op):
        return vector_traffic_bytes(row)
    design = design_of(row)
    block_m, block_n, _ = design.tile_l2
    width = ELEMENT_BYTES[row.in_type]
    operands = row.m * row.k * max(1.0, row.n / block_n) + row.k * row.n * max(1.0, row.m / block_m)
    return operands * width + row.m * row.n * ELEMENT_BYTES[row.out_type]


Key = tuple[str, str]


def key_of(row: Measurement, device: Device) -> Key:
    """What has a roofline of its own: each kind of matmul kernel, and each other operator of a kind."""
    return (device.name, f"{row.kernel} {row.op}" if is_vector_op(row.op) else row.kernel)


def kind_of(row: Measurement, device: Device) -> Key:
    """The kind of kernel alone, whatever the operator."""
    return (device.name, row.kernel)


def fit_rooflines(
    rows: Sequence[tuple[Measurement, Device]], by: Callable[[Measurement, Device], Key] = key_of
) -> Mapping[Key, Roofline]:
    """The best roofline for each key, by mean absolute relative error."""
    groups: dict[Key, list[tuple[Measurement, Device]]] = {}
    for row, device in rows:
        groups.setdefault(by(row, device), []).append((row, device))
    return {key: _fit(group) for key, group in groups.items()}


def mean_error_by_kind(rows: Sequence[tuple[Measurement, Device]]) -> float:
    """The mean error of rooflines that know the kind of kernel and not the operator."""
    fitted = fit_rooflines(rows, kind_of)
    errors = [fitted[kind_of(row, device)].predict_us(row, device) / row.time_us - 1 for row, device in rows]
    return sum(map(abs, errors)) / len(errors)


def _fit(group: Sequence[tuple[Measurement, Device]]) -> Roofline:
    peak = max(shape.macs_per_cycle for _, device in group for shape in device.matmuls)
    shortest = min(row.time_us for row, _ in group)

    def error(roofline: Roofline) -> float:
        return sum(abs(roofline.predict_us(row, device) / row.time_us - 1) for row, device in group)

    starts = product(_START_SHARES, _START_BANDWIDTHS)
    fitted = (_descend(Roofline(peak * share, rate, shortest / 2), error) for share, rate in starts)
    return min(fitted, key=error)


def _descend(start: Roofline, error: Callable[[Roofline], float]) -> Roofline:
    """Scales one number after the other to where the error is least, in ever smaller steps."""
    best = start
    for round_ in range(_ROUNDS):
        best = min((best, *_changed(best, 0.93**round_)), key=error)
    return best


def _changed(roofline: Roofline, step: float) -> Iterator[Roofline]:
    for factor in (f**step for f in _FACTORS):
        yield replace(roofline, macs_per_cycle=roofline.macs_per_cycle * factor)
        yield replace(roofline, bytes_per_second=roofline.bytes_per_second * factor)
        yield replace(roofline, launch_us=roofline.launch_us * factor)

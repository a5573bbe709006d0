"""The model to beat: max(compute, traffic / bandwidth) + launch, with numbers fitted per kind of kernel. Pure.

Each operator of a kind of kernel, on each type, of each source and device, gets the multiplications per cycle and
core, the bandwidth and the launch time that fit its rows best; where a row has its kernel's measured rate, that is
used instead.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import product

import numpy as np
from numpy.typing import NDArray

from npuflow.target import Device
from npuflow.validate.designs import design_of
from npuflow.validate.measurements import ELEMENT_BYTES, Measurement
from npuflow.validate.vector_designs import vector_traffic_bytes, vector_work
from npuflow.validate.vector_texts import is_vector_op

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
        compute = _work(row) / (rate * row.rows * row.cols * device.clock_hz)
        return max(compute, traffic_bytes(row) / self.bytes_per_second) * 1e6 + self.launch_us


def _work(row: Measurement) -> float:
    return vector_work(row) if is_vector_op(row.op) else row.macs


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


Key = tuple[str, ...]


def key_of(row: Measurement, device: Device) -> Key:
    """What has a roofline of its own: each operator of a kind of kernel, on each type, of each source."""
    return (_whole(device), row.source, row.in_type, row.out_type, row.kernel, row.op)


def kind_of(row: Measurement, device: Device) -> Key:
    """The kind of kernel alone, whatever the operator."""
    return (_whole(device), row.kernel)


def _whole(device: Device) -> str:
    """The name of the device that this is, or is a part of."""
    return device.name.partition(":")[0]


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
    """From several starts, scales one number after the other to where the error is least, in ever smaller steps."""
    error = _mean_error_of(group)
    peak = max(shape.macs_per_cycle for _, device in group for shape in device.matmuls)
    shortest = min(row.time_us for row, _ in group)
    starts = product(_START_SHARES, _START_BANDWIDTHS)
    best = np.array([(peak * share, rate, shortest / 2) for share, rate in starts])
    each = np.arange(len(best))
    for round_ in range(_ROUNDS):
        changes = np.ones((1 + 3 * len(_FACTORS), 3))
        for number in range(3):
            changes[1 + number * len(_FACTORS) :][: len(_FACTORS), number] = np.power(_FACTORS, 0.93**round_)
        candidates = best[:, None, :] * changes
        best = candidates[each, error(candidates).argmin(axis=1)]
    return Roofline(*map(float, best[error(best).argmin()]))


def _mean_error_of(
    group: Sequence[tuple[Measurement, Device]],
) -> Callable[[NDArray[np.float64]], NDArray[np.float64]]:
    """What rooflines miss on average; their three numbers stand in an array's last dimension."""
    cycles_at_one = np.array([_work(row) / (row.rows * row.cols * device.clock_hz) for row, device in group])
    known = np.array([row.kernel_macs_per_cycle for row, _ in group], dtype=float)
    traffic = np.array([traffic_bytes(row) for row, _ in group])
    measured = np.array([row.time_us for row, _ in group])

    def error(numbers: NDArray[np.float64]) -> NDArray[np.float64]:
        rate, bandwidth, launch = (numbers[..., i, None] for i in range(3))
        compute = cycles_at_one / np.where(known > 0, known, rate)
        predicted = np.maximum(compute, traffic / bandwidth) * 1e6 + launch
        found: NDArray[np.float64] = np.mean(np.abs(predicted / measured - 1), axis=-1)
        return found

    return error

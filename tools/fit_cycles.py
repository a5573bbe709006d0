"""The part of tools/fit-device for devices that are measured in cycles: single ops and transfers, without rooflines."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from statistics import mean

from npuflow.target import Device
from npuflow.validate.constants import constant, with_constants
from npuflow.validate.cycle_rows import CycleRow, predict_cycles
from npuflow.validate.fit import fit
from npuflow.validate.read import read_cycle_rows

PAGE = Path(__file__).resolve().parents[1] / "docs" / "cluster-machines.md"

# What facts and guesses say of the constants to fit, where fits begin: rates as published or of the multipliers' size,
# shares of nothing lost.
_ENGINE = {
    "patch_engine.setup_cycles": 100,
    "patch_engine.read_bytes_per_cycle": 100,
    "patch_engine.write_bytes_per_cycle": 64,
    "patch_engine.skipped_share": 0.8,
}
_TRANSFERS = {
    "dmas.1.start_cycles": 100,
    "dmas.3.start_cycles": 200,
    "dmas.1.local_bytes_per_cycle": 32,
    "dmas.bytes_per_cycle": 40,
    "dram.latency_seconds": 300e-9,
}
BEFORE: dict[str, tuple[Mapping[str, float], ...]] = {
    "npu2.7": (
        {
            **_ENGINE,
            "patch_engine.weight_bytes_per_cycle": 64,
            "patch_engine.strided_share": 0.9,
            "patch_engine.narrow_share": 1.0,
            "patch_engine.row_cycles": 1.0,
            "patch_engine.edge_share": 0.2,
        },
        {
            **_TRANSFERS,
            "dram.total_bytes_per_second": 50e9,
            "gears.4.start_cycles": 200,
            "gears.4.latency_seconds": 400e-9,
        },
    ),
    "npu4.0": (
        {**_ENGINE, "patch_engine.reused_share": 0.7, "patch_engine.grids.*.read_share": 0.8},
        {**_TRANSFERS, "dmas.3.local_bytes_per_cycle": 32, "dram.write_bytes_per_second": 50e9},
    ),
}


def fit_cycles(device: Device, paths: Sequence[str], rounds: int, folds: int, mode: str) -> int:
    """Fits the constants of each file's rows; `report` and `check` say how good the file's values are instead."""
    lines = []
    for path in paths:
        rows = [row for row in read_cycle_rows(path) or () if isinstance(row, CycleRow) and row.device == device.name]
        before = next((each for each in BEFORE[device.name] if rows and _tells(rows, device, each)), None)
        if before is None:
            continue
        if not mode:
            found = fit(rows, with_constants(device, before), list(before), rounds, _progress)
            print(*(f"  {name} = {value:.4g}" for name, value in found.values.items()), sep="\n")
            print(f"{len(rows)} rows of {path}: mean error {found.mean_error:.2%}")
        else:
            lines += _table(device, rows, before, rounds, folds or 12)
    print(*lines, sep="\n")
    return _check(lines) if mode == "check" else 0


def _tells(rows: Sequence[CycleRow], device: Device, names: Mapping[str, float]) -> bool:
    """Whether any of these constants changes what is predicted of the rows."""
    doubled = with_constants(device, {name: 2 * constant(device, name) for name in names})
    return any(row.timed.cycles(device) != row.timed.cycles(doubled) for row in rows)


def _table(device: Device, rows: Sequence[CycleRow], before: Mapping[str, float], rounds: int, folds: int) -> list[str]:
    """A line of the page's table per group: mean errors in sample, and of shapes that were left out of a fit."""
    shapes = sorted({str(row.timed) for row in rows})
    unseen: dict[int, float] = {}
    for fold in range(folds):
        left_out = set(shapes[fold::folds])
        kept = [row for row in rows if str(row.timed) not in left_out]
        made = with_constants(device, fit(kept, with_constants(device, before), list(before), rounds).values)
        judged = [at for at, row in enumerate(rows) if str(row.timed) in left_out]
        predicted = predict_cycles([rows[at] for at in judged], {device.name: made})
        unseen |= {at: abs(one.error) for at, one in zip(judged, predicted)}
    own = [abs(made.error) for made in predict_cycles(rows, {device.name: device})]
    found = []
    for group in [*dict.fromkeys(row.group for row in rows), "all"]:
        mine = [at for at, row in enumerate(rows) if group in ("all", row.group)]
        shares = (mean(each[at] for at in mine) for each in (own, unseen))
        found.append(f"| `{device.name}` | {group} | {len(mine)} | {' | '.join(f'{share:.1%}' for share in shares)} |")
    return [line.replace("%", " %") for line in found]


def _check(lines: Sequence[str]) -> int:
    page = PAGE.read_text(encoding="utf-8").splitlines()
    missing = [line for line in lines if not any(have.startswith(line) for have in page)]
    last = f"is out of date: it lacks {len(missing)} of these" if missing else "is up to date"
    print(f"docs/{PAGE.name} {last}")
    return int(bool(missing))


def _progress(round_: int, loss: float) -> None:
    print(f"  round {round_ + 1}: loss {loss:.4f}", file=sys.stderr, flush=True)

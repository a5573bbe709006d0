"""`npuflow order`: what orders of output tiles load into a small fast memory, beside the order that loads the least."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from npuflow.errors import ExitCode, UsageError, with_hint
from npuflow.tools.command_line import CommandLine
from npuflow.tools.flags import FileUse, flag
from npuflow.tools.outputs import check_files, screen_of, write_output
from npuflow.tools.progress import Progress

if TYPE_CHECKING:
    from npuflow.order.cache import PanelCache
    from npuflow.order.compared import Compared, MeasuredOrder

# What a line and a picture of text have room for.
_MOST_STEPS_SHOWN = 64
_PAGE = "order.html"


@dataclass(frozen=True)
class OrderFlags:
    """Every flag with its default."""

    grid: str = flag("4x4", "rows x columns of output tiles (default: 4x4)", group="", metavar="rows x columns")
    capacity: int = flag(4, "panels that there is room for (default: 4)", group="", metavar="n")
    policy: str = flag(
        "belady",
        "what goes when there is no room: the panel used next the latest (default), or the one used last the earliest",
        group="",
        choices=("belady", "lru"),
    )
    write_back: bool = flag(False, "count the result's tiles as well, each of which is written once", group="")
    states: int = flag(
        200_000, "states that the search for the optimum looks at (default: 200000)", group="", metavar="n"
    )
    json: str | None = flag(
        None,
        "write optimum and orders as JSON, to stdout where no file is named",
        group="",
        metavar="file",
        bare="-",
        file=FileUse.WRITTEN,
    )
    explore: bool = flag(False, "write a page on which one clicks tiles in any order", group="")
    o: str | None = flag(
        None, f"where the page is written (default: {_PAGE})", group="", metavar="file", file=FileUse.WRITTEN
    )
    help: bool = flag(False, "print this text", group="")


COMMAND_LINE = CommandLine(
    name="npuflow order",
    owner=OrderFlags,
    summary="what orders of output tiles load, beside the order that loads the least",
    usage="npuflow order --grid=4x4 --capacity=4 [flags]",
    notes=(
        "Tile (i, j) takes row panel i and column panel j at the same time; a load is a panel that isn't there.",
        "Exit codes: 0 done, 1 no order for such a grid or capacity, 2 usage, 3 a bug of npuflow.",
    ),
    column=32,
    operand="",
)


def run(arguments: Sequence[str]) -> ExitCode:
    """Prints what orders load, or writes the page."""
    given = COMMAND_LINE.read(arguments)
    if given is None:
        return ExitCode.OK
    flags, names = given
    if names:
        what = f"unexpected argument '{names[0]}'"
        raise UsageError(with_hint(what, "npuflow order --grid=4x4 --capacity=4"))
    if flags.o is not None and not flags.explore:
        raise UsageError(with_hint("-o is where --explore writes its page", "add --explore, or take -o away"))
    check_files(flags, ())
    cache = _cache_of(flags)
    with Progress() as progress:
        if flags.explore:
            return _write_page(cache, flags, progress)
        return _compare(cache, flags, progress)


def _cache_of(flags: OrderFlags) -> PanelCache:
    from npuflow.order.cache import PanelCache, Policy, TileGrid, check_cache

    sizes = re.fullmatch(r"([0-9]{1,9})x([0-9]{1,9})", flags.grid.strip())
    if sizes is None:
        what = f"flag '--grid' cannot be '{flags.grid}'"
        raise UsageError(with_hint(what, "give rows and columns, as 4x4"))
    cache = PanelCache(TileGrid(int(sizes[1]), int(sizes[2])), flags.capacity, Policy(flags.policy))
    check_cache(cache)
    return cache


def _compare(cache: PanelCache, flags: OrderFlags, progress: Progress) -> ExitCode:
    from npuflow.order.compared import compare_orders
    from npuflow.order.optimum import is_searched

    progress.step("looking for the best order")
    compared = compare_orders(cache, write_back=flags.write_back, most_states=flags.states)
    progress.done()
    if flags.json != "-":
        more = f"more than --states={flags.states} may find out" if is_searched(cache.grid) else ""
        print("\n".join(_lines(compared, more)), file=screen_of(flags))
    if flags.json is not None:
        write_output(flags.json, (json.dumps(_as_json(compared)) + "\n").encode())
    return ExitCode.OK


def _write_page(cache: PanelCache, flags: OrderFlags, progress: Progress) -> ExitCode:
    from npuflow.order.explore import explore_page

    progress.step("looking for the best orders")
    page = explore_page(cache, flags.states)
    path = _PAGE if flags.o is None else flags.o
    write_output(path, page.encode())
    if path != "-":
        print(f"wrote {path}: open it in a browser", file=screen_of(flags))
    return ExitCode.OK


def _lines(compared: Compared, more: str) -> Iterator[str]:
    """`more` is what could tell an optimum that isn't known."""
    cache, best = compared.cache, compared.optimum
    counted = " and results written" if compared.writes else ""
    yield f"{cache.grid} tiles, room for {cache.capacity} panels, {cache.policy.value}: panels loaded{counted}"
    if compared.is_exact:
        yield f"  no order takes fewer than {best.cost}"
    else:
        hint = f" ({more})" if more else ""
        yield f"  no order takes fewer than {compared.lower_bound}; the best known takes {best.cost}{hint}"
    yield ""
    shows_steps = cache.grid.tiles <= _MOST_STEPS_SHOWN
    yield f"  {'order':<18} {'in all':>8}" + ("  tile by tile" if shows_steps else "")
    for name, one in {_best_name(compared): best, **compared.orders}.items():
        steps = " ".join(map(str, one.loads)) if shows_steps else ""
        yield f"  {name:<18} {one.cost:>8}  {steps}".rstrip()
    if shows_steps:
        yield ""
        yield "  when the best order comes to each tile"
        yield from _picture(cache.grid.rows, cache.grid.columns, best)


def _best_name(compared: Compared) -> str:
    return "optimum" if compared.is_exact else "best known"


def _picture(rows: int, columns: int, one: MeasuredOrder) -> Iterator[str]:
    place = {tile: number for number, tile in enumerate(one.order, 1)}
    for row in range(rows):
        yield "  " + " ".join(f"{place[row, column]:>3}" for column in range(columns))


def _as_json(compared: Compared) -> Mapping[str, object]:
    cache = compared.cache
    return {
        "grid": [cache.grid.rows, cache.grid.columns],
        "capacity": cache.capacity,
        "policy": cache.policy.value,
        "write_back": compared.writes > 0,
        "optimum": compared.optimum.cost,
        "is_exact": compared.is_exact,
        "lower_bound": compared.lower_bound,
        "compulsory": cache.grid.panels + compared.writes,
        "orders": {name: _order_json(one) for name, one in {"optimum": compared.optimum, **compared.orders}.items()},
    }


def _order_json(one: MeasuredOrder) -> Mapping[str, object]:
    return {
        "loads": sum(one.loads),
        "writes": one.writes,
        "total": one.cost,
        "loads_per_step": list(one.loads),
        "tiles": [list(tile) for tile in one.order],
    }

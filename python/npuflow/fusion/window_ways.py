"""The tiles that a chain of windows takes least time in, halos computed again or cached, by estimates."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial
from itertools import islice

from npuflow.core.answers import Answers
from npuflow.core.copies import erase_unused
from npuflow.fusion.homes import Homes
from npuflow.fusion.mapped_alike import Mapped, MappedAlike
from npuflow.fusion.overlap_tiles import overlapped
from npuflow.fusion.window_chain import TiledChain, WindowChain
from npuflow.fusion.window_tiles import Halos, ranked_steps, ranked_tilings
from npuflow.network.partition import Members, Price
from npuflow.ops.bundle import Bundle, make_bundle
from npuflow.ops.once import described_once
from npuflow.strategy.bundle_times import MappedGroup, mapped_bundle
from npuflow.strategy.describe_bundle import can_be_moved, kernels_fit, smallest_fits
from npuflow.strategy.describe_group import Numbers, group_of_bundle
from npuflow.strategy.strategy import Strategy
from npuflow.target import Device
from npuflow.target.planned import goes_around_l2

# Tiles of one chain that are estimated, and for each number of cores those that go in steps.
_MOST_TILES, _MOST_STEPPED = 4, 2
# Tiles of one chain that are looked at, whether they fit or not, and the same of tiles with steps, most of which do.
_MOST_TRIED, _MOST_STEPS_TRIED = 32, 8

# By chains that are alike: the tiles that are tried, with the rows of their steps, more than what one network asks.
WINDOW_TILES: Answers[tuple[tuple[tuple[int, ...], int], ...]] = Answers(4096)


@dataclass(frozen=True)
class FusedWindows:
    """A chain in tiles, what it costs and is mapped as.

    `other` is the best with halos the other way, where both were estimated.
    """

    tiled: TiledChain
    price: Price
    mapped: MappedGroup
    other: FusedWindows | None = None

    def __str__(self) -> str:
        tiles, rows = "x".join(map(str, self.tiled.tiles)), self.tiled.rows
        if not tiles:
            return "tiles without halos"
        return f"tiles of {tiles}" + (f", whose halos are cached in steps of {rows}," if rows else "")


@dataclass(frozen=True)
class Cost:
    """What groups of a function cost as one."""

    homes: Homes
    members: Members

    def numbers(self, chain: WindowChain) -> Numbers:
        """The values between groups, and what the last of them makes."""
        return {**self.homes.numbers, chain.images[-1].op.results[0]: max(self.members)}

    def seconds(self, mapped: MappedGroup) -> float:
        return self.homes.seconds_as_one(self.members, mapped)


@dataclass(frozen=True)
class _Priced:
    """A chain's ops, as all that are alike, and what these cost as one."""

    alike: MappedAlike
    cost: Cost


@dataclass(frozen=True)
class WindowWays:
    """Finds the best way for chains on a device, given what was said of it."""

    device: Device
    said: Strategy
    tiles: tuple[int, ...]
    rows: int | None
    halos: Halos

    def best(self, chain: WindowChain, cost: Cost, *, may_cache: bool) -> FusedWindows | None:
        """The tiles that a chain takes least time in; None where none fits a core."""
        if not can_be_moved(chain.moved, self.device, slots=1):
            return None
        ways, priced = [], _Priced(MappedAlike(chain.outline, cost.numbers(chain)), cost)
        if self.halos is not Halos.CACHED:
            ways.append(self._best_of(self._tilings(chain), priced, _MOST_TILES))
        if self.halos is not Halos.RECOMPUTED and may_cache and not goes_around_l2(self.device):
            ways += [self._best_of(each, priced, _MOST_STEPPED) for each in self._steps(chain)]
        return _cheapest([way for way in ways if way is not None])

    def _best_of(self, ways: Iterator[TiledChain], priced: _Priced, most: int) -> FusedWindows | None:
        """The best of so many that fit, of each tile the first that does; none that is larger than one that doesn't."""
        found: dict[tuple[int, ...], FusedWindows] = {}
        refused: list[TiledChain] = []
        for way in ways:
            if way.tiles in found or any(map(way.is_around, refused)):
                continue
            fused = self._priced(way, priced)
            if fused is None:
                refused.append(way)
            else:
                found[way.tiles] = fused
            if len(found) == most:
                break
        return min(found.values(), key=lambda way: way.price, default=None)

    def _may_fit(self, chain: WindowChain) -> bool:
        """Whether the smallest tiles fit a core, if nothing of what they need is there twice."""
        with _made(chain.tiled([1] * len(chain.axes))) as bundle:
            return self._is_mapped(bundle) and smallest_fits(group_of_bundle(bundle), self.device)

    def _tilings(self, chain: WindowChain) -> Iterator[TiledChain]:
        """The chain in tiles, the most promising first, or as was asked for; none where the smallest don't fit."""

        def find() -> Iterator[TiledChain]:
            if self._may_fit(chain):
                yield from self._asked(chain) if self.tiles else islice(ranked_tilings(chain, self.device), _MOST_TRIED)

        return self._told(chain, 0, find)

    def _steps(self, chain: WindowChain) -> Iterator[Iterator[TiledChain]]:
        """The same in tiles that are gone through in steps: such that keep all cores busy, and half of them.

        To set up fewer columns of the array takes less time, and what is large computes little twice.
        """
        if not chain.axes:
            return
        if self.tiles:
            yield (way for tiled in self._asked(chain) for way in tiled.in_steps(self.rows))
            return
        cores = self.device.rows * self.device.columns
        for each in (cores, max(1, cores // 2)):
            yield self._told(chain, each, partial(self._in_steps, chain, each))

    def _in_steps(self, chain: WindowChain, cores: int) -> Iterator[TiledChain]:
        return islice(ranked_steps(chain, self.device, cores, self.rows), _MOST_STEPS_TRIED)

    def _asked(self, chain: WindowChain) -> Iterator[TiledChain]:
        if chain.is_divided_by(self.tiles):
            yield chain.tiled(self.tiles)

    def _told(self, chain: WindowChain, cores: int, find: Callable[[], Iterator[TiledChain]]) -> Iterator[TiledChain]:
        """The ways that `find` finds of a chain for so many cores, or has found of one that is alike."""
        asked = chain.outline.key, self.device, self.tiles, self.rows, cores
        for tiles, rows in WINDOW_TILES.of(asked, lambda: tuple((way.tiles, way.rows) for way in find())):
            yield chain.tiled(tiles, rows)

    def _priced(self, tiled: TiledChain, priced: _Priced) -> FusedWindows | None:
        """A chain in these tiles; None where they don't fit a core."""
        asked = self.device, self.said, tiled.tiles, tiled.rows
        mapped = priced.alike.mapped(asked, lambda numbers: self._mapped(tiled, numbers))
        return FusedWindows(tiled, Price(priced.cost.seconds(mapped[0])), mapped[0]) if mapped else None

    def _mapped(self, tiled: TiledChain, numbers: Numbers) -> Mapped:
        """What a chain is mapped as in these tiles; nothing where they don't fit a core."""
        with _made(tiled) as bundle:
            if not self._is_mapped(bundle):
                return ()
            said = replace(self.said, stream=tiled.pieces().stream)
            last = numbers[tiled.chain.images[-1].op.results[0]]
            mapped = mapped_bundle(bundle, self.device, said, {**numbers, bundle.root.results[0]: last})
        return () if mapped is None else (mapped,)

    def _is_mapped(self, bundle: Bundle) -> bool:
        """Whether there are tiles to go to cores, whose programs have room for the kernels."""
        return bundle.space > 0 and kernels_fit(bundle.ops, self.device)


@contextmanager
def _made(tiled: TiledChain) -> Iterator[Bundle]:
    """A chain in tiles as a bundle, for as long as it is looked at."""
    made = overlapped(tiled)
    try:
        with described_once():
            yield make_bundle(made.ops)
    finally:
        erase_unused([made.result.owner.operation])


def _cheapest(ways: Sequence[FusedWindows]) -> FusedWindows | None:
    """The best of some ways, which knows the best with halos the other way."""
    best = min(ways, key=lambda way: way.price, default=None)
    if best is None:
        return None
    others = [way for way in ways if (way.tiled.rows > 0) != (best.tiled.rows > 0)]
    return replace(best, other=min(others, key=lambda way: way.price, default=None))

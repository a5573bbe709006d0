"""What moves where, and how often, as a function of shapes, tiles and grid: read off the final IR by walking it.

Everything a person can count in the three pipelines' loop nests is derived here from the sizes alone and compared.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, replace
from math import prod

import pytest
from hypothesis import given
from hypothesis import strategies as st
from profiles import drawn

import npuflow
from npuflow.bindings import ir
from npuflow.core.passes import ops_of, parents_of

L3, L2, L1 = 0, 1, 2
MOVEMENTS = ("memref.copy", "linalg.pack", "linalg.unpack")
TYPES = {"i32": ("i32", "i32"), "i8": ("i8", "i32"), "bf16": ("bf16", "f32"), "f32": ("f32", "f32")}
PACKS = {"i32": (4, 8, 8), "i8": (4, 8, 8), "bf16": (4, 4, 8), "f32": (2, 4, 8)}


@dataclass(frozen=True)
class Case:
    """A matmul and how it is to be mapped; tile_l1 in instructions, tile_l2's k in tiles of L1."""

    pipeline: str
    shape: tuple[int, int, int]
    element: str = "i32"
    grid: tuple[int, int] = (2, 2)
    tile_l1: tuple[int, int, int] = (8, 4, 4)
    k_tiles_in_l2: int = 8
    filled: bool = True
    biased: bool = False

    @property
    def pack(self) -> tuple[int, int, int]:
        return PACKS[self.element]

    @property
    def l1(self) -> tuple[int, int, int]:
        m, n, k = (tile * pack for tile, pack in zip(self.tile_l1, self.pack, strict=True))
        return m, n, k

    @property
    def l2(self) -> tuple[int, int, int]:
        m, n, k = self.l1
        return m * self.grid[0], n * self.grid[1], k * self.k_tiles_in_l2

    @property
    def blocks(self) -> tuple[int, int, int]:
        """How many blocks of L2 there are along m, n and k."""
        m, n, k = (-(-size // tile) for size, tile in zip(self.shape, self.l2, strict=True))
        return m, n, k

    def options(self) -> str:
        sizes = {"grid": self.grid, "tile-l2": self.l2, "tile-l1": self.l1, "pack": self.pack}
        return " ".join(f"{key}={','.join(map(str, value))}" for key, value in sizes.items())

    def source(self) -> str:
        m, n, k = self.shape
        element, acc = TYPES[self.element]
        a, b, c = f"tensor<{m}x{k}x{element}>", f"tensor<{k}x{n}x{element}>", f"tensor<{m}x{n}x{acc}>"
        zero = "0.0" if acc.startswith("f") else "0"
        start = "%f" if self.filled else "%c"
        return f"""
        func.func @matmul(%a: {a}, %b: {b}, %c: {c}, %x: tensor<{n}x{acc}>) -> {c} {{
          %zero = arith.constant {zero} : {acc}
          %e = tensor.empty() : {c}
          %f = linalg.fill ins(%zero : {acc}) outs(%e : {c}) -> {c}
          %r = linalg.matmul ins(%a, %b : {a}, {b}) outs({start} : {c}) -> {c}
          {self.tail(c, acc) if self.biased else f"return %r : {c}"}
        }}
        """

    def tail(self, c: str, acc: str) -> str:
        """An elementwise op behind the matmul that adds a bias along n."""
        add = "arith.addf" if acc == "f32" else "arith.addi"
        return f"""
          %t = linalg.generic {{
              indexing_maps = [affine_map<(m, n) -> (m, n)>, affine_map<(m, n) -> (n)>, affine_map<(m, n) -> (m, n)>],
              iterator_types = ["parallel", "parallel"]}}
              ins(%r, %x : {c}, tensor<{self.shape[1]}x{acc}>) outs(%e : {c}) {{
          ^bb0(%p: {acc}, %q: {acc}, %out: {acc}):
            %s = {add} %p, %q : {acc}
            linalg.yield %s : {acc}
          }} -> {c}
          return %t : {c}
        """

    def compiled(self) -> ir.Module:
        module = npuflow.parse(self.source(), npuflow.new_context())
        npuflow.run_pipeline(module, f"{self.pipeline}{{{self.options()}}}")
        return module


SEED = Case("npuflow-stream-k", (1024, 512, 2048))


@dataclass(frozen=True)
class Step:
    """A movement or a kernel, how often its loops run it, and on how many cores."""

    op: ir.Operation
    runs: int
    cores: int
    k_loops: int

    @property
    def spaces(self) -> tuple[int, int]:
        """Where a movement reads and writes."""
        return space_of(self.op.operands[0]), space_of(self.op.operands[1])

    @property
    def elements(self) -> int:
        """What the side of a movement holds that isn't packed."""
        operand = self.op.operands[1 if self.op.name == "linalg.unpack" else 0]
        return prod(ir.MemRefType(operand.type).shape)


def space_of(value: ir.Value) -> int:
    space = ir.MemRefType(value.type).memory_space
    return L3 if space is None else int(ir.IntegerAttr(space).value)


def constant(value: ir.Value) -> int:
    return int(ir.IntegerAttr(value.owner.attributes["value"]).value)


def trip_count(loop: ir.Operation) -> int:
    lower, upper, step = (constant(bound) for bound in list(loop.operands)[:3])
    return -(-(upper - lower) // step)


def steps(module: ir.Module, *names: str) -> Iterator[Step]:
    """Every op of these names with what its loops say: those inside of the grid are K loops."""
    for op in ops_of(module.operation, *names):
        parents = list(parents_of(op))
        loops = [p for p in parents if p.name == "scf.for"]
        grids = [i for i, p in enumerate(parents) if p.name == "scf.forall"]
        inside = sum(1 for p in parents[: grids[0]] if p.name == "scf.for") if grids else 0
        cores = prod(ir.DenseI64ArrayAttr(parents[grids[0]].attributes["staticUpperBound"])) if grids else 1
        yield Step(op, prod(map(trip_count, loops)), cores, inside)


def runs_by_route(module: ir.Module) -> Counter[tuple[int, int]]:
    """How often something moves between each pair of levels; per core between L2 and L1."""
    counts: Counter[tuple[int, int]] = Counter()
    for step in steps(module, *MOVEMENTS):
        counts[step.spaces] += step.runs
    return counts


def matmuls(module: ir.Module) -> list[Step]:
    return [
        step for step in steps(module, "linalg.generic") if "reduction" in str(step.op.attributes["iterator_types"])
    ]


def check(case: Case) -> None:
    """Compiles a case and compares everything that is counted with what the sizes say."""
    module = case.compiled()
    blocks_m, blocks_n, blocks_k = case.blocks
    blocks = blocks_m * blocks_n
    k_tiles = blocks_k * case.k_tiles_in_l2
    expected = Counter({(L3, L2): 2 * blocks * blocks_k, (L2, L1): 2 * blocks * k_tiles, (L1, L2): blocks})
    expected[L2, L3] = blocks
    moved_once = (not case.filled) + case.biased
    expected += Counter({(L3, L2): blocks * moved_once, (L2, L1): blocks * moved_once})
    assert runs_by_route(module) == expected

    kernels = matmuls(module)
    assert sum(step.runs for step in kernels) == blocks * k_tiles
    assert all(step.cores == prod(case.grid) for step in kernels)
    assert {instruction(step.op) for step in kernels} == {case.pack}
    assert {space_of(operand) for step in kernels for operand in step.op.operands} == {L1}

    check_accumulator(module, case)


def instruction(kernel: ir.Operation) -> tuple[int, int, int]:
    """m, n, k of the innermost tiles: lhs ends in m x k, rhs in k x n for a packed matmul."""
    lhs, rhs = (list(ir.MemRefType(operand.type).shape) for operand in list(kernel.operands)[:2])
    assert lhs[-1] == rhs[-2]
    return lhs[-2], rhs[-1], lhs[-1]


def check_accumulator(module: ir.Module, case: Case) -> None:
    """The sum is made in one L1 buffer per core, in packed shape, and neither enters nor leaves within a K loop."""
    m, n, _ = case.tile_l1
    (accumulator,) = {step.op.operands[2] for step in matmuls(module)}
    assert list(ir.MemRefType(accumulator.type).shape) == [m, n, case.pack[0], case.pack[1]]
    (alloc,) = [step for step in steps(module, "memref.alloc") if step.op.results[0] == accumulator]
    assert alloc.k_loops == 0
    fills = [step for step in steps(module, "linalg.fill") if step.op.operands[1] == accumulator]
    assert len(fills) == (1 if case.filled else 0)
    moved = [step for step in steps(module, *MOVEMENTS) if accumulator in step.op.operands]
    expected = {"linalg.unpack": not case.biased, "linalg.pack": not case.filled}
    assert Counter(step.op.name for step in moved) == Counter(name for name, once in expected.items() if once)
    assert [step.k_loops for step in (*fills, *moved)] == [0] * len(fills + moved)


def test_the_seed_case_has_the_sizes_of_the_specification() -> None:
    """16 x 8 blocks; 64 x 256 and 256 x 64 from L3; 32 x 32 packs; inner shape 4 x 8 x 8."""
    module = SEED.compiled()
    assert (SEED.blocks, SEED.l2, SEED.l1) == ((16, 8, 8), (64, 64, 256), (32, 32, 32))
    inward = [step for step in steps(module, *MOVEMENTS) if step.spaces == (L3, L2)]
    shapes = [list(ir.MemRefType(step.op.operands[0].type).shape) for step in inward]
    assert shapes == [[64, 256], [256, 64]]
    assert [step.k_loops for step in inward] == [1, 1]
    packs = list(steps(module, "linalg.pack"))
    assert [step.k_loops for step in packs] == [2, 2]
    assert [step.elements for step in packs] == [1024, 1024]


def test_the_seed_case_reads_its_traffic_from_the_ir() -> None:
    """A crosses once per column of blocks, B once per row: 1024*2048*8 and 2048*512*16 elements; C once."""
    for pipeline in ("npuflow-stream-k", "npuflow-pack-peel"):
        traffic: Counter[tuple[int, int]] = Counter()
        for step in steps(replace(SEED, pipeline=pipeline).compiled(), *MOVEMENTS):
            traffic[step.spaces] += step.runs * step.elements
        assert traffic[L3, L2] * 4 == 2 * 64 * 2**20
        assert traffic[L2, L3] * 4 == 2 * 2**20


@pytest.mark.parametrize("pipeline", ["npuflow-stream-k", "npuflow-pack-peel"])
@pytest.mark.parametrize("filled", [True, False])
@pytest.mark.parametrize("biased", [True, False])
def test_the_seed_case(pipeline: str, filled: bool, biased: bool) -> None:
    check(replace(SEED, pipeline=pipeline, filled=filled, biased=biased))


def test_peeled_parts_fill_first_and_write_back_last() -> None:
    """In the block of a core: fill, then the first kernel; after the last kernel the way out."""
    module = replace(SEED, pipeline="npuflow-pack-peel").compiled()
    (grid,) = ops_of(module.operation, "scf.forall")
    order = [op.name for op in ops_of(grid, "linalg.fill", "linalg.generic", "linalg.unpack")]
    assert order == ["linalg.fill", "linalg.generic", "linalg.generic", "linalg.generic", "linalg.unpack"]
    fill = ops_of(grid, "linalg.fill")[0]
    first = next(
        op for op in parents_of(ops_of(grid, "linalg.generic")[0]) if op.parent.operation == fill.parent.operation
    )
    assert fill.parent.operation == grid
    assert first.name == "scf.for"


def test_whole_k_is_copied_in_pieces_once_per_block() -> None:
    """32 x 64 blocks, K = 2048 in 8 pieces of 256 for each operand, then 64 steps of 32 inside of L2."""
    case = replace(SEED, pipeline="npuflow-pad-pack", tile_l1=(4, 4, 4))
    module = case.compiled()
    blocks = 32 * 8
    assert runs_by_route(module) == {
        (L3, L2): blocks * 16,
        (L2, L1): blocks * 2 * 64,
        (L1, L2): blocks,
        (L2, L3): blocks,
    }
    assert all(step.cores == 1 for step in steps(module, "memref.copy"))
    check_accumulator(module, case)


@st.composite
def cases(draw: st.DrawFn) -> Case:
    """Any shape and type on any small grid; tiles small enough to fit everywhere."""
    small = st.integers(1, 3)
    element = draw(st.sampled_from(list(TYPES)))
    m, n, k = (draw(st.one_of(st.integers(1, 9), st.integers(1, 300))) for _ in range(3))
    grid = draw(st.integers(1, 4)), draw(st.integers(1, 4))
    tile = draw(small), draw(small), draw(small)
    pipeline = draw(st.sampled_from(["npuflow-stream-k", "npuflow-pack-peel"]))
    return Case(pipeline, (m, n, k), element, grid, tile, draw(small), draw(st.booleans()), draw(st.booleans()))


@drawn(few=40, many=1000)
@given(cases())
def test_counts_follow_from_the_sizes(case: Case) -> None:
    check(case)

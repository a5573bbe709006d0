"""What a contraction is: its loops by role, its operands, what initialises it and what consumes it.

A *group* is what is compiled as one: the contraction, the fill in front of it and the elementwise tail behind it.
Everything here reads IR and changes nothing.
"""

from __future__ import annotations

from dataclasses import dataclass

from npuflow.bindings import ir, linalg
from npuflow.core.passes import PassContext, ops_of, parents_of
from npuflow.ops.factors import EXTENSIONS
from npuflow.ops.linear import loop_extents, maps_of

LHS, RHS, INIT = 0, 1, 2
STRATEGY = "npu.strategy"
_GENERIC = "linalg.generic"
COSTLY = ("math.", "arith.div", "arith.rem", "linalg.index")
BUNDLE = "npu.bundle"
# On an op of a bundle whose results may be made piece by piece, each piece going on from what the last one left.
RUNNING = "npu.running"
# On each op of a bundle whose cores keep rows: the loop of its own along which a tile is gone through in steps.
ROW_LOOP = "npu.row_loop"
# On each of several sums of a bundle that go in step: the loop that it sums over with as many steps as the others.
STEP_LOOP = "npu.step_loop"


@dataclass(frozen=True)
class Contraction:
    """A linalg op that sums products; loops are positions in its iteration space."""

    op: ir.Operation
    batch: tuple[int, ...]
    m: tuple[int, ...]
    n: tuple[int, ...]
    k: tuple[int, ...]

    @property
    def rank(self) -> int:
        return len(self.batch) + len(self.m) + len(self.n) + len(self.k)

    @property
    def lhs(self) -> ir.Value:
        return self.op.operands[LHS]

    @property
    def rhs(self) -> ir.Value:
        return self.op.operands[RHS]

    @property
    def init(self) -> ir.Value:
        return self.op.operands[INIT]

    @property
    def result(self) -> ir.Value:
        return self.op.results[0]

    @property
    def is_packed(self) -> bool:
        """Packing splits m, n and k into an outer and an inner loop each."""
        return len(self.m) == 2

    def loop_extents(self) -> list[int]:
        return loop_extents(self.op)

    def by_role(self, m: int, n: int, k: int, batch: int = 0) -> list[int]:
        """One number per loop: the same for all loops of a role."""
        values = [batch] * self.rank
        for loops, value in ((self.m, m), (self.n, n), (self.k, k)):
            for loop in loops:
                values[loop] = value
        return values


def operand_loops(op: ir.Operation) -> list[list[int]]:
    """For each operand, the loop that each of its dimensions follows; -1 where it is no plain loop."""
    return [[_loop_of(result) for result in map_.results] for map_ in maps_of(op)]


def _loop_of(expression: ir.AffineExpr) -> int:
    return expression.position if isinstance(expression, ir.AffineDimExpr) else -1


def match_contraction(op: ir.Operation) -> Contraction | None:
    """The contraction that `op` is, or None."""
    if not op.name.startswith("linalg.") or len(op.operands) != 3 or not linalg.isa_contraction_op(op):
        return None
    if not all(inner.name in EXTENSIONS for inner in _unary_in(op)):
        return None  # which upstream sees through, whatever it computes
    roles = linalg.infer_contraction_dimensions(op)
    batch, m, n, k = (tuple(int(i) for i in part) for part in (roles.batch, roles.m, roles.n, roles.k))
    found = Contraction(op, batch, m, n, k)
    return found if found.rank == len(loop_extents(op)) else None  # a loop that neither factor follows has no role


def _unary_in(op: ir.Operation) -> list[ir.Operation]:
    body = op.regions[0].blocks[0].operations
    return [inner.operation for inner in list(body)[:-1] if len(inner.operation.operands) == 1]


def contractions(root: ir.Operation) -> list[Contraction]:
    """Every contraction below `root` that is not part of a bundle, in program order."""
    found = (match_contraction(op) for op in ops_of(root) if BUNDLE not in op.attributes)
    return [c for c in found if c is not None]


def static_matmuls(root: ir.Operation) -> list[Contraction]:
    """The contractions below `root` that are matmuls on static tensors; says nothing about others."""
    return [c for c in contractions(root) if not c.is_packed and is_matmul(c) and not has_heads(c)]


def open_matmuls(root: ir.Operation) -> list[Contraction]:
    """Those of them that nobody has said a strategy of."""
    return [matmul for matmul in static_matmuls(root) if STRATEGY not in matmul.op.attributes]


def has_heads(contraction: Contraction) -> bool:
    """Whether a matmul reads what an elementwise op computes for it alone: the two are a bundle then.

    A named matmul is in no bundle: what ends another group is no head of it.
    """
    op = contraction.op
    sources = (producer(value, _GENERIC) for value in (contraction.lhs, contraction.rhs))
    heads = [source for source in sources if source is not None and is_head(source) and not only_moves(source)]
    return any(op.name == _GENERIC or bundle_number(head) is None for head in heads)


def bundle_number(op: ir.Operation) -> int | None:
    """The number of the bundle that an op says it is in, if it says one."""
    said = op.attributes.get(BUNDLE)
    return int(ir.IntegerAttr(said).value) if isinstance(said, ir.IntegerAttr) else None


def only_moves(op: ir.Operation) -> bool:
    """Whether a linalg.generic yields an input as it is."""
    return len(op.regions[0].blocks[0].operations) == 1


def is_head(op: ir.Operation) -> bool:
    """An elementwise op with one user that costs little enough to be computed again for every tile that reads it."""
    if op.name != _GENERIC or not op.results or not is_elementwise(op) or only_user(op.results[0]) is None:
        return False
    return not any(inner.name.startswith(COSTLY) for inner in ops_of(op))


def matmuls(root: ir.Operation, context: PassContext) -> list[Contraction]:
    """Every matmul below `root` that a pass can work on; an error for each named contraction that it cannot.

    Others are parts of bundles.
    """
    own = (c for c in contractions(root) if not c.is_packed and (is_matmul(c) or c.op.name != _GENERIC))
    found = [c for c in own if c.op.name != _GENERIC or not has_heads(c)]
    for contraction in found:
        if not is_matmul(contraction):
            what = f"{contraction.op.name} is no matmul on static tensors with one m, n and k loop"
            context.error(contraction.op, what, "npuflow-check-input says what can be compiled")
    return [] if context.failed else found


def is_matmul(contraction: Contraction) -> bool:
    """Whether a contraction has one m, n and k loop, of static sizes."""
    if not contraction.op.results or {len(contraction.m), len(contraction.n), len(contraction.k)} != {1}:
        return False
    return 0 not in contraction.loop_extents()


def producer(value: ir.Value, *names: str) -> ir.Operation | None:
    """The op that defines `value`, if it has one of `names`."""
    owner = value.owner
    if isinstance(owner, ir.Block):
        return None
    op = owner.operation
    return op if not names or op.name in names else None


def users(value: ir.Value) -> list[ir.Operation]:
    return [use.owner.operation for use in value.uses]


def only_user(value: ir.Value) -> ir.Operation | None:
    found = users(value)
    return found[0] if len(found) == 1 else None


def is_parallel(op: ir.Operation) -> bool:
    """A linalg.generic with parallel loops only."""
    if op.name != _GENERIC:
        return False
    return all("parallel" in str(kind) for kind in ir.ArrayAttr(op.attributes["iterator_types"]))


def is_elementwise(op: ir.Operation) -> bool:
    """A linalg.generic with parallel loops only whose one result is indexed by the loops in order."""
    if not is_parallel(op) or len(op.results) != 1:
        return False
    written = operand_loops(op)[-1]
    return written == list(range(len(ir.ArrayAttr(op.attributes["iterator_types"]))))


def fill_of(contraction: Contraction) -> ir.Operation | None:
    """The fill that initialises the accumulator."""
    return producer(contraction.init, "linalg.fill")


def root_of(contraction: Contraction) -> ir.Operation:
    """The op whose result leaves the group: the tail if there is one."""
    return tail_of(contraction) or contraction.op


def k_loops(contraction: Contraction) -> list[ir.Operation]:
    """The `scf.for` loops that carry the accumulator, innermost first."""
    loops = []
    value = contraction.init
    packed = producer(value, "linalg.pack")
    if packed is not None:
        value = packed.operands[0]
    while isinstance(value, ir.BlockArgument):
        loop = value.owner.owner.operation
        if loop.name != "scf.for" or value.arg_number == 0:
            break
        loops.append(loop)
        value = loop.operands[2 + value.arg_number]
    return loops


def enclosing(op: ir.Operation, name: str) -> ir.Operation | None:
    """The innermost op called `name` around `op`."""
    return next((parent for parent in parents_of(op) if parent.name == name), None)


def final_result(contraction: Contraction) -> ir.Value:
    """The contraction's sum after all of its K loops."""
    loops = k_loops(contraction)
    return loops[-1].results[0] if loops else contraction.result


def tail_of(contraction: Contraction) -> ir.Operation | None:
    """The elementwise op that alone consumes the sum (after its K loops), element by element.

    Where it adds up two matmuls, `x W + h U`, it is the tail of the first: the other's result is something it reads.
    """
    value = final_result(contraction)
    user = only_user(value)
    if user is None or BUNDLE in user.attributes or not is_elementwise(user) or not _reads_in_place(user, value):
        return None
    return None if any(_has_tail_before(contraction, user, other) for other in user.operands) else user


def _reads_in_place(user: ir.Operation, value: ir.Value) -> bool:
    """Whether an elementwise op reads the element of `value` that it writes."""
    position = list(user.operands).index(value)
    loops = operand_loops(user)
    outs = len(user.operands) - 1
    return position < outs and loops[position] == loops[outs]


def _has_tail_before(contraction: Contraction, user: ir.Operation, value: ir.Value) -> bool:
    """Whether `value` is the sum of a matmul in front of `contraction` that can have `user` as its tail."""
    op = producer(value)
    if op is None or op.block != contraction.op.block or not op.is_before_in_block(contraction.op):
        return False
    other = match_contraction(op)
    is_candidate = other is not None and is_matmul(other) and not has_heads(other)
    return is_candidate and only_user(value) is not None and _reads_in_place(user, value)

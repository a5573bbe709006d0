"""Matmuls with their tails, and bundles, as the strategy sees them. Reads IR and changes nothing."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from math import prod

from npuflow.bindings import ir
from npuflow.core.build import element_bytes, element_type_of, shape_of
from npuflow.kernels.describe_vector import describe_vector_work
from npuflow.kernels.vector_cycles import VectorOperand, VectorWork
from npuflow.ops.bundle import Bundle
from npuflow.ops.bundle_ops import unpadded
from npuflow.ops.contraction import INIT, Contraction, fill_of, operand_loops, producer, root_of, tail_of, users
from npuflow.ops.linear import Linear, input_count
from npuflow.ops.padding import marked_padding
from npuflow.ops.products import RESHAPED, Products, match_products, pads_streamed
from npuflow.ops.reshapes import unreshaped
from npuflow.ops.streams import stream_of
from npuflow.ops.window_sums import match_window_sums
from npuflow.strategy.describe_kept import KeptWork
from npuflow.strategy.group import BATCH, Group, K, M, MatmulOperand, N, OpWork, Role, Tensor

Numbers = Mapping[ir.Value, int]
_OPERANDS = (MatmulOperand.LHS, MatmulOperand.RHS, MatmulOperand.START)


def types_of(contraction: Contraction) -> tuple[str, str, str]:
    """The element types of operands and sum."""
    lhs, rhs, acc = (str(element_type_of(v)) for v in (contraction.lhs, contraction.rhs, contraction.init))
    return lhs, rhs, acc


def group_of_matmul(contraction: Contraction, numbers: Numbers | None = None) -> Group:
    """The matmul's sizes, its operands, what its tail does and reads; tensors between groups are numbered."""
    sizes = contraction.loop_extents()
    roles = {contraction.m[0]: M, contraction.n[0]: N, contraction.k[0]: K}
    batch = prod(sizes[loop] for loop in contraction.batch)
    tail, root = tail_of(contraction), root_of(contraction)
    values = (contraction.lhs, contraction.rhs, contraction.init)
    lhs, rhs, start = (
        _matmul_tensor(operand.value, Role.INPUT, operand, [roles.get(loop, BATCH) for loop in loops], value, numbers)
        for operand, loops, value in zip(_OPERANDS, operand_loops(contraction.op), values)
    )
    tensors, work = [lhs, rhs], [_product(types_of(contraction), RESHAPED in contraction.op.attributes)]
    if (fill := fill_of(contraction)) is None:
        tensors.append(replace(start, name="sum"))
    else:
        opens = types_of(contraction)
        work.append(OpWork((M, N, BATCH), _packed(describe_vector_work(fill)), starting=True, opens=opens))
    if tail is None:
        number = _number(root.results[0], numbers)
        tensors.append(replace(start, name="result", operand=MatmulOperand.SUM, role=Role.OUTPUT, number=number))
    else:
        made = read_along(contraction, tail, len(tail.operands) - 1)
        result = _matmul_tensor("result", Role.OUTPUT, None, made, root.results[0], numbers)
        own = replace(start, name="sum", operand=MatmulOperand.SUM, role=Role.LOCAL, handed_over=True, number=None)
        tensors += [own, result, *_tail_tensors(contraction, tail, numbers)]
        work.append(OpWork((M, N, BATCH), _packed(describe_vector_work(tail))))
    extents = (sizes[contraction.m[0]], sizes[contraction.n[0]], batch, sizes[contraction.k[0]])
    return Group(extents, 3, (K,), tuple(tensors), tuple(work), True, packed=True)


def read_along(contraction: Contraction, tail: ir.Operation, index: int) -> list[int]:
    """The loops of a matmul's group that a tail's operand follows, one for each of its dimensions that do."""
    roles = {contraction.m[0]: M, contraction.n[0]: N}
    made = [roles.get(loop, BATCH) for loop in operand_loops(contraction.op)[INIT]]
    return [made[loop] for loop in operand_loops(tail)[index] if loop >= 0]


def _product(types: tuple[str, str, str], may_reshape: bool) -> OpWork:
    products = Products(types, (M,), (N,), (K,), (BATCH,), may_reshape=may_reshape)
    return OpWork((M, N, BATCH, K), None, products, pieced=True)


def _matmul_tensor(
    name: str,
    role: Role,
    operand: MatmulOperand | None,
    loops: list[int],
    value: ir.Value,
    numbers: Numbers | None,
) -> Tensor:
    """A tensor that follows loops of a matmul; of batches there is one loop, whatever they are made of."""
    extents: dict[int, int] = {}
    for loop, size in zip(loops, shape_of(value)):
        extents[loop] = extents.get(loop, 1) * size
    dims = tuple(Linear(((loop, 1),)) for loop in extents)
    size, user = element_bytes(element_type_of(value)), 1 if operand is MatmulOperand.TAIL else 0
    number = _number(value, numbers)
    return Tensor(name, role, dims, tuple(extents.values()), size, False, operand, user, user, number=number)


def _number(value: ir.Value, numbers: Numbers | None) -> int | None:
    """Which of the numbered values it is, perhaps in another shape, or with zeros around it."""
    return numbers.get(unreshaped(unpadded(unreshaped(value)))) if numbers else None


def _tail_tensors(contraction: Contraction, tail: ir.Operation, numbers: Numbers | None) -> list[Tensor]:
    """What a tail reads beside the sum."""
    found: list[Tensor] = []
    for index, value in enumerate(list(tail.operands)[:-1]):
        if isinstance(value.type, ir.ShapedType) and value != contraction.result:
            loops = read_along(contraction, tail, index)
            name = f"tail{len(found)}"
            found.append(_matmul_tensor(name, Role.INPUT, MatmulOperand.TAIL, loops, value, numbers))
    return found


def _packed(tail: VectorWork) -> VectorWork:
    """A tail on packed sums: loops over pieces along m and n and inside of them; one loop where operands are alike."""
    if len(tail.runs) == 1:
        return replace(tail, runs=((0, 1, 2, 3),))

    def packed(operand: VectorOperand) -> VectorOperand:
        follows_n = len(tail.runs) - 1 in operand.follows
        follows_m = any(run < len(tail.runs) - 1 for run in operand.follows)
        lies = tuple(loop for loop in range(4) if (follows_m, follows_n)[loop % 2])
        return VectorOperand(operand.element_bytes, frozenset(lies), lies)

    inputs, outputs = (tuple(map(packed, operands)) for operands in (tail.inputs, tail.outputs))
    return replace(tail, runs=((0,), (1,), (2,), (3,)), sums=(False,) * 4, inputs=inputs, outputs=outputs)


def group_of_bundle(bundle: Bundle, numbers: Numbers | None = None) -> Group:
    """The bundle's sizes, tensors and work; tensors that are between groups are numbered."""
    tensors: dict[tuple[object, ...], Tensor] = {}
    work, stream, kept = [], stream_of(bundle), KeptWork(bundle)
    starts: list[tuple[int, OpWork]] = []
    for index, op in enumerate(bundle.ops):
        maps = bundle.maps(index)
        arguments = op.regions[0].blocks[0].arguments
        for number, (value, dims) in enumerate(zip(op.operands, maps)):
            if not isinstance(value.type, ir.ShapedType) or bundle.is_internal(value):
                continue
            is_init = number >= input_count(op)
            if is_init and (start := producer(value, "linalg.fill", "tensor.empty")) is not None:
                starts += [(index, each) for each in _start(start, dims, op, pieced=bundle.kept is not None)]
                continue
            is_read = is_init or any(True for _ in arguments[number].uses)
            key = (value, tuple((_in_space(bundle, dim), dim.extent(bundle.sizes)) for dim in dims))
            role = Role.INPUT if is_read else Role.LOCAL
            read = kept.read(index, dims)
            known = tensors.get(key)
            first = known or _tensor(f"in{len(tensors)}", role, unpadded(value), read, index)
            pads = bundle.kept is None and bool(marked_padding(op, number)) and (known is None or known.padded)
            tensors[key] = replace(first, last_user=index, number=_number(value, numbers), padded=pads)
        for number, result in enumerate(op.results):
            if bundle.is_internal(op.operands[input_count(op) + number]) and op != bundle.root:
                continue  # which lies where it is written over
            outside = any(user not in bundle.ops for user in users(result))
            role = Role.OUTPUT if outside or op == bundle.root else Role.LOCAL
            made = _tensor(f"out{len(tensors)}", role, result, kept.line(index, maps[input_count(op) + number]))
            handed_over = role is Role.LOCAL and _is_handed_over(bundle, result)
            tensors[index, number] = replace(made, handed_over=handed_over, number=_number(result, numbers))
        pieced = index in stream.ops
        products, windows = match_products(op), match_window_sums(op)
        work.append(OpWork(bundle.loops[index], describe_vector_work(op), products, pieced, windows=windows))
    also = [*kept.first_work([*enumerate(work), *starts]), *kept.moves()]
    return Group(
        (*bundle.sizes, *kept.sizes),
        bundle.space,
        stream.loops,
        tuple(tensors.values()),
        (*work, *(each for _, each in starts), *also),
        pads_streamed(bundle),
        keeps_rows=bundle.kept is not None,
    )


def _start(op: ir.Operation, dims: tuple[Linear, ...], user: ir.Operation, *, pieced: bool) -> list[OpWork]:
    """A fill, whose result `user` writes over, as work along the loops that index that; nothing where others do."""
    loops = tuple(dim.loop for dim in dims if dim.loop is not None)
    is_fill = op.name == "linalg.fill" and len(loops) == len(dims)
    if not is_fill:
        return []
    products = match_products(user)
    opens = products.types if products else match_window_sums(user)
    return [OpWork(loops, describe_vector_work(op), pieced=pieced, starting=not pieced, opens=opens)]


def _is_handed_over(bundle: Bundle, result: ir.Value) -> bool:
    """Whether both sums of products and ops that are none touch what an op makes, or writes on over it."""
    touching, values = {bundle.ops.index(result.owner)}, [result]
    while values:
        for use in values.pop().uses:
            user = use.owner.operation
            if user in bundle.ops and (number := bundle.ops.index(user)) not in touching:
                touching.add(number)
                place = use.operand_number - input_count(user)
                values += [user.results[place]] if place >= 0 else []
    ops = [bundle.ops[number] for number in touching]
    return len({match_products(op) is None and match_window_sums(op) is None for op in ops}) > 1


def _in_space(bundle: Bundle, dim: Linear) -> tuple[tuple[int, int], ...]:
    return tuple((loop, c) for loop, c in dim.terms if loop < bundle.space)


def _tensor(name: str, role: Role, value: ir.Value, dims: tuple[Linear, ...], user: int = 0) -> Tensor:
    return Tensor(name, role, dims, tuple(shape_of(value)), element_bytes(element_type_of(value)), user=user)

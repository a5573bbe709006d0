"""Tensors that are put together, and the groups that can write the parts of one where they belong. Edits IR."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from math import prod

from npuflow.bindings import ir, tensor
from npuflow.constants.joined_parts import Join, join_of
from npuflow.constants.known_tensors import KnownTensors
from npuflow.core.build import (
    at,
    element_bytes,
    element_type_of,
    empty,
    has_unit_strides,
    insert_slice,
    offsets_of,
    reassociation_of,
    shape_of,
    slice_along,
)
from npuflow.core.passes import ops_of
from npuflow.network.groups import FusionGroup
from npuflow.ops.contraction import BUNDLE, STRATEGY, producer, users
from npuflow.ops.reshapes import RESHAPES, readers, reshapes_of
from npuflow.target import Device
from npuflow.target.planned import goes_around_l2

_EXPAND = "tensor.expand_shape"


@dataclass(frozen=True)
class JoinPiece:
    """So much of a tensor along the dimension of a join, from `begin` on."""

    value: ir.Value
    begin: int
    size: int


@dataclass(frozen=True)
class _PlaceInWhole:
    """Where a part lies in a whole: a slice along one dimension, from `begin` on."""

    whole: tuple[int, ...]
    along: int
    begin: int

    def slice_of(self, value: ir.Value, own: ir.Value) -> ir.Value:
        return slice_along(value, self.along, self.begin, shape_of(own)[self.along])

    def put(self, own: ir.Value, into: ir.Value) -> ir.Value:
        offsets = [self.begin if d == self.along else 0 for d in range(len(self.whole))]
        return insert_slice(own, into, offsets, shape_of(own))


@dataclass(frozen=True)
class PartWriter:
    """A group that makes a part of a join: the last of `values`, the first is the part, as what it is reshaped.

    `places` are where these lie in the whole, in the shape that it has as they do.
    """

    values: tuple[ir.Value, ...]
    places: tuple[_PlaceInWhole, ...]

    @property
    def result(self) -> ir.Value:
        return self.values[-1]

    def of(self, result: ir.Value) -> PartWriter:
        """The same of another op in the place of the one that makes the part."""
        return replace(self, values=(*self.values[:-1], result))

    def write(self, whole: ir.Value | None) -> list[ir.Value]:
        """Inserts what is made into what there is of the whole; what there is then, and the slices that others read."""
        reshapes = [value.owner.operation for value in self.values[:-1]]
        element, slices = element_type_of(self.result), list[ir.Value]()
        with at(self.result.owner.operation, after=True):
            if whole is None:
                whole = empty(self.places[-1].whole, element)
            else:
                for place, reshape in zip(self.places[1:], reshapes):
                    whole = _reshaped(whole, place.whole, reassociation_of(reshape))
            made = whole = self.places[-1].put(self.result, whole)
            for value, place, reshape in reversed([*zip(self.values, self.places, [*reshapes, None])]):
                if reshape is not None:
                    whole = _reshaped(whole, place.whole, reassociation_of(reshape))
                slices.insert(0, place.slice_of(whole, value))
        for value, own in zip(self.values, slices):
            _replace(value, own, [made.owner.operation, *reshapes])
        for reshape in reshapes:
            reshape.erase()
        return [whole, *slices]


def _reshaped(value: ir.Value, shape: Sequence[int], groups: Sequence[Sequence[int]]) -> ir.Value:
    kind, own = ir.RankedTensorType.get(shape, element_type_of(value)), [list(group) for group in groups]
    if len(shape) < len(shape_of(value)):
        return tensor.CollapseShapeOp(kind, value, own).result
    return tensor.ExpandShapeOp(kind, value, own, [], list(shape)).result


def _replace(value: ir.Value, other: ir.Value, kept: Sequence[ir.Operation]) -> None:
    """Has all that read a value read another one, but for some ops, and for what makes the other."""
    for use in list(value.uses):
        user = use.owner.operation
        if user not in kept and user != other.owner.operation:
            user.operands[use.operand_number] = other


@dataclass
class Joins:
    """A function's joins, the ops `made`, and its groups by their results; matmuls may write if they become `bundles`.

    `versions` says of what a writer leaves of which tensor it is a version, and which one; `written` are the results of
    writers.
    """

    device: Device
    known: KnownTensors
    made: Sequence[ir.Operation]
    groups: Mapping[ir.Value, FusionGroup]
    bundles: bool
    versions: dict[ir.Value, tuple[int, int]] = field(default_factory=dict)
    written: set[ir.Value] = field(default_factory=set)

    def join_of(self, op: ir.Operation) -> Join:
        join = join_of(op, self.known)
        assert join is not None, "nothing but what joins read changes"
        return join

    def pieces(self, join: Join) -> list[JoinPiece]:
        """What a join is made of, neighbours in one tensor as one."""
        found = list[JoinPiece]()
        for part in join.parts:
            for piece in self._flat(part.value, 0, shape_of(part.value)[join.dimension], join.dimension):
                last = found[-1] if found else None
                if last is None or not self._are_of_one(last, piece) or last.begin + last.size != piece.begin:
                    found.append(piece)
                    continue
                later = max(last.value, piece.value, key=lambda value: self.versions.get(value, (0, 0)))
                found[-1] = JoinPiece(later, last.begin, last.size + piece.size)
        return found

    def _are_of_one(self, one: JoinPiece, other: JoinPiece) -> bool:
        tensors = [self.versions.get(each.value, (-1, 0))[0] for each in (one, other)]
        return one.value == other.value or (tensors[0] == tensors[1] >= 0)

    def _flat(self, value: ir.Value, begin: int, size: int, dimension: int) -> Iterator[JoinPiece]:
        """So much of a value, by what it is a slice of, or joined from."""
        while (source := _sliced_along(value, dimension)) is not None:
            value, begin = source.value, begin + source.begin
        maker = producer(value, "linalg.generic")
        inner = join_of(maker, self.known) if maker is not None and maker in self.made else None
        if inner is None or not inner.is_all or inner.dimension != dimension:
            yield JoinPiece(value, begin, size)
            return
        for part in inner.parts:
            first, end = max(begin, part.begin), min(begin + size, part.begin + shape_of(part.value)[dimension])
            if first < end:
                yield from self._flat(part.value, first - part.begin, end - first, dimension)

    def writers(self, join: Join, pieces: Sequence[JoinPiece]) -> list[PartWriter] | str:
        """The groups that make all the pieces of a join, in the order in which they run, or why they can't write it."""
        found, begin = list[PartWriter](), 0
        for piece in pieces:
            writer = self._writer(join, piece, begin)
            if isinstance(writer, str):
                return writer
            found.append(writer)
            begin += piece.size
        if len({writer.result for writer in found}) < len(found):
            return "one part comes twice"
        order = {result: number for number, result in enumerate(self.groups)}
        return sorted(found, key=lambda writer: order[writer.result])

    def _writer(self, join: Join, piece: JoinPiece, begin: int) -> PartWriter | str:
        part, along = piece.value, join.dimension
        reshapes = reshapes_of(part)
        values = part, *(reshape.operands[0] for reshape in reshapes)
        group = self.groups.get(values[-1])
        if group is None:
            return "a part of it is no group's result"
        if piece.begin or piece.size != shape_of(part)[along]:
            return "of a group's result it has a part"
        if not self._may_write(group):
            return "what makes a part of it is written elsewhere, or mapped in a way that can't be changed"
        if is_result(values[-1]):
            return "a part of it is a result by itself"
        if not self._is_aligned(join, begin, piece.size):
            return "a part of it begins or ends within what channels move at once"
        if not all(can_be_slice(value, join, reshapes) for value in values):
            return "a part of it is reshaped, which is in pieces there"
        places = [_PlaceInWhole(tuple(join.whole.shape), along, begin)]
        for reshape in reshapes:
            place = _before(reshape, places[-1])
            if place is None:
                return "what makes a part of it makes that in another order"
            places.append(place)
        return PartWriter(values, tuple(places))

    def _may_write(self, group: FusionGroup) -> bool:
        is_free = group.root.results[0] not in self.written and group.insertion is None and len(group.root.results) == 1
        is_open = BUNDLE in group.root.attributes or not any(STRATEGY in op.attributes for op in group.ops)
        return is_free and is_open and (self.bundles or not group.is_matmul)

    def _is_aligned(self, join: Join, begin: int, size: int) -> bool:
        """Whether channels can write a part by itself, and read it."""
        patterns = (dma.pattern for dma in self.device.dmas)
        granule = max((pattern.granule_bytes for pattern in patterns if pattern is not None), default=1)
        inner = prod(join.whole.shape[join.dimension + 1 :]) * element_bytes(join.whole.element_type)
        return begin * inner % granule == 0 and size * inner % granule == 0


def joins_in(
    function: ir.Operation, groups: Callable[[], Sequence[FusionGroup]], device: Device, *, bundles: bool
) -> Joins:
    """The joins of a function, and its groups where it has one; none where no memory in between keeps them."""
    known = KnownTensors()
    ops = [] if goes_around_l2(device) else ops_of(function)
    made = [op for op in ops if join_of(op, known) is not None]
    writers = {group.root.results[0]: group for group in groups()} if made else {}
    return Joins(device, known, made, writers, bundles)


def written_in_place(
    function: ir.Operation, groups: Sequence[FusionGroup], device: Device, *, bundles: bool
) -> set[ir.Value]:
    """What is put together by nobody, if the groups stay as they are: who makes the parts writes it."""
    joins, found, parts = joins_in(function, lambda: groups, device, bundles=bundles), set[ir.Value](), set[ir.Value]()
    for join in map(joins.join_of, reversed(joins.made)):
        writers = joins.writers(join, joins.pieces(join))
        result = join.op.results[0]
        if isinstance(writers, str) or (join.is_all and result in parts):
            continue
        parts |= {writer.result for writer in writers}
        found |= {result} if join.is_all else set()
    return found


def can_be_slice(value: ir.Value, join: Join, reshapes: Sequence[ir.Operation] = ()) -> bool:
    """Whether a part of a join can be a slice of it for all that read it, but for some `reshapes`.

    What isn't in one piece can't be reshaped where it lies.
    """
    is_one = prod(join.whole.shape[: join.dimension]) == 1
    return is_one or not any(user.name in RESHAPES and user not in reshapes for user in users(value))


def is_result(value: ir.Value) -> bool:
    """Whether a function returns a value, in whatever shape."""
    return any(op.name == "func.return" for op in readers(value))


def _sliced_along(value: ir.Value, dimension: int) -> JoinPiece | None:
    """What a value is a slice of along one dimension, all of others."""
    op = producer(value, "tensor.extract_slice")
    if op is None or not has_unit_strides(op) or len(op.operands) > 1:
        return None
    source, shape, offsets = op.operands[0], shape_of(value), offsets_of(op)
    begin = offsets[dimension] if len(offsets) == len(shape) else None
    same = [size for d, size in enumerate(shape) if d != dimension] == [
        size for d, size in enumerate(shape_of(source)) if d != dimension
    ]
    return JoinPiece(source, begin, shape[dimension]) if same and isinstance(begin, int) else None


def _before(reshape: ir.Operation, place: _PlaceInWhole) -> _PlaceInWhole | None:
    """The place of what is reshaped, in a whole that is reshaped so as well; None where that is no slice."""
    groups, own, whole = reassociation_of(reshape), shape_of(reshape.operands[0]), place.whole
    if reshape.name == _EXPAND:
        group = next(group for group in groups if place.along in group)
        if prod(whole[d] for d in group if d < place.along) > 1:
            return None
        shape = tuple(prod(whole[d] for d in each) for each in groups)
        return _PlaceInWhole(shape, groups.index(group), place.begin * prod(whole[d] for d in group if d > place.along))
    outer, *rest = groups[place.along]
    inner = prod(own[d] for d in rest)
    if place.begin % inner or whole[place.along] % inner:
        return None
    sizes = {**dict(enumerate(own)), outer: whole[place.along] // inner}
    return _PlaceInWhole(tuple(sizes[d] for d in range(len(own))), outer, place.begin // inner)

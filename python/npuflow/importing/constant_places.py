"""Places that ops read of tensors, where these are known: slices, of which they read the beginning."""

from __future__ import annotations

from npuflow.bindings import ir
from npuflow.core.build import at, extract_slice, shape_of
from npuflow.core.passes import ops_of
from npuflow.ops.linear import input_count, maps_of, set_maps


def read_slices(module: ir.Module) -> None:
    """Has ops read the first place of a slice, for a known other place of a dimension. Edits the module.

        linalg.generic {indexing_maps = [(d0) -> (d0, 1)]} ins(%a : tensor<4x2xf32>)

    becomes

        %s = tensor.extract_slice %a[0, 1] [4, 1] [1, 1]
        linalg.generic {indexing_maps = [(d0) -> (d0, 0)]} ins(%s : tensor<4x1xf32>)
    """
    for op in ops_of(module.operation, "linalg.generic"):
        maps, inputs = [*maps_of(op)], input_count(op)
        for number, (value, indexed) in enumerate(zip([*op.operands][:inputs], maps[:inputs], strict=True)):
            places = [one.value if isinstance(one, ir.AffineConstantExpr) else None for one in indexed.results]
            if not any(places):
                continue
            sizes = [size if place is None else 1 for size, place in zip(shape_of(value), places, strict=True)]
            with at(op):
                op.operands[number] = extract_slice(value, [place or 0 for place in places], sizes)
                first = ir.AffineConstantExpr.get(0)
                results = [one if place is None else first for one, place in zip(indexed.results, places, strict=True)]
                maps[number] = ir.AffineMap.get(indexed.n_dims, indexed.n_symbols, results)
                set_maps(op, maps)

"""How a group's transfers go through DRAM, as access patterns of descriptors see it. Pure."""

from __future__ import annotations

from npuflow.strategy.group import Group, Tensor, Tiles
from npuflow.target.model import PatternLimits
from npuflow.target.runs import DramRuns


def pattern_dims(group: Group, tensor: Tensor, part: Tiles, limits: PatternLimits) -> int:
    """Dimensions of the pattern in DRAM of such a part of a tensor; whole ones go on in the next.

    Where windows reach over an edge in some places and not in others, the sizes differ, and nothing goes on. A run that
    is longer than a dimension may be is two, behind which others stand.
    """
    is_long = tensor.run_bytes(part) > limits.size_max * limits.granule_bytes
    dims, is_whole = 1 + is_long, True
    for dim, size in zip(reversed(tensor.dims), reversed(tensor.shape)):
        extent, all_ = dim.extent(part), dim.extent(group.sizes)
        is_cut = all_ > max(size, extent)
        dims += extent > 1 and (is_cut or not is_whole)
        is_whole = extent >= size and not is_cut
    return dims


def steps_evenly(group: Group, tensor: Tensor, loop: int, piece: int, limits: PatternLimits) -> bool:
    """Whether a tensor's place moves by equal steps from piece to piece, which a pattern's stride can take."""
    if not tensor.follows(loop) or group.sizes[loop] % piece:
        return False
    return tensor.strides[loop] * piece <= limits.stride_max * limits.granule_bytes


def runs_of(group: Group, tensor: Tensor, part: Tiles) -> DramRuns:
    """The contiguous runs in DRAM of such parts of a tensor, wherever blocks, columns and pieces have theirs.

    Windows that reach over an edge are cut off there, and begin at any place along it.
    """
    run, apart = tensor.element_bytes, []
    for dim, size, pitch in zip(reversed(tensor.dims), reversed(tensor.shape), reversed(tensor.pitches)):
        extent = min(dim.extent(part), size)
        if run == pitch:
            run *= extent
        elif extent > 1:
            apart.append(pitch)
    steps = (tensor.strides[loop] * part[loop] for loop in tensor.loops if part[loop] < group.sizes[loop])
    return DramRuns(run, apart[0] if apart else 0, 0, (*apart, *steps, *group.cut_off_bytes[tensor.name]))

"""Every family of operator programs: what tables show and tests draw."""

from __future__ import annotations

from npuflow.testing.operator_chains import AttentionScores, ConvolutionPair
from npuflow.testing.operator_moves import Cast, Reshaped, Turned
from npuflow.testing.operator_places import Padded, Placed
from npuflow.testing.operator_products import Product
from npuflow.testing.operator_rows import Elementwise, Norm, Reduction, Softmax
from npuflow.testing.operator_slices import Gathered, Inserted, Joined, Scanned, Sliced, Sorted
from npuflow.testing.operator_windows import Convolution, Pooling
from npuflow.testing.operators import OperatorProgram

# In the order in which tables show them.
OPERATOR_FAMILIES: tuple[type[OperatorProgram], ...] = (
    Convolution,
    Pooling,
    Product,
    Elementwise,
    Reduction,
    Softmax,
    Norm,
    Turned,
    Reshaped,
    Cast,
    Padded,
    Placed,
    Sliced,
    Joined,
    Inserted,
    Gathered,
    Scanned,
    Sorted,
    ConvolutionPair,
    AttentionScores,
)

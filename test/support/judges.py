"""Who confirms what programs compute, in tests that are about what becomes of them.

Their own execution says that already; the tests of `execute`, drawn operators and the command lines ask IREE about it,
which takes as long as compiling, simulating and executing a small program together. At night all do.
"""

from __future__ import annotations

from profiles import NIGHTLY

from npuflow.execute.references import Judge

JUDGE = Judge.IREE if NIGHTLY else Judge.JIT

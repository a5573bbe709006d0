"""The functions that stand behind a program's kernels in functional runs."""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from enum import Enum

import numpy as np
from numpy.typing import NDArray

from npuflow.simulate.program import FlatAccess, FlatCompute

PythonKernel = Callable[..., None]

_CALLBACK = ctypes.CFUNCTYPE(None, ctypes.POINTER(ctypes.c_void_p))


class Abi(Enum):
    """How a kernel is called: `void f(void **args)` either way.

    `POINTERS`: args[i] is the address of operand i's first element. `MEMREFS`: args[i] points to a pointer to operand
    i's strided memref descriptor, as MLIR's execution engine packs the arguments of `_mlir_ciface_f`.
    """

    POINTERS = "pointers"
    MEMREFS = "memrefs"


@dataclass(frozen=True)
class KernelFunction:
    """A compiled function by its address; `keep` holds whatever must stay alive as long as it may be called.

    One that is `ours` is no code of an input's, and may be called in our own process.
    """

    address: int
    abi: Abi = Abi.POINTERS
    keep: object = None
    ours: bool = False


def idle_kernel() -> KernelFunction:
    """A kernel that does nothing: for runs that are about who touches what, not about values."""
    wrapped = _CALLBACK(lambda _: None)
    address = ctypes.cast(wrapped, ctypes.c_void_p).value
    assert address is not None, "a callback has an address"
    return KernelFunction(address, Abi.POINTERS, wrapped, ours=True)


@dataclass
class PythonKernels:
    """Kernels written in Python: each is called with one numpy array per operand, to be read and written in place.

    An exception in one is kept, later calls do nothing, and `raise_first` raises it after the run.
    """

    errors: list[BaseException] = field(default_factory=list)

    def wrap(self, function: PythonKernel, call: FlatCompute, dtypes: Sequence[np.dtype]) -> KernelFunction:
        """`function` for calls whose operands have the shapes of `call`."""
        accesses = [operand.access for operand in call.operands]

        def callback(addresses: ctypes.Array[ctypes.c_void_p]) -> None:
            if self.errors:
                return
            try:
                function(*(_view(int(addresses[i] or 0), a, d) for i, (a, d) in enumerate(zip(accesses, dtypes))))
            except BaseException as error:  # noqa: BLE001  (nothing may pass through the native caller)
                self.errors.append(error)

        wrapped = _CALLBACK(callback)
        address = ctypes.cast(wrapped, ctypes.c_void_p).value
        assert address is not None, "a callback has an address"
        return KernelFunction(address, Abi.POINTERS, wrapped, ours=True)

    def raise_first(self) -> None:
        if self.errors:
            raise self.errors[0]


def _view(address: int, access: FlatAccess, dtype: np.dtype) -> NDArray[np.generic]:
    """The operand as an array over the simulated memory itself."""
    low = sum(min(0, s * (n - 1)) for n, s in zip(access.sizes, access.strides))
    high = sum(max(0, s * (n - 1)) for n, s in zip(access.sizes, access.strides)) + 1
    raw = (ctypes.c_uint8 * ((high - low) * access.element_bytes)).from_address(address + low * access.element_bytes)
    strides = tuple(s * access.element_bytes for s in access.strides)
    return np.ndarray(access.sizes, dtype, memoryview(raw), offset=-low * access.element_bytes, strides=strides)

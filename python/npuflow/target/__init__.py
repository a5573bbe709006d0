"""Device models: what an array can hold, compute and move, as data that a user can extend."""

from npuflow.target.fields import MACS_RATE
from npuflow.target.load import DEFAULT_DEVICE, device_names, load_device
from npuflow.target.matmul import MatmulShape
from npuflow.target.model import (
    ComputeEngine,
    Control,
    Device,
    DmaEngine,
    Dram,
    Link,
    MemoryLevel,
    PatternLimits,
    SharedBy,
)

__all__ = [
    "DEFAULT_DEVICE",
    "MACS_RATE",
    "ComputeEngine",
    "Control",
    "Device",
    "DmaEngine",
    "Dram",
    "Link",
    "MatmulShape",
    "MemoryLevel",
    "PatternLimits",
    "SharedBy",
    "device_names",
    "load_device",
]

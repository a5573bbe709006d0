"""Device models: what an array can hold, compute and move, as data that a user can extend."""

from npuflow.target.device import Device
from npuflow.target.fields import MACS_RATE
from npuflow.target.load import DEFAULT_DEVICE, device_names, load_device
from npuflow.target.matmul import MatmulShape
from npuflow.target.model import (
    ComputeEngine,
    Control,
    DmaEngine,
    Dram,
    Hop,
    KernelClass,
    Link,
    MemoryLevel,
    PatternLimits,
    SharedBy,
)
from npuflow.target.planned import planned
from npuflow.target.ways import Place, Stage, Ways, Work

__all__ = [
    "DEFAULT_DEVICE",
    "MACS_RATE",
    "ComputeEngine",
    "Control",
    "Device",
    "DmaEngine",
    "Dram",
    "Hop",
    "KernelClass",
    "Link",
    "MatmulShape",
    "MemoryLevel",
    "PatternLimits",
    "Place",
    "SharedBy",
    "Stage",
    "Ways",
    "Work",
    "device_names",
    "load_device",
    "planned",
]

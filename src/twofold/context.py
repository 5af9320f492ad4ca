"""``mx.context``: devices by MXNet's names. A face of `device` that asks the backends what is there."""

from .backend.loader import backend_for, gpu_count
from .device import Device, current_device

__all__ = ["Context", "cpu", "cpu_pinned", "cpu_shared", "current_context", "gpu", "gpu_memory_info", "num_gpus"]

Context = Device
current_context = current_device


def cpu(device_id: int = 0) -> Device:
    """The CPU; numbers are names only, all CPU devices are the same memory."""
    return Device("cpu", device_id)


def cpu_pinned(device_id: int = 0) -> Device:
    """The CPU's page-locked memory, from which copies to a GPU are fast."""
    return Device("cpu_pinned", device_id)


def cpu_shared(device_id: int = 0) -> Device:
    """The CPU's memory that processes share."""
    return Device("cpu_shared", device_id)


def gpu(device_id: int = 0) -> Device:
    """A GPU by number; whether it exists is asked when it is used."""
    return Device("gpu", device_id)


def num_gpus() -> int:
    """How many GPUs there are; 0 where no array library serves them."""
    return gpu_count()


def gpu_memory_info(device_id: int = 0) -> tuple[int, int]:
    """(free, total) bytes of a GPU's memory."""
    device = gpu(device_id)
    return backend_for(device).memory_info(device)

"""``mx.context``: devices under MXNet's names. The public face of `device`; it queries the backends."""

from .backend.loader import backend_for, gpu_count
from .device import Device, current_device

__all__ = ["Context", "cpu", "cpu_pinned", "cpu_shared", "current_context", "gpu", "gpu_memory_info", "num_gpus"]

Context = Device
current_context = current_device


def cpu(device_id: int = 0) -> Device:
    """The CPU. CPU devices of all numbers share the same memory.

    Parameters
    ----------
    device_id
        Number of the device, from 0.
    """
    return Device("cpu", device_id)


def cpu_pinned(device_id: int = 0) -> Device:
    """Page-locked host memory, for fast copies to a GPU.

    Parameters
    ----------
    device_id
        Number of the device, from 0.
    """
    return Device("cpu_pinned", device_id)


def cpu_shared(device_id: int = 0) -> Device:
    """Host memory shared between processes.

    Parameters
    ----------
    device_id
        Number of the device, from 0.
    """
    return Device("cpu_shared", device_id)


def gpu(device_id: int = 0) -> Device:
    """A GPU by number. Whether it exists is checked on first use.

    Parameters
    ----------
    device_id
        Number of the GPU, from 0.
    """
    return Device("gpu", device_id)


def num_gpus() -> int:
    """The number of GPUs; 0 if no adapter for GPUs is installed."""
    return gpu_count()


def gpu_memory_info(device_id: int = 0) -> tuple[int, int]:
    """(free, total) bytes of a GPU's memory.

    Parameters
    ----------
    device_id
        Number of the GPU, from 0.
    """
    device = gpu(device_id)
    return backend_for(device).memory_info(device)

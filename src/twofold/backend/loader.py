"""Finds adapters by the entry points of the group ``twofold.backends``, and loads them on first use."""

import os
from functools import cache
from importlib.metadata import entry_points

from ..device import Device
from ..errors import BackendUnavailable, DeviceError
from .protocol import Backend

GROUP = "twofold.backends"
#: Adapters by kind of device, best first; TWOFOLD_BACKEND_CPU and TWOFOLD_BACKEND_GPU override it.
PREFERENCE = {"cpu": ("numpy",), "gpu": ("cupy",)}


def backend_for(device: Device) -> Backend:
    """The adapter for a device.

    Raises
    ------
    BackendUnavailable
        If no adapter for this kind of device is installed and working.
    DeviceError
        If the device does not exist.
    """
    backend = _backend_of_kind("cpu" if device.is_host else "gpu")
    if not device.is_host and device.device_id >= backend.device_count():
        raise DeviceError(f"{device}: no such device", f"{backend.device_count()} of that kind", "see mx.context.num_gpus()")
    return backend


def gpu_count() -> int:
    """The number of GPUs; 0 if no array library serves them."""
    try:
        return backend_for(Device("gpu", 0)).device_count()
    except (BackendUnavailable, RuntimeError):
        return 0


@cache
def _backend_of_kind(kind: str) -> Backend:
    chosen = os.environ.get(f"TWOFOLD_BACKEND_{kind.upper()}")
    names = (chosen,) if chosen else PREFERENCE[kind]
    if kind == "gpu" and int(os.environ.get("TWOFOLD_FAKE_GPUS", "0")):
        names = ("fake",)
    found = {e.name: e for e in entry_points(group=GROUP)}
    reasons = []
    for name in names:
        if name not in found:
            reasons.append(f"{name}: not installed")
            continue
        try:
            return found[name].load()()
        except ImportError as error:
            reasons.append(f"{name}: {error}")
    raise BackendUnavailable(f"{kind}: no array library serves this kind of device", "; ".join(reasons), _HINT[kind])


_HINT = {
    "cpu": "reinstall twofold with its NumPy adapter",
    "gpu": "for NVIDIA GPUs: pip install 'twofold[cuda12]' (or cuda13); TWOFOLD_FAKE_GPUS=1 tries programs without one",
}

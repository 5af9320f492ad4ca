"""Finds adapters by the entry points of the group ``twofold.backends``, and loads them on first use."""

import os
import sys
from collections.abc import Callable, Iterator
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from ..config import fake_gpus
from ..device import TRIMMERS, Device, interned
from ..errors import BackendUnavailable, DeviceError
from .protocol import Backend

if TYPE_CHECKING:
    from importlib import metadata

GROUP = "twofold.backends"
#: Adapters by kind of device, best first; TWOFOLD_BACKEND_CPU and TWOFOLD_BACKEND_GPU override it.
PREFERENCE = {"cpu": ("numpy",), "gpu": ("cupy",)}


class EntryPoint(NamedTuple):
    """A name under which a distribution offers an object, ``module:attribute``."""

    name: str
    value: str

    def load(self) -> Callable[[], Backend]:
        """Import the object."""
        module, _, attribute = self.value.partition(":")
        factory: Callable[[], Backend] = getattr(import_module(module), attribute)
        return factory


def entry_points(group: str) -> Iterator[EntryPoint]:
    """The entry points of a group, as `importlib.metadata` finds them for installed distributions: importing that takes 25 ms."""
    for path in _files("entry_points.txt"):
        section = path.read_text("utf-8").partition(f"[{group}]\n")[2].partition("\n[")[0]
        for line in section.splitlines():
            name, is_entry, value = line.partition("=")
            if is_entry:
                yield EntryPoint(name.strip(), value.strip())


def _files(name: str) -> Iterator[Path]:
    """The files of this name in the metadata of installed distributions."""
    for folder in dict.fromkeys(sys.path):
        try:
            found = os.listdir(folder or os.curdir)
        except OSError:  # not a folder
            continue
        for directory in found:
            if directory.endswith((".dist-info", ".egg-info")):
                path = Path(folder, directory, name)
                if path.is_file():
                    yield path


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


TRIMMERS.append(lambda device: backend_for(device).trim())


def gpu_count() -> int:
    """The number of GPUs; 0 if no array library serves them."""
    try:
        return backend_for(interned("gpu", 0)).device_count()
    except (BackendUnavailable, RuntimeError):
        return 0


@cache
def _backend_of_kind(kind: str) -> Backend:
    chosen = os.environ.get(f"TWOFOLD_BACKEND_{kind.upper()}")
    names = (chosen,) if chosen else PREFERENCE[kind]
    if kind == "gpu" and fake_gpus():
        names = ("fake",)
    found: dict[str, EntryPoint | metadata.EntryPoint] = {e.name: e for e in entry_points(group=GROUP)}
    if not found.keys() >= set(names):  # installed in another way, such as in a zip archive
        found |= {e.name: e for e in import_module("importlib.metadata").entry_points(group=GROUP)}
    reasons = []
    for name in names:
        if name not in found:
            reasons.append(f"{name}: not installed")
            continue
        try:
            # an entry point names a class or function that makes the adapter
            return found[name].load()()
        except ImportError as error:
            # the adapter is there, but not its array library
            reasons.append(f"{name}: {error}")
    raise BackendUnavailable(f"{kind}: no array library serves this kind of device", "; ".join(reasons), _HINT[kind])


_HINT = {
    "cpu": "reinstall twofold with its NumPy adapter",
    "gpu": "use mx.cpu(); for NVIDIA GPUs pip install 'twofold[cuda12]' (or cuda13); TWOFOLD_FAKE_GPUS=1 tries programs without one",
}

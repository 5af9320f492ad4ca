"""DLPack exporters, and bare capsules, whose device can only be read from their contents."""

import ctypes
from typing import Protocol, runtime_checkable

from ..errors import DTypeError

#: DLPack's device types: CPU and pinned memory; CUDA and CUDA managed memory.
HOST_KINDS, GPU_KINDS = (1, 3), (2, 13)
#: Offset of the device in a capsule's struct, by the capsule's name (DLPack 1.1, ``DLManagedTensor`` and its versioned form).
OFFSETS = {b"dltensor": 8, b"dltensor_versioned": 40}


@runtime_checkable
class Exporter(Protocol):
    """An object that exports its memory through DLPack."""

    def __dlpack__(self, **options: object) -> object: ...

    def __dlpack_device__(self) -> tuple[int, int]: ...


class Capsule:
    """A bare DLPack capsule as an exporter. It cannot name a stream, so the consumer must wait for the whole device.

    Raises
    ------
    DTypeError
        If it is not a capsule, or has been consumed already.
    """

    def __init__(self, capsule: object) -> None:
        self._capsule = capsule
        self._device = _device_of(capsule)

    def __dlpack__(self, **options: object) -> object:
        return self._capsule

    def __dlpack_device__(self) -> tuple[int, int]:
        return self._device


def _device_of(capsule: object) -> tuple[int, int]:
    api = ctypes.pythonapi
    api.PyCapsule_GetName.restype, api.PyCapsule_GetName.argtypes = ctypes.c_char_p, [ctypes.py_object]
    api.PyCapsule_GetPointer.restype, api.PyCapsule_GetPointer.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]
    if type(capsule).__name__ != "PyCapsule":  # Python exports the class itself only from 3.13
        raise _invalid(f"{type(capsule).__name__}, which has no __dlpack__ and is not a capsule")
    name = api.PyCapsule_GetName(capsule)
    if name not in OFFSETS:  # a consumer renames the capsule, as its memory must not be released twice
        raise _invalid("a capsule already consumed" if name in {b"used_" + known for known in OFFSETS} else f"a capsule named {name!r}")
    address = api.PyCapsule_GetPointer(capsule, name) + OFFSETS[name]
    kind, number = (ctypes.c_int32 * 2).from_address(address)
    return kind, number


def _invalid(given: str) -> DTypeError:
    return DTypeError("from_dlpack: invalid DLPack tensor", given, "pass an array or an unused capsule")

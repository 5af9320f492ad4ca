"""Who hands out DLPack capsules, and bare capsules, which say by their content alone where their memory is."""

import ctypes
from typing import Any, Protocol, runtime_checkable

from ..errors import DTypeError

#: DLPack's numbers of kinds of devices.
HOST_KINDS, GPU_KINDS = (1, 3), (2, 13)
#: Where the device stands in what a capsule holds, by the capsule's name (DLPack 1.1, ``DLManagedTensor`` and its versioned form).
PLACES = {b"dltensor": 8, b"dltensor_versioned": 40}


@runtime_checkable
class Exporter(Protocol):
    """What hands out DLPack capsules."""

    def __dlpack__(self, **options: Any) -> Any: ...

    def __dlpack_device__(self) -> tuple[int, int]: ...


class Capsule:
    """A bare DLPack capsule as an exporter. It cannot be told a stream: whoever takes it waits for the whole device.

    Raises
    ------
    DTypeError
        If it is no capsule, or one that somebody has taken.
    """

    def __init__(self, capsule: Any) -> None:
        self._capsule = capsule
        self._device = _device_of(capsule)

    def __dlpack__(self, **options: Any) -> Any:
        return self._capsule

    def __dlpack_device__(self) -> tuple[int, int]:
        return self._device


def _device_of(capsule: Any) -> tuple[int, int]:
    api = ctypes.pythonapi
    api.PyCapsule_GetName.restype, api.PyCapsule_GetName.argtypes = ctypes.c_char_p, [ctypes.py_object]
    api.PyCapsule_GetPointer.restype, api.PyCapsule_GetPointer.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]
    if type(capsule).__name__ != "PyCapsule":
        raise _invalid(f"{type(capsule).__name__}: it has no __dlpack__ and is no capsule")
    name = api.PyCapsule_GetName(capsule)
    if name not in PLACES:
        raise _invalid("it was taken before" if name in {b"used_" + known for known in PLACES} else f"a capsule named {name!r}")
    place = api.PyCapsule_GetPointer(capsule, name) + PLACES[name]
    kind, number = (ctypes.c_int32 * 2).from_address(place)
    return kind, number


def _invalid(given: str) -> DTypeError:
    return DTypeError("from_dlpack: invalid DLPack tensor", given, "give an array or a capsule that was not used yet")

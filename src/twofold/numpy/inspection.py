"""What the array API's inspection says of this namespace: devices, dtypes, capabilities."""

import numpy as np

from ..backend.loader import gpu_count
from ..device import CPU, Device, current_device, interned
from ..errors import ParameterError

# written out, because NumPy 2.0 has no inspection of its own
_SIGNED = ("int8", "int16", "int32", "int64")
_UNSIGNED = ("uint8", "uint16", "uint32", "uint64")
_REAL = ("float32", "float64")
_COMPLEX = ("complex64", "complex128")
_KINDS = {
    "bool": ("bool",),
    "signed integer": _SIGNED,
    "unsigned integer": _UNSIGNED,
    "integral": (*_SIGNED, *_UNSIGNED),
    "real floating": _REAL,
    "complex floating": _COMPLEX,
    "numeric": (*_SIGNED, *_UNSIGNED, *_REAL, *_COMPLEX),
}
_ALL = ("bool", *_KINDS["numeric"])


class NamespaceInfo:
    """The array API's inspection of ``twofold.np``; ``np.__array_namespace_info__()`` makes it.

    Source: Python array API standard 2023.12, "Inspection".

    Examples
    --------
    >>> info = mx.np.__array_namespace_info__()
    >>> info.default_device(), info.capabilities()["boolean indexing"]
    (cpu(0), True)
    """

    def devices(self) -> list[Device]:
        """The devices that arrays can be on: the CPU, then the GPUs."""
        return [CPU, *(interned("gpu", k) for k in range(gpu_count()))]

    def default_device(self) -> Device:
        """The device on which functions make arrays: that of the innermost context."""
        return current_device()

    def capabilities(self) -> dict[str, object]:
        """What the standard leaves open: boolean indices, shapes that depend on values, and the largest number of axes."""
        return {"boolean indexing": True, "data-dependent shapes": True, "max dimensions": 64}

    def default_dtypes(self, *, device: Device | str | None = None) -> dict[str, np.dtype]:
        """The dtypes of new arrays, by kind.

        Parameters
        ----------
        device
            A device, which makes no difference.

        Raises
        ------
        ParameterError
            If there is no such device.
        """
        self._check(device)
        index = np.dtype(np.intp)
        return {
            "real floating": np.dtype("float64"),
            "complex floating": np.dtype("complex128"),
            "integral": np.dtype(int),
            "indexing": index,
        }

    def dtypes(self, *, device: Device | str | None = None, kind: str | tuple[str, ...] | None = None) -> dict[str, np.dtype]:
        """The standard's dtypes by name.

        Parameters
        ----------
        device
            A device, which makes no difference.
        kind
            Only those of one kind, such as ``"real floating"``, or of several; None for all.

        Raises
        ------
        ParameterError
            If there is no such device.
        ValueError
            If there is no such kind.
        """
        self._check(device)
        kinds = kind if kind is None or isinstance(kind, tuple) else (kind,)
        for one in kinds or ():
            if one not in _KINDS:
                raise ValueError(f"unsupported kind: {one!r}")
        # the order of kinds, then of their dtypes
        names = _ALL if kinds is None else [name for one in kinds for name in _KINDS[one]]
        return {name: np.dtype(name) for name in names}

    def _check(self, device: Device | str | None) -> None:
        if device is None or device in self.devices() or (isinstance(device, str) and device in map(str, (CPU, CPU.device_type))):
            return
        if isinstance(device, Device) and device.is_host:
            return
        known = ", ".join(map(str, self.devices()))
        raise ParameterError("__array_namespace_info__: there is no such device", repr(device), f"pass None or one of {known}")

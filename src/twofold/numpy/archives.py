"""NumPy's archives of arrays: ``savez`` and ``savez_compressed`` take any name of an array that a file can hold, ``load`` reads them."""

from collections.abc import Callable
from typing import Any

import numpy as np

from ..errors import FormatError
from ..formats.json_text import utf8
from ..ndarray.types import DeviceLike
from .fallback import by_numpy, within_device


def _saved(function: Callable[..., None], file: object, args: tuple[object, ...], arrays: dict[str, object]) -> None:
    name = function.__name__
    for key in arrays:  # before the file is opened: NumPy would leave an archive without this array and those behind it
        utf8(key, f"{name}: the name of an array")

    def save(file: object, args: tuple[object, ...], arrays: dict[str, object]) -> None:
        function(file, *args, **arrays)

    save.__qualname__ = save.__name__ = name  # for errors
    # in a dictionary: an array may be named ``out`` or ``device``, which are options of other functions
    by_numpy(save, (file, args, arrays), {})


def savez(file: object, *args: object, **kwds: object) -> None:
    """Save arrays in one file in NumPy's format.

    Parameters
    ----------
    file
        The file's name, to which ``.npz`` is added unless it ends so, or an open binary file.
    *args
        Arrays; the file calls them ``arr_0``, ``arr_1`` and so on.
    **kwds
        Arrays by their names in the file; and the options of NumPy's function.

    Raises
    ------
    ParameterError
        If a name contains half of a surrogate pair. Nothing is written then.
    AutogradError
        If the values of an array are not known, while a function is traced.

    Examples
    --------
    >>> from io import BytesIO
    >>> file = BytesIO()
    >>> mx.np.savez(file, mx.np.arange(3), weight=mx.np.ones((2, 2)))
    >>> _ = file.seek(0)
    >>> {name: array.shape for name, array in mx.np.load(file).items()}
    {'weight': (2, 2), 'arr_0': (3,)}
    """
    _saved(np.savez, file, args, kwds)


def savez_compressed(file: object, *args: object, **kwds: object) -> None:
    """Save arrays in one file in NumPy's format, compressed by zlib.

    Parameters
    ----------
    file
        The file's name, to which ``.npz`` is added unless it ends so, or an open binary file.
    *args
        Arrays; the file calls them ``arr_0``, ``arr_1`` and so on.
    **kwds
        Arrays by their names in the file; and the options of NumPy's function.

    Raises
    ------
    ParameterError
        If a name contains half of a surrogate pair. Nothing is written then.
    AutogradError
        If the values of an array are not known, while a function is traced.

    Examples
    --------
    >>> from io import BytesIO
    >>> file = BytesIO()
    >>> mx.np.savez_compressed(file, mx.np.arange(3), weight=mx.np.ones((2, 2)))
    >>> _ = file.seek(0)
    >>> {name: array.shape for name, array in mx.np.load(file).items()}
    {'weight': (2, 2), 'arr_0': (3,)}
    """
    _saved(np.savez_compressed, file, args, kwds)


def load(file: object, *args: object, device: DeviceLike = None, ctx: DeviceLike = None, **options: object) -> Any:
    """Read an array, or the arrays by their names, from a file in NumPy's format.

    Parameters
    ----------
    file
        The file's name, or an open binary file.
    *args, **options
        Those of ``numpy.load``.
    device, ctx
        Where an array of an ``.npy`` file is placed; by default on the current device. Those of an archive are NumPy's.

    Raises
    ------
    FormatError
        If the name of an array in the archive is not UTF-8.

    Examples
    --------
    >>> from io import BytesIO
    >>> file = BytesIO()
    >>> mx.np.save(file, mx.np.arange(3))
    >>> _ = file.seek(0)
    >>> mx.np.load(file)
    array([0, 1, 2])
    """
    try:
        with within_device(device, ctx):
            return by_numpy(np.load, (file, *args), options)
    except UnicodeDecodeError as error:
        if error.encoding != "utf-8":  # text in a pickle
            raise
        given = bytes(error.object[:80]).decode(errors="backslashreplace")
        raise FormatError("load: the name of an array in the archive is not UTF-8", given, "save the arrays under other names") from None

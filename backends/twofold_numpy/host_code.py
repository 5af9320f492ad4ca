"""`MachineCode`: functions for images, texts, row-sparse and small arrays as machine code, by llvmlite."""

from collections.abc import Callable
from functools import cache

import numpy as np

from twofold.backend.forks import IMPORTING
from twofold.backend.host_code import ArrayClasses, Methods, NumberReader, PictureWriter, RowAdder
from twofold.config import SETTINGS

from .jit.availability import is_installed
from .scatter import is_worth_machine_code


class MachineCode:
    """A `HostCode`. The results of its methods are compiled at their first use."""

    def array_methods(self) -> Callable[[ArrayClasses], Methods] | None:
        """What makes methods of arrays; None without llvmlite."""
        return _array_methods if SETTINGS.jit and is_installed() else None

    def picture_writer(self) -> PictureWriter | None:
        """Resizes and normalizes images into batches; None if LLVM does not support this processor."""
        with IMPORTING:
            from .jit.pictures import picture_writer  # imports llvmlite, so not at the top

        return picture_writer()

    def number_reader(self) -> NumberReader | None:
        """Reads the numbers of a text; None if LLVM does not support this processor."""
        with IMPORTING:
            from .jit.numbers import number_reader

        return number_reader()

    def row_adder(self, dtype: np.dtype[np.generic], elements: int) -> RowAdder | None:
        """Adds rows; None for dtypes that NumPy adds as fast."""
        if not (SETTINGS.jit and is_installed() and is_worth_machine_code(dtype, elements)):
            return None
        return _row_adder(dtype)


@cache
def _row_adder(dtype: np.dtype[np.generic]) -> RowAdder | None:
    with IMPORTING:
        from .jit.scatter import row_adder

    return row_adder(dtype)


def _array_methods(classes: ArrayClasses) -> Methods:
    with IMPORTING:
        from .jit.array_methods import array_methods

    return array_methods(classes)

"""The interface to code that reads numbers in a text, which `HostCode.number_reader` returns."""

from typing import Protocol

import numpy as np


class NumberReader(Protocol):
    """Reads decimal numbers with a comma, a colon, blanks or a newline after each; blanks around the others have no meaning."""

    def __call__(self, text: bytes) -> tuple[np.ndarray, np.ndarray] | None:
        """The numbers (n,), float64 and correctly rounded, and what follows each (n,), uint8: a comma, a colon, a blank or a newline.

        None if there is anything else in the text, such as NaN, hexadecimal numbers, names, and empty lines. It ends with a newline.
        """
        ...

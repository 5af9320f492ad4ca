"""The interface to code for the host's own work on images, texts and row-sparse arrays, `Target.host_code`."""

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple, Protocol, TypeAlias

import numpy as np

#: The positions in the image of a result's pixels along an axis: a scale and a start. The center of pixel k is at (k + start) * scale,
#: where that of the image's first pixel is at 1/2.
Axis = tuple[float, float]


class PictureWriter(Protocol):
    """Writes a part of an image, resized, mirrored and normalized, into a batch."""

    def __call__(self, image: np.ndarray, across: Axis, down: Axis, mirror: bool, normal: tuple[float, ...], out: np.ndarray) -> None:
        """Write to ``out``.

        Parameters
        ----------
        image
            The pixels (h, w, 4), uint8, at least 2 by 2; the four bytes of a pixel are neighbors, and so are the pixels of a row. As many
            channels are read as the result has.
        across, down
            The positions of the result's columns and rows. Places outside the image repeat its edge.
        mirror
            Whether the result is flipped horizontally.
        normal
            Twelve numbers for results of float32: for each of four channels a number to subtract, then a factor, then a number to add.
        out
            The result (c, h, w), C-contiguous: float32, or uint8 for the bytes themselves. Bytes are interpolated linearly, as the operator
            that resizes images does it.
        """
        ...


class NumberReader(Protocol):
    """Reads decimal numbers with a comma, a colon, blanks or a newline after each; blanks around the others have no meaning."""

    def __call__(self, text: bytes) -> tuple[np.ndarray, np.ndarray] | None:
        """The numbers (n,), float64, correctly rounded, and the character after each (n,), uint8: comma, colon, blank or newline.

        None if there is anything else in the text, such as NaN, hexadecimal numbers, names, and empty lines. It ends with a newline.
        """
        ...


class RowAdder(Protocol):
    """Adds rows that have the same number."""

    def __call__(self, values: np.ndarray, numbers: np.ndarray) -> tuple[np.ndarray, np.ndarray] | None:
        """The sums (m, k) of rows (n, k), and their numbers (m,), increasing; None if a number is too large for a way without comparisons.

        Rows with one number are added in the order given. If the numbers increase already, the rows are not copied.

        Parameters
        ----------
        values
            The rows (n, k), C-contiguous, at least one.
        numbers
            Their numbers (n,), int64, contiguous and not negative.
        """
        ...


class ArrayClasses(NamedTuple):
    """What methods of arrays in machine code have to know of the classes.

    Attributes
    ----------
    array, element
        The class of arrays, and that of single elements, whose slot ``_held`` has NumPy's scalar.
    value
        The class of contents that are no plain arrays.
    ufunc
        The class of functions of elements.
    slots
        The slots by class and name. ``_held`` of an array has its content, None in a view; others are those of views. ``data`` of a value
        has NumPy's array if that is ready, ``entry`` is None if it is on no tape, and ``device`` says where it is; it may be written if
        ``producer`` and ``sharing`` are None and ``writers`` is 0. ``_numpys`` of a ufunc has NumPy's, ``_operands`` how many operands are
        looked at, and ``_by_python`` what is called for others.
    reductions
        NumPy's functions of an array and an axis (None: all of them) by the names of methods.
    scalars
        The classes of NumPy's scalars that are elements.
    axes_reversed, reshaped, changeable
        What a transposed matrix, a reshaped array, and one into which in-place operators write without axes have in the slot ``_key``.
    gaps
        Elements up to which a part is copied, if it has gaps, before it is computed with.
    host
        The device of NumPy's arrays.
    entered
        A list, empty as long as no thread has chosen a device for new arrays.
    """

    array: type
    element: type
    value: type
    ufunc: type
    slots: Mapping[type, Mapping[str, Any]]
    reductions: Mapping[str, Callable[..., Any]]
    scalars: frozenset[type]
    axes_reversed: object
    reshaped: object
    changeable: object
    gaps: int
    host: object
    entered: list[Any]


#: Methods in machine code, by class and name.
Methods: TypeAlias = dict[tuple[type, str], object]


class HostCode(Protocol):
    """Functions that run in any thread and without the GIL. Each is None if the adapter has no such code."""

    def array_methods(self) -> Callable[[ArrayClasses], Methods] | None:
        """What makes the methods, which run with the GIL: it loads a compiler, and gives none if that does not support the machine."""
        ...

    def picture_writer(self) -> PictureWriter | None:
        """What resizes and normalizes images into batches."""
        ...

    def number_reader(self) -> NumberReader | None:
        """What reads the numbers of a text."""
        ...

    def row_adder(self, dtype: np.dtype[np.generic], elements: int) -> RowAdder | None:
        """What adds rows of a dtype; None also if there are too few elements to load a compiler for."""
        ...


class NoHostCode:
    """The `HostCode` of adapters that have none."""

    def array_methods(self) -> None:
        """Nothing."""

    def picture_writer(self) -> None:
        """Nothing."""

    def number_reader(self) -> None:
        """Nothing."""

    def row_adder(self, dtype: np.dtype[np.generic], elements: int) -> None:
        """Nothing."""


NO_HOST_CODE = NoHostCode()

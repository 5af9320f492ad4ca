"""Two-bit gradient compression: each element is sent as the threshold, its negative or 0. The rest is sent with later gradients."""

from collections.abc import Mapping

import numpy as np

from ..errors import ParameterError
from ..ndarray.array import NDArray


class TwoBitCompression:
    """Compresses gradients, and holds the residual of each source, which is added to the source's next gradient.

    Parameters
    ----------
    threshold
        The magnitude of the values sent.

    Notes
    -----
    Strom, Scalable distributed DNN training using commodity GPU cloud computing, 2015.
    """

    def __init__(self, threshold: float) -> None:
        self.threshold = threshold
        self._residual: dict[object, NDArray] = {}

    def __call__(self, source: object, grad: NDArray) -> NDArray:
        """The part of a gradient that is sent.

        Parameters
        ----------
        source
            Key of the sender, to which the residual belongs.
        grad
            The gradient.
        """
        # a residual is not lost: it adds up until it reaches the threshold
        due = grad + self._residual[source] if source in self._residual else grad
        sent = self.threshold * ((due >= self.threshold) - (due <= -self.threshold))
        self._residual[source] = due - sent
        return sent


def compression_of(params: Mapping[str, str | float]) -> TwoBitCompression | None:
    """The compression for parameters such as ``{"type": "2bit", "threshold": 0.5}``; None for the type ``"none"``.

    Raises
    ------
    ParameterError
        If the type is unknown or the threshold is not above 0.
    """
    kind, threshold = params.get("type"), float(params.get("threshold", 0.5))
    if kind not in ("2bit", "none"):
        raise ParameterError("KVStore: Unknown type for gradient compression", repr(kind), "use '2bit' or 'none'")
    if threshold <= 0:
        raise ParameterError("KVStore: the threshold must be greater than 0", str(threshold), "pass a positive one")
    return None if kind == "none" else TwoBitCompression(threshold)


#: The four codes of two bits in a byte, as multiples of the threshold: 0 for 0, 1 for the threshold, 2 for its negative.
MULTIPLES = np.array([[(0, 1, -1, 0)[byte >> 2 * k & 3] for k in range(4)] for byte in range(256)], np.float32)
SHIFTS = np.array([0, 2, 4, 6], np.uint8)


def pack_two_bit(sent: np.ndarray) -> np.ndarray:
    """Pack the result of `TwoBitCompression` at two bits per element.

    Parameters
    ----------
    sent
        Elements that are the threshold, its negative or 0, (n,).

    Returns
    -------
    ndarray
        Bytes, (n + 3) // 4. The first element is in the lowest bits.
    """
    codes = np.zeros(-(-sent.size // 4) * 4, np.uint8)
    np.add(sent > 0, 2 * (sent < 0).view(np.uint8), out=codes[: sent.size], casting="unsafe")
    return np.bitwise_or.reduce(codes.reshape(-1, 4) << SHIFTS, axis=1)


def unpack_two_bit(packed: np.ndarray, threshold: float, out: np.ndarray) -> None:
    """Write the elements that `pack_two_bit` packed into an array, (n,)."""
    found = np.take(MULTIPLES, packed, axis=0).reshape(-1)[: out.size]
    np.multiply(found, threshold, out=out, casting="unsafe")


def sum_of_packed(packed: np.ndarray, size: int, threshold: float) -> np.ndarray:
    """The sum of packed elements over workers, added in their order, as servers do.

    Parameters
    ----------
    packed
        The results of `pack_two_bit` on all workers, (workers, (size + 3) // 4).
    size
        Number of elements.
    threshold
        The magnitude of the elements.

    Returns
    -------
    ndarray
        float32, (size,).
    """
    total, one = np.zeros(size, np.float32), np.empty(size, np.float32)
    # one row at a time in the order of workers: the same roundings as on a server
    for row in packed:
        unpack_two_bit(row, threshold, one)
        total += one
    return total

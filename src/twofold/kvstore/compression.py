"""Two-bit gradient compression: each element is sent as the threshold, its negative or 0; the remainder is sent later."""

from collections.abc import Mapping

from ..errors import ParameterError
from ..ndarray.array import NDArray

__all__ = ["TwoBitCompression", "compression_of"]


class TwoBitCompression:
    """Compresses gradients and holds the residual of each source, which is added to its next gradient.

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
        # what is below the threshold is not lost: it adds up until it is sent
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

"""Gradients in two bits an element: what is sent is the threshold, its negative or 0; the rest is kept and sent later."""

from collections.abc import Mapping
from typing import Any

from ..errors import ParameterError
from ..ndarray.array import NDArray

__all__ = ["TwoBits", "compression_of"]


class TwoBits:
    """Compresses gradients, and keeps what each source has not sent yet.

    Parameters
    ----------
    threshold
        The size of what is sent.

    Notes
    -----
    Strom, Scalable distributed DNN training using commodity GPU cloud computing, 2015.
    """

    def __init__(self, threshold: float) -> None:
        self.threshold = threshold
        self._kept: dict[Any, NDArray] = {}

    def __call__(self, source: Any, grad: NDArray) -> NDArray:
        """What is sent of a gradient.

        Parameters
        ----------
        source
            Whose gradient it is: any key.
        grad
            The gradient.
        """
        due = grad + self._kept[source] if source in self._kept else grad
        sent = self.threshold * ((due >= self.threshold) - (due <= -self.threshold))
        self._kept[source] = due - sent
        return sent


def compression_of(params: Mapping[str, Any]) -> TwoBits | None:
    """The compression of ``{"type": "2bit", "threshold": 0.5}``; None for the type ``"none"``.

    Raises
    ------
    ParameterError
        For another type, or a threshold that is not above 0.
    """
    kind, threshold = params.get("type"), float(params.get("threshold", 0.5))
    if kind not in ("2bit", "none"):
        raise ParameterError("KVStore: Unknown type for gradient compression", repr(kind), "use '2bit' or 'none'")
    if threshold <= 0:
        raise ParameterError("KVStore: the threshold must be greater than 0", str(threshold), "give a positive one")
    return None if kind == "none" else TwoBits(threshold)

"""The samplers of ``npx.random``."""

from typing import Any

from ..errors import ParameterError
from ..ops import mxnet_numpy_random as ops
from .sampling import Random
from .shapes import as_sizes

__all__ = ["Batches"]


class Batches(Random):
    """Samplers beyond NumPy's."""

    def bernoulli(
        self,
        prob: Any = None,
        logit: Any = None,
        size: Any = None,
        dtype: Any = None,
        ctx: Any = None,
        out: Any = None,
        device: Any = None,
    ) -> Any:
        """1 with a probability, or with the probability of a logit, else 0.

        Raises
        ------
        ParameterError
            Unless exactly one of ``prob`` and ``logit`` is given.
        """
        if (prob is None) == (logit is None):
            raise ParameterError("bernoulli: pass either prob or logit", f"{prob!r} and {logit!r}", "pass one")
        given = prob if logit is None else logit
        front, number = self._front, self._front.number(given)
        params = {"prob": number if logit is None else None, "logit": None if logit is None else number, "is_logit": logit is not None}
        others = {"size": as_sizes(size), "dtype": dtype or "float32", "ctx": front.context_name(ctx or device)}
        return front.apply(ops.npi_bernoulli, (front.operand(given) if number is None else None,), {**params, **others}, out)

    def uniform_n(self, low: Any = 0.0, high: Any = 1.0, batch_shape: Any = None, dtype: Any = None, ctx: Any = None) -> Any:
        """Samples from [low, high): ``batch_shape`` of them for each element of the bounds, whose axes come last."""
        return self._draw(ops.uniform_batches, {"low": low, "high": high}, batch_shape, ctx, dtype=dtype or "float32")

    def normal_n(self, loc: Any = 0.0, scale: Any = 1.0, batch_shape: Any = None, dtype: Any = None, ctx: Any = None) -> Any:
        """Normal samples: ``batch_shape`` of them for each element of the parameters, whose axes come last."""
        return self._draw(ops.normal_batches, {"loc": loc, "scale": scale}, batch_shape, ctx, dtype=dtype or "float32")

"""The samplers of ``np.random``: samples from MXNet's streams, which ``mx.random.seed`` and ``npx.random.seed`` start."""

from typing import Any

import numpy as np

from ..errors import ParameterError
from ..ndarray.types import DeviceLike, DTypeLike, Shape
from ..opdef import Op
from ..opdef.numpy_rows import sizes
from ..ops import gathering, ordering, random_sampling
from ..ops import mxnet_numpy_random as ops
from .front import Array, public_name, without_none
from .linear import LinearAlgebra
from .row_functions import Face, attach_rows


class Random(Face[Array]):
    """Samplers of ``np.random``."""

    def _draw(self, op: Op, values: dict[str, object], params: dict[str, object], out: Array | None = None) -> Array:
        """Samples, with parameters of the distribution that are numbers or arrays."""
        front = self._front
        numbers = {name: front.number(v) for name, v in values.items()}
        for name, value in values.items():
            limit = ops.LIMITS.get((op.name, name))
            if limit is not None:
                self._refuse_outside(limit, op, name, value)
        # MXNet's operators take those parameters that are arrays as inputs, without gaps for the others
        arrays = [front.operand(v) for name, v in values.items() if numbers[name] is None]
        return front.apply(op, [*arrays, *[None] * (len(op.arrays) - len(arrays))], numbers | params, out)

    def _refuse_outside(self, limit: ops.Limit, op: Op, name: str, value: object) -> None:
        """Refuse a parameter with elements outside a limit; what is not computed yet, or is on a GPU, is not waited for.

        Raises
        ------
        ParameterError
            If it has such elements.
        """
        number = self._front.number(value)
        known = self._front.known_elements(value) if number is None else np.asarray(number)
        if known is not None and not np.all(limit.holds(known)):
            raise ParameterError(f"{public_name(op)}: {name} must be {limit.text}", repr(value)[:60], "pass other parameters")

    def beta(self, a: Any, b: Any, size: Any = None, dtype: Any = None, ctx: Any = None, device: Any = None) -> Any:
        """Beta samples: X / (X + Y) of two gamma variables, drawn in float64 so that small ones do not vanish."""
        x = self.gamma(a, 1, size, "float64", ctx or device)
        y = self.gamma(b, 1, size, "float64", ctx or device)
        front = self._front
        return front._cast(front.true_divide(x, front.add(x, y)), dtype or "float32")

    def chisquare(self, df: Any, size: Any = None, dtype: Any = None, ctx: Any = None, device: Any = None) -> Any:
        """Chi-square samples with ``df`` degrees of freedom."""
        half = self._front.number(df)
        shape = df / 2 if half is None else half / 2
        return self.gamma(shape, 2.0, size, dtype, ctx or device)

    def lognormal(
        self, mean: Any = 0.0, sigma: Any = 1.0, size: Any = None, dtype: Any = None, ctx: Any = None, out: Any = None, device: Any = None
    ) -> Array:
        """Exponentials of normal samples."""
        return self._front.exp(self.normal(mean, sigma, size, dtype, ctx or device), out=out)

    def rand(self, *size: int, **kwargs: object) -> Array:
        """Uniform samples from [0, 1) of a shape given as arguments."""
        return self.uniform(0, 1, **(kwargs | {"size": size or kwargs.get("size")}))

    def randn(self, *size: int, **kwargs: object) -> Array:
        """Standard normal samples of a shape given as arguments."""
        return self.normal(0, 1, **(kwargs | {"size": size or kwargs.get("size")}))

    def randint(
        self, low: int, high: int | None = None, size: Any = None, dtype: Any = None, ctx: Any = None, out: Any = None, device: Any = None
    ) -> Array:
        """Integers (int64) from [low, high), or from [0, low) with one number."""
        first, last = (0, low) if high is None else (low, high)
        if last <= first:
            raise ParameterError("randint: low >= high", f"{first} and {last}", "pass an interval with at least one integer")
        shape = () if size is None else sizes(size)
        return self._front.created(
            random_sampling.random_randint, ctx or device, out, low=first, high=last, shape=shape, dtype=dtype or "int64"
        )

    def choice(
        self, a: Any, size: Any = None, replace: bool = True, p: Any = None, ctx: Any = None, out: Any = None, device: Any = None
    ) -> Array:
        """Draws from ``range(a)``, or from the elements of a vector, with probabilities ``p``, with or without replacement."""
        front, count = self._front, self._front.number(a)
        arrays = [*([] if count is not None else [front.operand(a)]), *([] if p is None else [front.operand(p)])]
        params = {
            "a": count,
            "size": sizes(size),
            "replace": replace,
            "weighted": p is not None,
            "ctx": front.context_name(ctx or device),
        }
        places = front.apply(ops.npi_choice, [*arrays, *[None] * (2 - len(arrays))], params, out if count is not None else None)
        return places if count is not None else front.apply(gathering.take_places, (front.operand(a), places), {}, out)

    def multinomial(self, n: int, pvals: object, size: Shape | None = None) -> Array:
        """How often (int64) each class occurs in ``n`` draws with the given probabilities."""
        front = self._front
        params = {"n": n, **without_none(size=sizes(size))}
        chances = front.known_elements(pvals) if front.is_array(pvals) else np.asarray(pvals)
        # as much more than 1 as sums of rounded probabilities may be
        if chances is not None and chances.astype(np.float64).sum() > 1 + 1e-6:
            raise ParameterError("multinomial: the probabilities add up to more than 1", repr(pvals)[:60], "divide them by their sum")
        if front.is_array(pvals):
            return front.apply(ops.npi_multinomial, (pvals,), params)
        return front.apply(ops.npi_multinomial, (None,), {**params, "pvals": tuple(float(v) for v in np.asarray(pvals))})

    def multivariate_normal(self, mean: Any, cov: Any, size: Any = None, check_valid: Any = None, tol: Any = None) -> Any:
        """Normal vectors with a mean (n,) and a covariance (n, n), which must be positive definite."""
        front = self._front
        if check_valid is not None or tol is not None:
            raise ParameterError("multivariate_normal: check_valid and tol are not supported", None, "leave them out")
        center, covariance = front.operand(mean), front.operand(cov)
        noise = self.normal(0, 1, front._vectors_shape(center, covariance, size))
        # the factor is a square root of the covariance, which it gives to independent samples
        deviations = front.matmul(LinearAlgebra(front).cholesky(covariance), front.expand_dims(noise, -1))
        return front.combined("add", center, front.squeeze(deviations, -1))

    def shuffle(self, x: object) -> None:
        """Shuffle an array in place along its first axis."""
        self._front._shuffled(x, ordering.shuffle)


class Batches(Random[Array]):
    """Samplers of ``npx.random``, which are not NumPy's."""

    def bernoulli(
        self,
        prob: object = None,
        logit: object = None,
        size: Shape | None = None,
        dtype: DTypeLike = None,
        ctx: DeviceLike = None,
        out: Array | None = None,
        device: DeviceLike = None,
    ) -> Array:
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
        if logit is None:
            self._refuse_outside(ops.CHANCE, ops.npi_bernoulli, "prob", prob)
        params = {"prob": number if logit is None else None, "logit": None if logit is None else number, "is_logit": logit is not None}
        others = {"size": sizes(size), "dtype": dtype or "float32", "ctx": front.context_name(ctx or device)}
        return front.apply(ops.npi_bernoulli, (front.operand(given) if number is None else None,), {**params, **others}, out)


for _cls, _place in ((Random, "random"), (Batches, "npx.random")):
    attach_rows(_cls, _place)

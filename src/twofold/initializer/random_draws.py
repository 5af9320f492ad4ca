"""Random initializers: uniform, normal, scaled by fan-in and fan-out, and orthogonal."""

from math import prod, sqrt

import numpy as np

from .. import random
from ..errors import ParameterError, ShapeError
from ..ndarray.array import NDArray
from .base import Initializer, register


def _draw_uniform(arr: NDArray, scale: float) -> None:
    arr[:] = random.uniform(-scale, scale, shape=arr.shape, ctx=arr.context)


def _draw_normal(arr: NDArray, scale: float) -> None:
    arr[:] = random.normal(0, scale, shape=arr.shape, ctx=arr.context)


@register
class Uniform(Initializer):
    """Uniform weights in (−scale, scale).

    Parameters
    ----------
    scale
        The bound.
    """

    def __init__(self, scale: float = 0.07) -> None:
        super().__init__(scale=scale)
        self.scale = scale

    def _init_weight(self, name: str, arr: NDArray) -> None:
        _draw_uniform(arr, self.scale)


@register
class Normal(Initializer):
    """Normal weights with mean 0.

    Parameters
    ----------
    sigma
        The standard deviation.
    """

    def __init__(self, sigma: float = 0.01) -> None:
        super().__init__(sigma=sigma)
        self.sigma = sigma

    def _init_weight(self, name: str, arr: NDArray) -> None:
        _draw_normal(arr, self.sigma)


@register
class Xavier(Initializer):
    """Weights (out, in, …) scaled so that activations and gradients keep their magnitude from layer to layer.

    The scale is ``sqrt(magnitude / factor)``, where the factor is the fan-in, the fan-out, or their mean.

    Parameters
    ----------
    rnd_type
        ``"uniform"`` in (−scale, scale), or ``"gaussian"`` with standard deviation ``scale``.
    factor_type
        ``"in"``, ``"out"``, or ``"avg"`` for the mean of both.
    magnitude
        The magnitude.

    Raises
    ------
    ParameterError
        On use, if ``rnd_type`` or ``factor_type`` is unknown.
    ShapeError
        On use, for weights with fewer than two axes.

    Notes
    -----
    Glorot and Bengio, Understanding the difficulty of training deep feedforward neural networks, 2010.
    """

    def __init__(self, rnd_type: str = "uniform", factor_type: str = "avg", magnitude: float = 3) -> None:
        super().__init__(rnd_type=rnd_type, factor_type=factor_type, magnitude=magnitude)
        self.rnd_type = rnd_type
        self.factor_type = factor_type
        self.magnitude = float(magnitude)

    def _init_weight(self, name: str, arr: NDArray) -> None:
        scale = sqrt(self.magnitude / self._factor(name, arr.shape))
        if self.rnd_type == "uniform":
            _draw_uniform(arr, scale)
        elif self.rnd_type == "gaussian":
            _draw_normal(arr, scale)
        else:
            raise ParameterError("Xavier: Unknown random type", repr(self.rnd_type), "use 'uniform' or 'gaussian'")

    def _factor(self, name: str, shape: tuple[int, ...]) -> float:
        if len(shape) < 2:
            raise ShapeError(
                f"Xavier initializer cannot be applied to vector {name}", f"shape {shape}", "it requires at least 2D; use another for it"
            )
        # elements of the kernel: each output of a convolution sums over in-channels times these
        field = prod(shape[2:])
        fan_out, fan_in = shape[0] * field, shape[1] * field
        factors = {"avg": (fan_in + fan_out) / 2.0, "in": fan_in, "out": fan_out}
        if self.factor_type not in factors:
            raise ParameterError("Xavier: Incorrect factor type", repr(self.factor_type), "use 'avg', 'in' or 'out'")
        return factors[self.factor_type]


@register
class MSRAPrelu(Xavier):
    """Weights for layers followed by a (leaky) rectifier.

    Parameters
    ----------
    factor_type
        See `Xavier`.
    slope
        Slope of the rectifier below 0 (the initial slope if it is learned).

    Notes
    -----
    He, Zhang, Ren and Sun, Delving deep into rectifiers, 2015.
    """

    def __init__(self, factor_type: str = "avg", slope: float = 0.25) -> None:
        # variance 2 / ((1 + a²) n), eq. 15 of the paper, where a is the slope
        super().__init__("gaussian", factor_type, 2.0 / (1 + slope**2))
        # Those of this class: `dumps` writes its name, not that of Xavier.
        self._kwargs = {"factor_type": factor_type, "slope": slope}


@register
class Orthogonal(Initializer):
    """Weights (out, …) whose rows, or columns if there are fewer, are orthogonal and of equal norm.

    Parameters
    ----------
    scale
        The norm.
    rand_type
        Distribution of the matrix that is orthogonalized: ``"uniform"`` in (−1, 1) or ``"normal"``.

    Raises
    ------
    ParameterError
        On use, if ``rand_type`` is unknown.

    Notes
    -----
    Saxe, McClelland and Ganguli, Exact solutions to the nonlinear dynamics of learning in deep linear neural networks, 2013.
    """

    def __init__(self, scale: float = 1.414, rand_type: str = "uniform") -> None:
        super().__init__(scale=scale, rand_type=rand_type)
        self.scale = scale
        self.rand_type = rand_type

    def _init_weight(self, name: str, arr: NDArray) -> None:
        # a convolution's kernel counts as a row per output channel
        shape = arr.shape[0], prod(arr.shape[1:])
        if self.rand_type == "uniform":
            drawn = random.uniform(-1.0, 1.0, shape=shape)
        elif self.rand_type == "normal":
            drawn = random.normal(0.0, 1.0, shape=shape)
        else:
            raise ParameterError("Orthogonal: unknown rand_type", repr(self.rand_type), "use 'uniform' or 'normal'")
        # Of the two factors, the one with the weight's shape has orthonormal rows or columns, whichever are fewer.
        # Either factor of a random matrix is a random orthonormal basis; the singular values are dropped.
        left, _, right = np.linalg.svd(drawn.asnumpy(), full_matrices=False)
        basis = left if left.shape == shape else right
        arr[:] = self.scale * basis.reshape(arr.shape)

"""``gluon.contrib.nn``: layers beside each other, batch normalization over devices, pixel shuffling."""

import math
from collections.abc import Sequence
from typing import Any, ClassVar, Unpack

from ... import ndarray as nd
from ...context import num_gpus
from ...errors import InvalidValue
from ..block import Block
from ..hybrid_block import ArrayKind, Naming
from ..layer import Layer
from ..nn import BatchNorm, HybridSequential, Sequential
from ..parameter_dict import ParameterDict
from ..signatures import DTypeLike, Functions, InitializerLike, Operand, extend_docstring

__all__ = [
    "Concurrent",
    "HybridConcurrent",
    "Identity",
    "PixelShuffle1D",
    "PixelShuffle2D",
    "PixelShuffle3D",
    "SparseEmbedding",
    "SyncBatchNorm",
]


class Concurrent(Sequential):
    """Runs blocks beside each other on one input, and concatenates their outputs.

    Parameters
    ----------
    axis
        The axis of concatenation.
    prefix, params
        See `Block`.

    Examples
    --------
    >>> import twofold as mx
    >>> net = Concurrent(axis=1)
    >>> net.add(mx.gluon.nn.Dense(3), Identity())
    >>> net.initialize()
    >>> net(mx.nd.ones((2, 4))).shape
    (2, 7)
    """

    def __init__(self, axis: int = -1, prefix: str | None = None, params: ParameterDict | None = None) -> None:
        super().__init__(prefix=prefix, params=params)
        self.axis = axis

    def forward(self, x: Any) -> Any:
        """The outputs of all blocks, concatenated."""
        return nd.concat(*(block(x) for block in self._children.values()), dim=self.axis)


class HybridConcurrent(HybridSequential, arrays="nd"):
    """Runs hybrid blocks beside each other on one input, and concatenates their outputs; they can be compiled into one graph.

    Parameters
    ----------
    axis
        The axis of concatenation.
    prefix, params
        See `Block`.
    """

    def __init__(self, axis: int = -1, prefix: str | None = None, params: ParameterDict | None = None) -> None:
        super().__init__(prefix=prefix, params=params)
        self.axis = axis

    def hybrid_forward(self, F: Functions, x: Any) -> Any:
        """The outputs of all blocks, concatenated."""
        return F.concat(*(block(x) for block in self._children.values()), dim=self.axis)


class Identity(Layer, arrays="any"):
    """Returns its input: a branch of `HybridConcurrent` that keeps the input beside the other branches' outputs.

    Parameters
    ----------
    prefix, params
        See `Block`.
    """

    def hybrid_forward(self, F: Functions, x: Operand) -> Operand:
        """The input."""
        return x


class SparseEmbedding(Block):
    """`Embedding` whose table and gradient are stored by rows: a step reads and updates only the rows that its batch contains.

    Parameters
    ----------
    input_dim
        Number of rows: integers range from 0 to input_dim - 1.
    output_dim
        Size of a row.
    dtype
        Dtype of the table.
    weight_initializer
        Initializer of the table; None for the model's.
    **kwargs
        ``prefix`` and ``params``, see `Block`.

    Notes
    -----
    As in MXNet the table must be given to a `Trainer` before the first forward pass.

    Examples
    --------
    >>> import twofold as mx
    >>> layer = SparseEmbedding(1000, 4)
    >>> layer.initialize()
    >>> trainer = mx.gluon.Trainer(layer.collect_params(), "sgd")
    >>> layer(mx.nd.array([3, 5])).shape
    (2, 4)
    """

    def __init__(
        self,
        input_dim: int,
        output_dim: int,
        dtype: DTypeLike = "float32",
        weight_initializer: InitializerLike = None,
        **kwargs: Unpack[Naming],
    ) -> None:
        super().__init__(**kwargs)
        self._kwargs: dict[str, Any] = {"input_dim": input_dim, "output_dim": output_dim, "dtype": dtype, "sparse_grad": True}
        shape, rows = (input_dim, output_dim), "row_sparse"
        self.weight = self.params.get("weight", shape=shape, init=weight_initializer, dtype=dtype, grad_stype=rows, stype=rows)

    def forward(self, x: Any) -> Any:
        """The rows (…, output_dim) of the integers x (…)."""
        # from the whole table: retaining the batch's rows first would give arrays of another size, and another program, for each batch
        return nd.Embedding(x, self.weight.row_sparse_copy(x.context), **self._kwargs)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self._kwargs['input_dim']} -> {self._kwargs['output_dim']}, {self._kwargs['dtype']})"


class SyncBatchNorm(BatchNorm, arrays="nd"):
    """`BatchNorm` over axis 1 for models that are trained on several devices, each with a part of the batch.

    Parameters
    ----------
    in_channels
        Number of channels; inferred in the first forward pass if 0.
    num_devices
        Number of devices, recorded in the graph; the number of GPUs, but at least 1, if None. The statistics are those of the device's own
        part of the batch.
    momentum
        Decay rate of the moving averages.
    epsilon
        Added to the variance.
    center, scale
        Whether the shift beta and the scale gamma are learned.
    use_global_stats
        Whether to use the moving averages in training too.
    beta_initializer, gamma_initializer, running_mean_initializer, running_variance_initializer
        Initializers of the parameters.
    **kwargs
        ``prefix`` and ``params``, see `Block`.
    """

    def __init__(
        self,
        in_channels: int = 0,
        num_devices: int | None = None,
        momentum: float = 0.9,
        epsilon: float = 1e-5,
        center: bool = True,
        scale: bool = True,
        use_global_stats: bool = False,
        beta_initializer: InitializerLike = "zeros",
        gamma_initializer: InitializerLike = "ones",
        running_mean_initializer: InitializerLike = "zeros",
        running_variance_initializer: InitializerLike = "ones",
        **kwargs: Unpack[Naming],
    ) -> None:
        super().__init__(
            1, momentum, epsilon, center, scale, use_global_stats, beta_initializer, gamma_initializer, running_mean_initializer,
            running_variance_initializer, in_channels, **kwargs,
        )  # fmt: skip
        # the operator has no axis: channels are on axis 1
        del self._kwargs["axis"]
        # MXNet's devices find each other by the key; it is written to graphs for it
        self._kwargs |= {"ndev": max(1, num_gpus()) if num_devices is None else num_devices, "key": self.prefix}

    def hybrid_forward(
        self, F: Functions, x: Operand, gamma: Operand, beta: Operand, running_mean: Operand, running_var: Operand
    ) -> Operand:
        """The output, with the shape of x."""
        return F.contrib.SyncBatchNorm(x, gamma, beta, running_mean, running_var, name="fwd", **self._kwargs)

    def __repr__(self) -> str:
        text = super().__repr__()
        return text.replace(f"key={self.prefix}", f"key={self.prefix!r}")


_SHUFFLE = """

    Parameters
    ----------
    factor
        Growth of each spatial axis, or one for all axes.

    Raises
    ------
    ParameterError
        If the number of factors is not that of the spatial axes.

    Notes
    -----
    Shi et al., Real-time single image and video super-resolution using an efficient sub-pixel convolutional neural network, CVPR 2016.

    Examples
    --------
    >>> import twofold as mx
    >>> mx.gluon.contrib.nn.{call}.shape
    {shape}
    """


class _PixelShuffle(Layer, arrays="nd"):
    """The base of the three layers, which declare their number of spatial axes, and an example."""

    _ndim: ClassVar[int]

    def __init_subclass__(cls, ndim: int | None = None, call: str = "", shape: str = "", **options: ArrayKind) -> None:
        super().__init_subclass__(**options)
        if ndim is not None:
            cls._ndim = ndim
            extend_docstring(cls, _SHUFFLE, call=call, shape=shape)

    def __init__(self, factor: int | Sequence[int]) -> None:
        super().__init__()
        self._factors = (int(factor),) * self._ndim if isinstance(factor, (int, float, str)) else tuple(int(f) for f in factor)
        if len(self._factors) != self._ndim:
            given = f"wrong length {len(self._factors)}"
            raise InvalidValue(f"{type(self).__name__}: the factors do not match", given, f"pass {self._ndim} numbers")

    def hybrid_forward(self, F: Functions, x: Operand) -> Operand:
        """The output (n, c / (f1·f2·…), f1·d1, f2·d2, …) for x (n, c, d1, d2, …)."""
        axes = range(self._ndim)
        # In the codes of `reshape`: 0 keeps an axis, -4 splits one in two, -3 joins two, -1 is inferred.
        kept = (0,) * self._ndim
        x = F.reshape(x, (0, -4, -1, math.prod(self._factors), *kept))
        for k in axes[:-1]:
            x = F.reshape(x, (*(0,) * (k + 2), -4, self._factors[k], math.prod(self._factors[k + 1 :]), *kept))
        pairs = [axis for k in axes for axis in (2 + self._ndim + k, 2 + k)]
        return F.reshape(F.transpose(x, (0, 1, *pairs)), (0, 0, *(-3,) * self._ndim))

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self._factors[0] if self._ndim == 1 else self._factors})"


class PixelShuffle1D(_PixelShuffle, ndim=1, call="PixelShuffle1D(2)(mx.nd.zeros((1, 8, 3)))", shape="(1, 4, 6)"):
    """Moves channels to positions: (n, c·f, w) to (n, c, w·f)."""


class PixelShuffle2D(_PixelShuffle, ndim=2, call="PixelShuffle2D((2, 3))(mx.nd.zeros((1, 12, 3, 5)))", shape="(1, 2, 6, 15)"):
    """Moves channels to positions: (n, c·f1·f2, h, w) to (n, c, h·f1, w·f2)."""


class PixelShuffle3D(_PixelShuffle, ndim=3, call="PixelShuffle3D((2, 3, 4))(mx.nd.zeros((1, 48, 3, 5, 7)))", shape="(1, 2, 6, 15, 28)"):
    """Moves channels to positions: (n, c·f1·f2·f3, d, h, w) to (n, c, d·f1, h·f2, w·f3)."""

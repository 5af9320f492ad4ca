"""Fully connected layers, embeddings, dropout, flattening."""

import math
from typing import Unpack

from ...errors import WrongArgument
from ..hybrid_block import Mistake, Naming, Shape
from ..layer import Layer
from ..signatures import DTypeLike, Functions, InitializerLike, Operand
from ..wrong_inputs import check_sizes
from .activations import Activation


class Dense(Layer, arrays="nd"):
    """``activation(x · weightᵀ + bias)``.

    Parameters
    ----------
    units
        Size of the output.
    activation
        Name of an activation, see `Activation`; None for none.
    use_bias
        Whether to add a bias.
    flatten
        Whether to flatten x (n, …) to (n, m) first; otherwise the layer acts on the last axis only.
    dtype
        Dtype of the parameters.
    weight_initializer, bias_initializer
        Initializers; None for the model's.
    in_units
        Size of the input; inferred in the first forward pass if 0.
    **kwargs
        ``prefix`` and ``params``, see `Block`.

    Attributes
    ----------
    weight : Parameter
        Of shape (units, in_units).
    bias : Parameter or None
        Of shape (units,).

    Examples
    --------
    >>> import twofold as mx
    >>> layer = mx.gluon.nn.Dense(3, activation="relu")
    >>> layer.initialize()
    >>> layer(mx.nd.ones((2, 4, 5))).shape
    (2, 3)
    >>> layer
    Dense(20 -> 3, Activation(relu))
    """

    def __init__(
        self,
        units: int,
        activation: str | None = None,
        use_bias: bool = True,
        flatten: bool = True,
        dtype: DTypeLike = "float32",
        weight_initializer: InitializerLike = None,
        bias_initializer: InitializerLike = "zeros",
        in_units: int = 0,
        **kwargs: Unpack[Naming],
    ) -> None:
        super().__init__(**kwargs)
        check_sizes(self, units=units)
        check_sizes(self, unknown=-1, in_units=in_units)
        self._flatten = flatten
        with self.name_scope():
            self._units = units
            self._in_units = in_units
            # A size of 0 is unknown until the first forward pass, so initialization waits for it.
            self.weight = self.params.get("weight", shape=(units, in_units), init=weight_initializer, dtype=dtype, allow_deferred_init=True)
            self.bias = (
                self.params.get("bias", shape=(units,), init=bias_initializer, dtype=dtype, allow_deferred_init=True) if use_bias else None
            )
            self.act = None if activation is None else Activation(activation, prefix=f"{activation}_")

    def hybrid_forward(self, F: Functions, x: Operand, weight: Operand, bias: Operand | None = None) -> Operand:
        """The output (n, units), or (…, units) without ``flatten``."""
        out = F.FullyConnected(x, weight, bias, no_bias=bias is None, num_hidden=self._units, flatten=self._flatten, name="fwd")
        return out if self.act is None else self.act(out)

    def _mistake(self, *shapes: Shape) -> Mistake | None:
        if len(shapes) != 1:
            return "a layer takes one input", f"{len(shapes)} arrays", "pass one array"
        (shape,), size = shapes, self.weight._sizes[1]
        given = math.prod(shape[1:]) if self._flatten else shape[-1]
        if given == size or not size:
            return None
        what = f"the input has rows of {given} values instead of {size}"
        return what, f"an input of shape {shape}", f"pass rows of {size} values, or make another layer for inputs of this size"

    def __repr__(self) -> str:
        # From the weight, not from `in_units`: its shape is inferred in the first forward pass.
        units, in_units = self.weight._sizes
        return f"{type(self).__name__}({in_units or None} -> {units}, {self.act or 'linear'})"


class Dropout(Layer, arrays="nd"):
    """Zeroes random elements during training, and scales the others to preserve the mean.

    Parameters
    ----------
    rate
        The fraction of elements to zero; with 0 the layer does nothing.
    axes
        Axes along which all elements share one draw.
    **kwargs
        ``prefix`` and ``params``, see `Block`.

    Notes
    -----
    Srivastava, Hinton, Krizhevsky, Sutskever and Salakhutdinov, Dropout, JMLR 15 (2014).
    """

    def __init__(self, rate: float, axes: tuple[int, ...] = (), **kwargs: Unpack[Naming]) -> None:
        super().__init__(**kwargs)
        self._rate = rate
        self._axes = axes

    def hybrid_forward(self, F: Functions, x: Operand) -> Operand:
        """The output, with the shape of x."""
        if isinstance(self._rate, str):
            raise WrongArgument(f"{self.name}: rate must be a number", repr(self._rate), "pass a fraction from 0 to 1")
        if self._rate > 0:
            return F.Dropout(x, p=self._rate, axes=self._axes, name="fwd", cudnn_off=False)
        return F.identity(x)  # a node rather than x itself, as in MXNet's exported graphs

    def __repr__(self) -> str:
        return f"{type(self).__name__}(p = {self._rate}, axes={self._axes})"


class Embedding(Layer, arrays="nd"):
    """Maps integers to vectors, the rows of a table.

    Parameters
    ----------
    input_dim
        Number of rows: integers range from 0 to input_dim - 1.
    output_dim
        Size of a vector.
    dtype
        Dtype of the table.
    weight_initializer
        Initializer of the table; None for the model's.
    sparse_grad
        Whether the gradient of the table is row-sparse: it has the rows that were read, and lazy optimizers update only those.
    **kwargs
        ``prefix`` and ``params``, see `Block`.

    Attributes
    ----------
    weight : Parameter
        Of shape (input_dim, output_dim).
    """

    def __init__(
        self,
        input_dim: int,
        output_dim: int,
        dtype: DTypeLike = "float32",
        weight_initializer: InitializerLike = None,
        sparse_grad: bool = False,
        **kwargs: Unpack[Naming],
    ) -> None:
        super().__init__(**kwargs)
        check_sizes(self, input_dim=input_dim, output_dim=output_dim)
        self._input_dim, self._output_dim = input_dim, output_dim
        # the operator's parameters, under its names
        self._kwargs = {"input_dim": input_dim, "output_dim": output_dim, "dtype": dtype, "sparse_grad": sparse_grad}
        self.weight = self.params.get(
            "weight",
            shape=(input_dim, output_dim),
            init=weight_initializer,
            dtype=dtype,
            allow_deferred_init=True,
            grad_stype="row_sparse" if sparse_grad else "default",
        )

    def hybrid_forward(self, F: Functions, x: Operand, weight: Operand) -> Operand:
        """The vectors: the shape of x with a last axis of size output_dim appended."""
        return F.Embedding(x, weight, name="fwd", **self._kwargs)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self._input_dim} -> {self._output_dim}, {self._kwargs['dtype']})"


class Flatten(Layer, arrays="nd"):
    """Reshapes x (n, …) to (n, m).

    Parameters
    ----------
    prefix, params
        See `Block`.
    """

    def hybrid_forward(self, F: Functions, x: Operand) -> Operand:
        """The output (n, m)."""
        return F.Flatten(x)

    def __repr__(self) -> str:
        return type(self).__name__

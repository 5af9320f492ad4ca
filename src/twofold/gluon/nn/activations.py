"""Activation layers."""

from math import pi
from typing import Unpack

from ... import initializer
from ...errors import InvalidValue, ParameterError, WrongArgument
from ...ops.activation import ACTIVATIONS
from ...strictness import tolerate
from ...suggestions import did_you_mean
from ..hybrid_block import Naming
from ..layer import Layer
from ..signatures import Functions, InitializerLike, Operand

#: The initial slope of `PReLU`.
QUARTER = initializer.Constant(0.25)


class Activation(Layer, arrays="nd"):
    """An activation function, given by name.

    Parameters
    ----------
    activation
        ``"relu"``, ``"sigmoid"``, ``"tanh"``, ``"softrelu"`` or ``"softsign"``.
    **kwargs
        ``prefix`` and ``params``, see `Block`.

    Raises
    ------
    WrongArgument
        If ``activation`` is not a string.
    """

    def __init__(self, activation: str, **kwargs: Unpack[Naming]) -> None:
        if not isinstance(activation, str):
            # the second argument of torch's layers is a size
            todo = "pass a name such as 'relu'; the size of the input is inferred, or passed as in_units or in_channels"
            raise WrongArgument("the activation must be given by name", activation, todo)
        # the operator refuses unknown names: libraries make layers with names of their own that they never call
        if activation not in ACTIVATIONS and (todo := did_you_mean(activation, ACTIVATIONS, "")):
            tolerate("no activation has that name", repr(activation), todo)
        self._act_type = activation  # first: the base's constructor asks `_alias` for the prefix
        super().__init__(**kwargs)

    def _alias(self) -> str:
        return self._act_type

    def hybrid_forward(self, F: Functions, x: Operand) -> Operand:
        """The activation of x, elementwise."""
        return F.Activation(x, act_type=self._act_type, name="fwd")

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self._act_type})"


class LeakyReLU(Layer, arrays="nd"):
    """``x`` where it is positive, ``alpha · x`` elsewhere.

    Parameters
    ----------
    alpha
        The slope for negative inputs, 0 or more.
    **kwargs
        ``prefix`` and ``params``, see `Block`.

    Raises
    ------
    ParameterError
        If the slope is negative.
    """

    def __init__(self, alpha: float, **kwargs: Unpack[Naming]) -> None:
        if alpha < 0:
            raise InvalidValue("Slope coefficient for LeakyReLU must be no less than 0", str(alpha), "pass 0 or more")
        super().__init__(**kwargs)
        self._alpha = alpha

    def hybrid_forward(self, F: Functions, x: Operand) -> Operand:
        """The activation of x, elementwise."""
        return F.LeakyReLU(x, act_type="leaky", slope=self._alpha, name="fwd")

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self._alpha})"


class PReLU(Layer, arrays="nd"):
    """``x`` where it is positive, ``alpha · x`` elsewhere, with a learned slope.

    Parameters
    ----------
    alpha_initializer
        Initializer of the slope.
    in_channels
        1 for a single slope, or the size of axis 1 for one slope per channel.
    **kwargs
        ``prefix`` and ``params``, see `Block`.

    Notes
    -----
    He, Zhang, Ren and Sun, Delving deep into rectifiers, ICCV 2015.
    """

    def __init__(self, alpha_initializer: InitializerLike = QUARTER, in_channels: int = 1, **kwargs: Unpack[Naming]) -> None:
        super().__init__(**kwargs)
        with self.name_scope():
            # not deferred: the shape is known, as `in_channels` is not inferred here
            self.alpha = self.params.get("alpha", shape=(in_channels,), init=alpha_initializer)

    def hybrid_forward(self, F: Functions, x: Operand, alpha: Operand) -> Operand:
        """The activation of x, elementwise."""
        return F.LeakyReLU(x, gamma=alpha, act_type="prelu", name="fwd")


class ELU(Layer, arrays="nd"):
    """``x`` where it is positive, ``alpha · (exp(x) − 1)`` elsewhere.

    Parameters
    ----------
    alpha
        The scale for negative inputs.
    **kwargs
        ``prefix`` and ``params``, see `Block`.

    Notes
    -----
    Clevert, Unterthiner and Hochreiter, Fast and accurate deep network learning by exponential linear units, ICLR 2016.
    """

    def __init__(self, alpha: float = 1.0, **kwargs: Unpack[Naming]) -> None:
        super().__init__(**kwargs)
        self._alpha = alpha

    def hybrid_forward(self, F: Functions, x: Operand) -> Operand:
        """The activation of x, elementwise."""
        return F.LeakyReLU(x, act_type="elu", slope=self._alpha)  # MXNet names the others "fwd", but not this one


class SELU(Layer, arrays="nd"):
    """The scaled `ELU`, which preserves mean and variance from layer to layer.

    Parameters
    ----------
    prefix, params
        See `Block`.

    Notes
    -----
    Klambauer, Unterthiner, Mayr and Hochreiter, Self-normalizing neural networks, NIPS 2017.
    """

    def hybrid_forward(self, F: Functions, x: Operand) -> Operand:
        """The activation of x, elementwise."""
        # the operator holds the constants of the paper, about 1.0507 and 1.6733
        return F.LeakyReLU(x, act_type="selu", name="fwd")


class GELU(Layer, arrays="nd"):
    """``x · Φ(x)``, where Φ is the standard normal distribution function.

    Parameters
    ----------
    approximation
        ``"erf"``: none; ``"tanh"``: Φ(x) as ``(1 + tanh(√(2 / π) (x + 0.044715 x³))) / 2``, with which GPT-2 was trained.
    **kwargs
        ``prefix`` and ``params``, see `Block`.

    Raises
    ------
    ParameterError
        If the approximation is another one.

    Notes
    -----
    Hendrycks and Gimpel, Gaussian error linear units, arXiv:1606.08415.
    """

    def __init__(self, approximation: str = "erf", **kwargs: Unpack[Naming]) -> None:
        super().__init__(**kwargs)
        if approximation not in ("erf", "tanh"):
            raise ParameterError("GELU: unknown approximation", repr(approximation), "use 'erf' or 'tanh'")
        self._approximation = approximation

    def hybrid_forward(self, F: Functions, x: Operand) -> Operand:
        """The activation of x, elementwise."""
        if self._approximation == "tanh":
            return 0.5 * x * (1 + F.tanh((2 / pi) ** 0.5 * (x + 0.044715 * x * x * x)))
        return F.LeakyReLU(x, act_type="gelu", name="fwd")


class SiLU(Layer, arrays="nd"):
    """``x · sigmoid(x)``: `Swish` with a factor of 1.

    Parameters
    ----------
    prefix, params
        See `Block`.

    Notes
    -----
    Elfwing, Uchibe and Doya, Sigmoid-weighted linear units, arXiv:1702.03118.

    Examples
    --------
    >>> import twofold as mx
    >>> mx.gluon.nn.SiLU()(mx.nd.array([-1, 0, 1])).asnumpy().round(3)
    array([-0.269,  0.   ,  0.731], dtype=float32)
    """

    def hybrid_forward(self, F: Functions, x: Operand) -> Operand:
        """The activation of x, elementwise."""
        return x * F.sigmoid(x, name="fwd")


class Swish(Layer, arrays="nd"):
    """``x · sigmoid(beta · x)``.

    Parameters
    ----------
    beta
        Factor of the input of the sigmoid.
    **kwargs
        ``prefix`` and ``params``, see `Block`.

    Notes
    -----
    Ramachandran, Zoph and Le, Searching for activation functions, arXiv:1710.05941.
    """

    def __init__(self, beta: float = 1.0, **kwargs: Unpack[Naming]) -> None:
        super().__init__(**kwargs)
        self._beta = beta

    def hybrid_forward(self, F: Functions, x: Operand) -> Operand:
        """The activation of x, elementwise."""
        return x * F.sigmoid(self._beta * x, name="fwd")

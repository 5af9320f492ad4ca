"""Normalization layers: batch, layer, instance and group normalization."""

from collections.abc import Mapping
from typing import Any, ClassVar, Unpack

from ...dtype import dtype_name
from ...errors import WrongArgument
from ..hybrid_block import HybridBlock, Mistake, Naming, Shape
from ..layer import Layer
from ..numpy_arrays import OrHalf
from ..parameter import Parameter
from ..parameter_dict import ParameterDict
from ..signatures import DTypeLike, Functions, InitializerLike, Operand
from ..wrong_inputs import check_positive


def _missing_axis(axis: int, first: str, shapes: tuple[Shape, ...]) -> Mistake | None:
    """What is wrong with an axis that the input does not have, given what the layer's first argument is and what to do about it."""
    if len(shapes) != 1 or -len(shapes[0]) <= axis < len(shapes[0]):
        return None
    todo = f"the first argument is {first}, or pass in_channels={axis}"
    return f"the input has no axis {axis}", f"an input of shape {shapes[0]}", todo


def _repr(block: HybridBlock, values: Mapping[str, object]) -> str:
    return f"{type(block).__name__}({', '.join(f'{k}={v}' for k, v in values.items())})"


def _scale_and_shift(
    block: HybridBlock, size: int, scale: bool, center: bool, gamma: InitializerLike, beta: InitializerLike
) -> tuple[Parameter, Parameter]:
    """The parameters gamma and beta; one that is not learned keeps its initial value."""
    return (
        block.params.get("gamma", grad_req="write" if scale else "null", shape=(size,), init=gamma, allow_deferred_init=True),
        block.params.get("beta", grad_req="write" if center else "null", shape=(size,), init=beta, allow_deferred_init=True),
    )


#: The parameters of the base of batch normalization, in order, with their defaults.
_BATCH_NORM: dict[str, Any] = {
    "axis": 1,
    "momentum": 0.9,
    "epsilon": 1e-5,
    "center": True,
    "scale": True,
    "use_global_stats": False,
    "fuse_relu": False,
    "beta_initializer": "zeros",
    "gamma_initializer": "ones",
    "running_mean_initializer": "zeros",
    "running_variance_initializer": "ones",
    "in_channels": 0,
}


class _BatchNorm(Layer, arrays="nd"):
    """Batch normalization, with a rectifier after it if ``fuse_relu`` is set; the base of the layers, as in MXNet."""

    def __init__(self, *options: Any, **named: Any) -> None:
        """Takes the parameters of `BatchNorm`, with ``fuse_relu`` as the seventh."""
        if len(options) > len(_BATCH_NORM):
            raise WrongArgument("_BatchNorm: too many arguments", len(options), f"it takes {', '.join(_BATCH_NORM)}")
        given = {**_BATCH_NORM, **dict(zip(_BATCH_NORM, options, strict=False)), **named}
        super().__init__(**{name: value for name, value in named.items() if name not in _BATCH_NORM})
        center, scale = given["center"], given["scale"]
        self._kwargs = {
            "axis": given["axis"],
            "eps": given["epsilon"],
            "momentum": given["momentum"],
            # a gamma that is not learned is fixed at 1 by the operator too, whatever the array holds, as in MXNet
            "fix_gamma": not scale,
            "use_global_stats": given["use_global_stats"],
        }
        self.fuse_relu = given["fuse_relu"]
        size = (given["in_channels"],)
        self.gamma = self._parameter("gamma", given["gamma_initializer"], size, scale)
        self.beta = self._parameter("beta", given["beta_initializer"], size, center)
        self.running_mean = self._parameter("running_mean", given["running_mean_initializer"], size, False)
        self.running_var = self._parameter("running_var", given["running_variance_initializer"], size, False)

    def _parameter(self, name: str, init: InitializerLike, shape: tuple[int, ...], is_learned: bool) -> Parameter:
        # Not differentiable rather than only without a gradient: `setattr("grad_req", "write")` on a model must not change it.
        req = "write" if is_learned else "null"
        return self.params.get(name, grad_req=req, shape=shape, init=init, allow_deferred_init=True, differentiable=is_learned)

    def _mistake(self, *shapes: Shape) -> Mistake | None:
        return _missing_axis(self._kwargs["axis"], "the channel axis: omit it, as the channels are inferred", shapes)

    def cast(self, dtype: DTypeLike) -> None:
        """Cast the parameters. They stay float32 in a float16 model, as 16-bit moving averages lose too much precision."""
        super().cast("float32" if dtype_name(dtype) == "float16" else dtype)

    def _input_dtype(self) -> OrHalf:
        return OrHalf(self.gamma.dtype)

    def hybrid_forward(
        self, F: Functions, x: Operand, gamma: Operand, beta: Operand, running_mean: Operand, running_var: Operand
    ) -> Operand:
        """The output, with the shape of x."""
        out = F.BatchNorm(x, gamma, beta, running_mean, running_var, name="fwd", **self._kwargs)
        return F.Activation(out, act_type="relu", name="relu_fwd") if self.fuse_relu else out

    def __repr__(self) -> str:
        # from the parameter: the number is inferred in the first forward pass
        channels = self.gamma._sizes[0]
        return _repr(self, {**self._kwargs, "in_channels": channels or None})


class BatchNorm(_BatchNorm, arrays="nd"):
    """Normalizes each channel by the mean and variance of the batch in training, and by their moving averages otherwise.

    Parameters
    ----------
    axis
        The channel axis.
    momentum
        Decay rate of the moving averages.
    epsilon
        Added to the variance.
    center, scale
        Whether the shift beta and the scale gamma are learned; otherwise they stay 0 and 1.
    use_global_stats
        Whether to use the moving averages in training too.
    beta_initializer, gamma_initializer, running_mean_initializer, running_variance_initializer
        Initializers of the parameters.
    in_channels
        Number of channels; inferred in the first forward pass if 0.
    **kwargs
        ``prefix`` and ``params``, see `Block`.

    Notes
    -----
    Ioffe and Szegedy, Batch normalization, ICML 2015. As in MXNet, the moving averages are updated by the backward pass.
    """

    _fuses_relu: ClassVar[bool] = False

    def __init__(
        self,
        axis: int = 1,
        momentum: float = 0.9,
        epsilon: float = 1e-5,
        center: bool = True,
        scale: bool = True,
        use_global_stats: bool = False,
        beta_initializer: InitializerLike = "zeros",
        gamma_initializer: InitializerLike = "ones",
        running_mean_initializer: InitializerLike = "zeros",
        running_variance_initializer: InitializerLike = "ones",
        in_channels: int = 0,
        **kwargs: Unpack[Naming],
    ) -> None:
        super().__init__(
            axis,
            momentum,
            epsilon,
            center,
            scale,
            use_global_stats,
            self._fuses_relu,
            beta_initializer,
            gamma_initializer,
            running_mean_initializer,
            running_variance_initializer,
            in_channels,
            **kwargs,
        )


class BatchNormReLU(BatchNorm, arrays="nd"):
    """`BatchNorm` followed by a rectifier; takes the same parameters."""

    _fuses_relu = True


class InstanceNorm(Layer, arrays="nd"):
    """Normalizes each channel of each sample by its own mean and variance.

    Parameters
    ----------
    axis
        The channel axis.
    epsilon
        Added to the variance.
    center, scale
        Whether the shift beta and the scale gamma are learned.
    beta_initializer, gamma_initializer
        Initializers of the parameters.
    in_channels
        Number of channels; inferred in the first forward pass if 0.
    **kwargs
        ``prefix`` and ``params``, see `Block`.

    Notes
    -----
    Ulyanov, Vedaldi and Lempitsky, Instance normalization, arXiv:1607.08022.
    """

    def __init__(
        self,
        axis: int = 1,
        epsilon: float = 1e-5,
        center: bool = True,
        scale: bool = False,
        beta_initializer: InitializerLike = "zeros",
        gamma_initializer: InitializerLike = "ones",
        in_channels: int = 0,
        **kwargs: Unpack[Naming],
    ) -> None:
        super().__init__(**kwargs)
        self._kwargs = {"eps": epsilon, "axis": axis, "center": center, "scale": scale}
        self._axis, self._epsilon = axis, epsilon
        self.gamma, self.beta = _scale_and_shift(self, in_channels, scale, center, gamma_initializer, beta_initializer)

    def hybrid_forward(self, F: Functions, x: Operand, gamma: Operand, beta: Operand) -> Operand:
        """The output, with the shape of x."""
        # The operator knows channels on axis 1 only.
        if self._axis == 1:
            return F.InstanceNorm(x, gamma, beta, name="fwd", eps=self._epsilon)
        out = F.InstanceNorm(F.swapaxes(x, dim1=1, dim2=self._axis), gamma, beta, name="fwd", eps=self._epsilon)
        return F.swapaxes(out, dim1=1, dim2=self._axis)

    def __repr__(self) -> str:
        return _repr(self, {**self._kwargs, "in_channels": self.gamma._sizes[0]})


class LayerNorm(Layer, arrays="nd"):
    """Normalizes along an axis by the mean and variance over it.

    Parameters
    ----------
    axis
        The axis.
    epsilon
        Added to the variance.
    center, scale
        Whether the shift beta and the scale gamma are learned.
    beta_initializer, gamma_initializer
        Initializers of the parameters.
    in_channels
        Size of the axis; inferred in the first forward pass if 0.
    prefix, params
        See `Block`.

    Notes
    -----
    Ba, Kiros and Hinton, Layer normalization, arXiv:1607.06450.
    """

    def __init__(
        self,
        axis: int = -1,
        epsilon: float = 1e-5,
        center: bool = True,
        scale: bool = True,
        beta_initializer: InitializerLike = "zeros",
        gamma_initializer: InitializerLike = "ones",
        in_channels: int = 0,
        prefix: str | None = None,
        params: ParameterDict | None = None,
    ) -> None:
        super().__init__(prefix=prefix, params=params)
        self._kwargs = {"eps": epsilon, "axis": axis, "center": center, "scale": scale}
        self._axis, self._epsilon = axis, epsilon
        self.gamma, self.beta = _scale_and_shift(self, in_channels, scale, center, gamma_initializer, beta_initializer)

    def _mistake(self, *shapes: Shape) -> Mistake | None:
        return _missing_axis(self._axis, "the axis: omit it, as its size is inferred", shapes)

    def hybrid_forward(self, F: Functions, data: Operand, gamma: Operand, beta: Operand) -> Operand:
        """The output, with the shape of the data."""
        return F.LayerNorm(data, gamma=gamma, beta=beta, axis=self._axis, eps=self._epsilon)

    def __repr__(self) -> str:
        return _repr(self, {**self._kwargs, "in_channels": self.gamma._sizes[0]})


class RMSNorm(Layer, arrays="nd"):
    """Divides by the root of the mean square along an axis, and multiplies by a learned scale.

    Parameters
    ----------
    axis
        The axis.
    epsilon
        Added to the mean square.
    gamma_initializer
        Initializer of the scale.
    in_channels
        Size of the axis; inferred in the first forward pass if 0.
    **kwargs
        ``prefix`` and ``params``, see `Block`.

    Attributes
    ----------
    gamma : Parameter
        Of shape (in_channels,).

    Notes
    -----
    Zhang and Sennrich, Root mean square layer normalization, arXiv:1910.07467.

    Examples
    --------
    >>> import twofold as mx
    >>> layer = mx.gluon.nn.RMSNorm()
    >>> layer.initialize()
    >>> layer(mx.nd.array([[3, 4]])).asnumpy().round(3)
    array([[0.849, 1.131]], dtype=float32)
    """

    def __init__(
        self,
        axis: int = -1,
        epsilon: float = 1e-6,
        gamma_initializer: InitializerLike = "ones",
        in_channels: int = 0,
        **kwargs: Unpack[Naming],
    ) -> None:
        super().__init__(**kwargs)
        self._axis, self._epsilon = axis, epsilon
        self.gamma = self.params.get("gamma", shape=(in_channels,), init=gamma_initializer, allow_deferred_init=True)

    def hybrid_forward(self, F: Functions, x: Operand, gamma: Operand) -> Operand:
        """The output, with the shape of x."""
        return F.contrib.rms_norm(x, gamma, axis=self._axis, eps=self._epsilon)

    def __repr__(self) -> str:
        return _repr(self, {"axis": self._axis, "eps": self._epsilon, "in_channels": self.gamma._sizes[0]})


class GroupNorm(Layer, arrays="nd"):
    """Normalizes groups of channels (axis 1) of each sample by their mean and variance.

    Parameters
    ----------
    num_groups
        Number of groups.
    epsilon
        Added to the variance.
    center, scale
        Whether the shift beta and the scale gamma, one per group, are learned.
    beta_initializer, gamma_initializer
        Initializers of the parameters.
    prefix, params
        See `Block`.

    Notes
    -----
    Wu and He, Group normalization, ECCV 2018.
    """

    def __init__(
        self,
        num_groups: int = 1,
        epsilon: float = 1e-5,
        center: bool = True,
        scale: bool = True,
        beta_initializer: InitializerLike = "zeros",
        gamma_initializer: InitializerLike = "ones",
        prefix: str | None = None,
        params: ParameterDict | None = None,
    ) -> None:
        super().__init__(prefix=prefix, params=params)
        self._kwargs = {"eps": epsilon, "num_groups": num_groups, "center": center, "scale": scale}
        check_positive(self, num_groups=num_groups)
        self._num_groups, self._epsilon = num_groups, epsilon
        # one scale and shift per group, as in MXNet, not one per channel as in the paper
        self.gamma, self.beta = _scale_and_shift(self, num_groups, scale, center, gamma_initializer, beta_initializer)

    def hybrid_forward(self, F: Functions, data: Operand, gamma: Operand, beta: Operand) -> Operand:
        """The output, with the shape of the data."""
        return F.GroupNorm(data, gamma=gamma, beta=beta, num_groups=self._num_groups, eps=self._epsilon)

    def __repr__(self) -> str:
        return _repr(self, self._kwargs)

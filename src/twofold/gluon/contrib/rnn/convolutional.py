"""Recurrent cells whose maps of input and state are convolutions."""

from collections.abc import Sequence
from functools import partial
from typing import Any, ClassVar

from ....errors import InvalidValue, Undefined
from ...hybrid_block import Shape
from ...nn.convolution import Sizes, sizes_of
from ...parameter_dict import ParameterDict
from ...rnn import HybridRecurrentCell
from ...rnn.gates import Activation, gru_step, lstm_step
from ...signatures import Functions, InitializerLike, Operand, StateInfo, extend_docstring

#: The default layout by number of spatial axes.
_LAYOUTS = {1: "NCW", 2: "NCHW", 3: "NCDHW"}


_PARAMETERS = """

    Parameters
    ----------
    input_shape
        Shape of one sample, such as {shape}, in the order of the layout.
    hidden_channels
        Channels of the states and of the output.
    i2h_kernel, h2h_kernel
        Kernels of the convolutions of input and state; the latter of odd sizes.
    i2h_pad
        Padding of the input's convolution; the state's keeps its size.
    i2h_dilate, h2h_dilate
        Dilations.
    i2h_weight_initializer, h2h_weight_initializer, i2h_bias_initializer, h2h_bias_initializer
        Initializers of the parameters; None for the model's.
    conv_layout
        Order of the axes, ``"{layout}"`` if None.
    activation
        Name of the activation, or a function.
    prefix, params
        See `Block`.

    Raises
    ------
    ParameterError
        If a kernel of the state is even, or a number of axes does not match.

    Notes
    -----
    Shi et al., Convolutional LSTM network, NIPS 2015.

    Examples
    --------
    >>> import twofold as mx
    >>> cell = mx.gluon.contrib.rnn.{name}({shape}, 4, i2h_kernel=3, h2h_kernel=3, i2h_pad=1)
    >>> cell.initialize()
    >>> output, states = cell(mx.nd.ones((2, *{shape})), cell.begin_state(batch_size=2))
    >>> output.shape
    {output}
    """


class _BaseConvRNNCell(HybridRecurrentCell, arrays="nd"):
    """The base of all convolutional cells. Subclasses name their gates, and define `_step` or ``hybrid_forward``.

    Parameters
    ----------
    dims
        The number of spatial axes.

    Notes
    -----
    The other parameters are those of the public cells.
    """

    #: The endings of the names of the gates, whose filters the parameters have one after another.
    _gate_names: ClassVar[Sequence[str]]
    #: The number of states.
    _states: ClassVar[int] = 0

    def __init__(
        self, input_shape: Sequence[int], hidden_channels: int, i2h_kernel: Sizes, h2h_kernel: Sizes,
        i2h_pad: Sizes, i2h_dilate: Sizes, h2h_dilate: Sizes,
        i2h_weight_initializer: InitializerLike, h2h_weight_initializer: InitializerLike,
        i2h_bias_initializer: InitializerLike, h2h_bias_initializer: InitializerLike,
        dims: int, conv_layout: str, activation: Activation, prefix: str | None = None, params: ParameterDict | None = None,
    ) -> None:  # fmt: skip
        super().__init__(prefix=prefix, params=params)
        if len(input_shape) != dims + 1 or len(conv_layout) != dims + 2:
            given = f"input_shape {tuple(input_shape)}, conv_layout {conv_layout}"
            todo = f"pass the shape of one sample: channels and {dims} spatial axes, in the order of the layout"
            raise InvalidValue(f"{type(self).__name__}: the number of axes does not match", given, todo)
        self._hidden_channels, self._input_shape = hidden_channels, tuple(input_shape)
        self._conv_layout, self._activation = conv_layout, activation
        self._h2h_kernel = _sizes(dims, "h2h_kernel", h2h_kernel)
        if not all(size % 2 for size in self._h2h_kernel):
            raise InvalidValue(f"Only support odd number, get h2h_kernel= {h2h_kernel}", None, "the state must keep its size")
        self._h2h_dilate = _sizes(dims, "h2h_dilate", h2h_dilate)
        self._i2h_kernel, self._stride = _sizes(dims, "i2h_kernel", i2h_kernel), (1,) * dims
        self._i2h_pad, self._i2h_dilate = _sizes(dims, "i2h_pad", i2h_pad), _sizes(dims, "i2h_dilate", i2h_dilate)
        shapes = self._decide_shapes()
        self._channel_axis, self._in_channels, incoming, recurrent, self._h2h_pad, self._state_shape = shapes
        get, filters = self.params.get, self._num_gates * hidden_channels
        self.i2h_weight = get("i2h_weight", shape=incoming, init=i2h_weight_initializer, allow_deferred_init=True)
        self.h2h_weight = get("h2h_weight", shape=recurrent, init=h2h_weight_initializer, allow_deferred_init=True)
        self.i2h_bias = get("i2h_bias", shape=(filters,), init=i2h_bias_initializer, allow_deferred_init=True)
        self.h2h_bias = get("h2h_bias", shape=(filters,), init=h2h_bias_initializer, allow_deferred_init=True)

    @property
    def _num_gates(self) -> int:
        return len(self._gate_names)

    def _decide_shapes(self) -> tuple[int, int, Shape, Shape, Shape, Shape]:
        """The axis of channels, the channels of the input, the shapes of both weights, the state's padding, and the shape of its sample."""
        axis, shape = self._conv_layout.find("C"), self._input_shape
        # the layout has an axis for the batch, the shape of a sample has none
        spatial, channels = shape[: axis - 1] + shape[axis:], shape[axis - 1]
        filters = self._num_gates * self._hidden_channels

        def joined(sizes: Shape, channels: int, axis: int) -> Shape:
            return (*sizes[:axis], channels, *sizes[axis:])

        incoming = joined((filters, *self._i2h_kernel), channels, axis)
        recurrent = joined((filters, *self._h2h_kernel), self._hidden_channels, axis)
        pad = tuple(d * (k - 1) // 2 for d, k in zip(self._h2h_dilate, self._h2h_kernel, strict=True))
        sizes = _get_conv_out_size(spatial, self._i2h_kernel, self._i2h_pad, self._i2h_dilate)
        return axis, channels, incoming, recurrent, pad, joined(sizes, self._hidden_channels, axis - 1)

    def state_info(self, batch_size: int = 0) -> list[StateInfo]:
        """Shape and layout of each state: that of the output."""
        if not self._states:
            raise Undefined(f"{type(self).__name__} has no states", None, "define state_info in it")
        return [{"shape": (batch_size, *self._state_shape), "__layout__": self._conv_layout}] * self._states

    def _conv_forward(
        self,
        F: Functions,
        inputs: Operand,
        states: Sequence[Operand],
        i2h_weight: Operand,
        h2h_weight: Operand,
        i2h_bias: Operand,
        h2h_bias: Operand,
        prefix: str,
    ) -> tuple[Operand, Operand]:
        """The convolutions of input and state for all gates; ``prefix`` begins the names of their nodes."""
        given: dict[str, Any] = {"num_filter": self._num_gates * self._hidden_channels, "layout": self._conv_layout}
        of_input = {"kernel": self._i2h_kernel, "stride": self._stride, "dilate": self._i2h_dilate, "pad": self._i2h_pad}
        of_state = {"kernel": self._h2h_kernel, "stride": self._stride, "dilate": self._h2h_dilate, "pad": self._h2h_pad}
        i2h = F.Convolution(inputs, i2h_weight, i2h_bias, **given, **of_input, name=f"{prefix}i2h")
        h2h = F.Convolution(states[0], h2h_weight, h2h_bias, **given, **of_state, name=f"{prefix}h2h")
        return i2h, h2h

    def hybrid_forward(
        self,
        F: Functions,
        inputs: Operand,
        states: Sequence[Operand],
        i2h_weight: Operand,
        h2h_weight: Operand,
        i2h_bias: Operand,
        h2h_bias: Operand,
    ) -> tuple[Operand, list[Operand]]:
        """The output and states of one step."""
        prefix = self._step_name("")
        i2h, h2h = self._conv_forward(F, inputs, states, i2h_weight, h2h_weight, i2h_bias, h2h_bias, prefix)
        return self._step(F, i2h, h2h, states)

    def _step(self, F: Functions, i2h: Operand, h2h: Operand, states: Sequence[Operand]) -> tuple[Operand, list[Operand]]:
        """The output and states from the convolutions of input and state for all gates."""
        raise Undefined(f"{type(self).__name__} has no gates", None, "define _step in it")

    def __repr__(self) -> str:
        filters = self._num_gates * self._hidden_channels
        return f"{type(self).__name__}({self._in_channels} -> {filters}, {self._activation}, {self._conv_layout})"


def _sizes(dims: int, what: str, given: Sizes) -> Shape:
    """Sizes along the spatial axes, from a number or one for each."""
    whole = given if isinstance(given, int) or len(given) != 1 else given[0]
    return sizes_of(whole, dims, f"For {dims}D convolution, {what}")


def _get_conv_out_size(dimensions: Shape, kernels: Shape, paddings: Shape, dilations: Shape) -> Shape:
    """Sizes of the result of a convolution with stride 1; 0 stays 0, an unknown size."""
    facts = zip(dimensions, kernels, paddings, dilations, strict=False)
    return tuple(size + 2 * pad - dilate * (kernel - 1) if size else 0 for size, kernel, pad, dilate in facts)


class _ConvRNNCell(_BaseConvRNNCell, arrays="nd"):
    _gate_names: ClassVar[Sequence[str]] = ("",)
    _states: ClassVar[int] = 1

    def _alias(self) -> str:
        return "conv_rnn"

    def _step(self, F: Functions, i2h: Operand, h2h: Operand, states: Sequence[Operand]) -> tuple[Operand, list[Operand]]:
        output = self._get_activation(F, i2h + h2h, self._activation, name=self._step_name("out"))
        return output, [output]


class _ConvLSTMCell(_BaseConvRNNCell, arrays="nd"):
    _gate_names: ClassVar[Sequence[str]] = ["_i", "_f", "_c", "_o"]
    _states: ClassVar[int] = 2

    def _alias(self) -> str:
        return "conv_lstm"

    def _step(self, F: Functions, i2h: Operand, h2h: Operand, states: Sequence[Operand]) -> tuple[Operand, list[Operand]]:
        gates = F.SliceChannel(i2h + h2h, num_outputs=4, axis=self._channel_axis, name=self._step_name("slice"))
        return lstm_step(F, gates, states[1], self._step_name(""), partial(self._get_activation, F, activation=self._activation))


class _ConvGRUCell(_BaseConvRNNCell, arrays="nd"):
    _gate_names: ClassVar[Sequence[str]] = ["_r", "_z", "_o"]
    _states: ClassVar[int] = 1

    def _alias(self) -> str:
        return "conv_gru"

    def _step(self, F: Functions, i2h: Operand, h2h: Operand, states: Sequence[Operand]) -> tuple[Operand, list[Operand]]:
        apply, prefix = partial(self._get_activation, F, activation=self._activation), self._step_name("")
        return gru_step(F, i2h, h2h, states[0], prefix, apply, f"{prefix}out", axis=self._channel_axis)


class _Sized(_BaseConvRNNCell, arrays="nd"):
    """The constructor of the public cells, whose classes say the number of spatial axes."""

    _dims: ClassVar[int]

    def __init_subclass__(cls, dims: int = 0, **options: Any) -> None:
        super().__init_subclass__(**options)
        if dims:
            cls._dims, spatial = dims, (5, 6, 7)[:dims]
            shapes = {"shape": (3, *spatial), "output": (2, 4, *spatial)}
            extend_docstring(cls, _PARAMETERS, name=cls.__name__, layout=_LAYOUTS[dims], **shapes)

    def __init__(
        self,
        input_shape: Sequence[int],
        hidden_channels: int,
        i2h_kernel: Sizes,
        h2h_kernel: Sizes,
        i2h_pad: Sizes = 0,
        i2h_dilate: Sizes = 1,
        h2h_dilate: Sizes = 1,
        i2h_weight_initializer: InitializerLike = None,
        h2h_weight_initializer: InitializerLike = None,
        i2h_bias_initializer: InitializerLike = "zeros",
        h2h_bias_initializer: InitializerLike = "zeros",
        conv_layout: str | None = None,
        activation: Activation = "tanh",
        prefix: str | None = None,
        params: ParameterDict | None = None,
    ) -> None:
        layout = _LAYOUTS[self._dims] if conv_layout is None else conv_layout
        super().__init__(
            input_shape, hidden_channels, i2h_kernel, h2h_kernel, i2h_pad, i2h_dilate, h2h_dilate, i2h_weight_initializer,
            h2h_weight_initializer, i2h_bias_initializer, h2h_bias_initializer, self._dims, layout, activation, prefix, params,
        )  # fmt: skip


class Conv1DRNNCell(_Sized, _ConvRNNCell, dims=1):
    """`RNNCell` with convolutions over one axis in place of matrix products."""


class Conv1DLSTMCell(_Sized, _ConvLSTMCell, dims=1):
    """`LSTMCell` with convolutions over one axis in place of matrix products."""


class Conv1DGRUCell(_Sized, _ConvGRUCell, dims=1):
    """`GRUCell` with convolutions over one axis in place of matrix products."""


class Conv2DRNNCell(_Sized, _ConvRNNCell, dims=2):
    """`RNNCell` with convolutions over two axes in place of matrix products."""


class Conv2DLSTMCell(_Sized, _ConvLSTMCell, dims=2):
    """`LSTMCell` with convolutions over two axes in place of matrix products."""


class Conv2DGRUCell(_Sized, _ConvGRUCell, dims=2):
    """`GRUCell` with convolutions over two axes in place of matrix products."""


class Conv3DRNNCell(_Sized, _ConvRNNCell, dims=3):
    """`RNNCell` with convolutions over three axes in place of matrix products."""


class Conv3DLSTMCell(_Sized, _ConvLSTMCell, dims=3):
    """`LSTMCell` with convolutions over three axes in place of matrix products."""


class Conv3DGRUCell(_Sized, _ConvGRUCell, dims=3):
    """`GRUCell` with convolutions over three axes in place of matrix products."""

"""Recurrent cells whose maps of input and state are convolutions."""

from collections.abc import Sequence
from functools import partial
from typing import Any, ClassVar

from ....errors import InvalidValue, Undefined
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


class _ConvCell(HybridRecurrentCell, arrays="nd"):
    """The base of all convolutional cells."""

    _ndim: ClassVar[int]
    _gates: ClassVar[int]

    def __init_subclass__(cls, ndim: int | None = None, **options: Any) -> None:
        super().__init_subclass__(**options)
        if ndim is not None:
            cls._ndim, spatial = ndim, (5, 6, 7)[:ndim]
            shapes = {"shape": (3, *spatial), "output": (2, 4, *spatial)}
            extend_docstring(cls, _PARAMETERS, name=cls.__name__, layout=_LAYOUTS[ndim], **shapes)

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
        super().__init__(prefix=prefix, params=params)
        self._layout = _LAYOUTS[self._ndim] if conv_layout is None else conv_layout
        self._channel_axis = self._layout.find("C")
        if len(input_shape) != self._ndim + 1 or len(self._layout) != self._ndim + 2:
            given = f"input_shape {tuple(input_shape)}, conv_layout {self._layout}"
            todo = f"pass the shape of one sample: channels and {self._ndim} spatial axes, in the order of the layout"
            raise InvalidValue(f"{type(self).__name__}: the number of axes does not match", given, todo)
        self._input_shape = tuple(input_shape)
        self._hidden_channels = hidden_channels
        self._activation = activation
        h2h_sizes = self._sizes("h2h_kernel", h2h_kernel)
        if not all(size % 2 for size in h2h_sizes):
            raise InvalidValue(f"Only support odd number, get h2h_kernel= {h2h_kernel}", None, "the state must keep its size")
        dilate = self._sizes("h2h_dilate", h2h_dilate)
        pad = tuple(d * (k - 1) // 2 for d, k in zip(dilate, h2h_sizes, strict=True))
        self._h2h = {"kernel": h2h_sizes, "dilate": dilate, "pad": pad}
        self._i2h = {
            "kernel": self._sizes("i2h_kernel", i2h_kernel),
            "dilate": self._sizes("i2h_dilate", i2h_dilate),
            "pad": self._sizes("i2h_pad", i2h_pad),
        }
        self._state_shape = self._shape_of_state()
        filters = self._gates * hidden_channels
        get = self.params.get
        incoming = self._with_channels((filters, *self._i2h["kernel"]), self._input_shape[self._channel_axis - 1])
        recurrent = self._with_channels((filters, *self._h2h["kernel"]), hidden_channels)
        self.i2h_weight = get("i2h_weight", shape=incoming, init=i2h_weight_initializer, allow_deferred_init=True)
        self.h2h_weight = get("h2h_weight", shape=recurrent, init=h2h_weight_initializer, allow_deferred_init=True)
        self.i2h_bias = get("i2h_bias", shape=(filters,), init=i2h_bias_initializer, allow_deferred_init=True)
        self.h2h_bias = get("h2h_bias", shape=(filters,), init=h2h_bias_initializer, allow_deferred_init=True)

    def _sizes(self, what: str, given: Sizes) -> tuple[int, ...]:
        whole = given if isinstance(given, int) or len(given) != 1 else given[0]
        return sizes_of(whole, self._ndim, f"For {self._ndim}D convolution, {what}")

    def _with_channels(self, shape: tuple[int, ...], channels: int) -> tuple[int, ...]:
        """A shape without a channel axis, with one at its place in the layout."""
        return (*shape[: self._channel_axis], channels, *shape[self._channel_axis :])

    def _shape_of_state(self) -> tuple[int, ...]:
        """Shape of the state of a sample: that of the convolved input."""
        at = self._channel_axis - 1
        spatial = self._input_shape[:at] + self._input_shape[at + 1 :]
        facts = zip(spatial, self._i2h["kernel"], self._i2h["dilate"], self._i2h["pad"], strict=True)
        sizes = [size + 2 * pad - dilate * (kernel - 1) for size, kernel, dilate, pad in facts]
        return (*sizes[:at], self._hidden_channels, *sizes[at:])

    def state_info(self, batch_size: int = 0) -> list[StateInfo]:
        """One state, with the shape of the output."""
        return [{"shape": (batch_size, *self._state_shape), "__layout__": self._layout}]

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
        given: dict[str, Any] = {"num_filter": self._gates * self._hidden_channels, "layout": self._layout}
        i2h = F.Convolution(inputs, i2h_weight, i2h_bias, **given, **self._i2h, name=self._step_name("i2h"))
        h2h = F.Convolution(states[0], h2h_weight, h2h_bias, **given, **self._h2h, name=self._step_name("h2h"))
        return self._step(F, i2h, h2h, states)

    def _step(self, F: Functions, i2h: Operand, h2h: Operand, states: Sequence[Operand]) -> tuple[Operand, list[Operand]]:
        """The output and states from the convolutions of input and state for all gates."""
        raise Undefined(f"{type(self).__name__} has no gates", None, "define _step in it")

    def __repr__(self) -> str:
        incoming, filters = self._input_shape[self._channel_axis - 1], self._gates * self._hidden_channels
        return f"{type(self).__name__}({incoming} -> {filters}, {self._activation}, {self._layout})"


class _ConvRNN(_ConvCell, arrays="nd"):
    _gates: ClassVar[int] = 1

    def _alias(self) -> str:
        return "conv_rnn"

    def _step(self, F: Functions, i2h: Operand, h2h: Operand, states: Sequence[Operand]) -> tuple[Operand, list[Operand]]:
        output = self._get_activation(F, i2h + h2h, self._activation, name=self._step_name("out"))
        return output, [output]


class _ConvLSTM(_ConvCell, arrays="nd"):
    _gates: ClassVar[int] = 4

    def _alias(self) -> str:
        return "conv_lstm"

    def state_info(self, batch_size: int = 0) -> list[StateInfo]:
        """The states h and c, with the shape of the output each."""
        return super().state_info(batch_size) * 2

    def _step(self, F: Functions, i2h: Operand, h2h: Operand, states: Sequence[Operand]) -> tuple[Operand, list[Operand]]:
        gates = F.SliceChannel(i2h + h2h, num_outputs=4, axis=self._channel_axis, name=self._step_name("slice"))
        return lstm_step(F, gates, states[1], self._step_name(""), partial(self._get_activation, F, activation=self._activation))


class _ConvGRU(_ConvCell, arrays="nd"):
    _gates: ClassVar[int] = 3

    def _alias(self) -> str:
        return "conv_gru"

    def _step(self, F: Functions, i2h: Operand, h2h: Operand, states: Sequence[Operand]) -> tuple[Operand, list[Operand]]:
        apply, prefix = partial(self._get_activation, F, activation=self._activation), self._step_name("")
        return gru_step(F, i2h, h2h, states[0], prefix, apply, f"{prefix}out", axis=self._channel_axis)


class Conv1DRNNCell(_ConvRNN, ndim=1):
    """`RNNCell` with convolutions over one axis in place of matrix products."""


class Conv1DLSTMCell(_ConvLSTM, ndim=1):
    """`LSTMCell` with convolutions over one axis in place of matrix products."""


class Conv1DGRUCell(_ConvGRU, ndim=1):
    """`GRUCell` with convolutions over one axis in place of matrix products."""


class Conv2DRNNCell(_ConvRNN, ndim=2):
    """`RNNCell` with convolutions over two axes in place of matrix products."""


class Conv2DLSTMCell(_ConvLSTM, ndim=2):
    """`LSTMCell` with convolutions over two axes in place of matrix products."""


class Conv2DGRUCell(_ConvGRU, ndim=2):
    """`GRUCell` with convolutions over two axes in place of matrix products."""


class Conv3DRNNCell(_ConvRNN, ndim=3):
    """`RNNCell` with convolutions over three axes in place of matrix products."""


class Conv3DLSTMCell(_ConvLSTM, ndim=3):
    """`LSTMCell` with convolutions over three axes in place of matrix products."""


class Conv3DGRUCell(_ConvGRU, ndim=3):
    """`GRUCell` with convolutions over three axes in place of matrix products."""

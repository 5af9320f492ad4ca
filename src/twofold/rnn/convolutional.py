"""Convolutional cells, whose input and states are images."""

from collections.abc import Sequence
from functools import partial
from typing import Any

from .. import symbol as sym
from ..errors import InvalidValue, ShapeError
from ..gluon.rnn.gates import Activation
from ..initializer.base import Initializer
from ..symbol.symbol import Symbol
from .base import RNNParams, StateInfo
from .gated import GRU_GATES, LSTM_GATES, WEIGHTS_FIRST, GatedCell, gated_recurrent, long_short_term

Pair = tuple[int, int]
Init = Initializer | str | None

LEAKY = partial(sym.LeakyReLU, act_type="leaky", slope=0.2)


class BaseConvRNNCell(GatedCell):
    """Base class of convolutional cells.

    Parameters
    ----------
    input_shape
        Shape (n, c, h, w) of the input of a step; n does not matter.
    num_hidden
        Number of channels of output and states.
    h2h_kernel, h2h_dilate
        Kernel, of odd sizes, and dilation of the convolution of the states, which are padded so that they keep their size.
    i2h_kernel, i2h_stride, i2h_pad, i2h_dilate
        Kernel, stride, padding and dilation of the convolution of the input.
    i2h_weight_initializer, h2h_weight_initializer, i2h_bias_initializer, h2h_bias_initializer
        Initializers of the parameters, or their names; the model's if None.
    activation
        Name of an activation, or a function of a symbol.
    prefix, params
        See `BaseRNNCell`.
    conv_layout
        Order of the axes of input and states: ``"NCHW"`` or ``"NHWC"``.

    Raises
    ------
    ParameterError
        If a size of ``h2h_kernel`` is even.
    ShapeError
        If ``input_shape`` is not that of an image, or too small for the kernel.
    """

    def __init__(
        self,
        input_shape: Sequence[int],
        num_hidden: int,
        h2h_kernel: Pair,
        h2h_dilate: Pair,
        i2h_kernel: Pair,
        i2h_stride: Pair,
        i2h_pad: Pair,
        i2h_dilate: Pair,
        i2h_weight_initializer: Init,
        h2h_weight_initializer: Init,
        i2h_bias_initializer: Init,
        h2h_bias_initializer: Init,
        activation: Activation,
        prefix: str = "",
        params: RNNParams | None = None,
        conv_layout: str = "NCHW",
    ) -> None:
        super().__init__(prefix=prefix, params=params)
        if any(size % 2 == 0 for size in h2h_kernel):
            raise InvalidValue("Only support odd number, get h2h_kernel", repr(h2h_kernel), "pass odd sizes, so that states keep theirs")
        if len(input_shape) != 4:
            raise ShapeError("the input of a convolutional cell is an image", repr(tuple(input_shape)), "pass (n, c, h, w)")
        self._num_hidden, self._conv_layout, self._activation = num_hidden, conv_layout, activation
        self._split = {"axis": conv_layout.find("C")}
        self._input_shape = input_shape
        self._i2h_kernel, self._i2h_stride, self._i2h_pad, self._i2h_dilate = i2h_kernel, i2h_stride, i2h_pad, i2h_dilate
        self._h2h_kernel, self._h2h_dilate = h2h_kernel, h2h_dilate
        self._h2h_pad = tuple(d * (k - 1) // 2 for k, d in zip(h2h_kernel, h2h_dilate, strict=True))
        self._get_variables(
            *WEIGHTS_FIRST,
            i2h_weight=i2h_weight_initializer,
            h2h_weight=h2h_weight_initializer,
            i2h_bias=i2h_bias_initializer,
            h2h_bias=h2h_bias_initializer,
        )
        one = sym.Convolution(sym.Variable("data"), num_filter=num_hidden, **self._of_input())
        # the batch size does not matter, but must be known
        shapes = one.infer_shape(data=(1, *input_shape[1:]))[1]
        assert shapes is not None
        self._state_shape = (0, *shapes[0][1:])

    def _state(self) -> StateInfo:
        return {"shape": self._state_shape, "__layout__": self._conv_layout}

    @property
    def _num_gates(self) -> int:
        return len(self._gate_names)

    def _of_input(self) -> dict[str, Any]:
        """The parameters of the convolution of the input."""
        return {
            "layout": self._conv_layout,
            "kernel": self._i2h_kernel,
            "stride": self._i2h_stride,
            "pad": self._i2h_pad,
            "dilate": self._i2h_dilate,
        }

    def _maps(self, inputs: Symbol, state: Symbol, name: str) -> tuple[Symbol, Symbol]:
        return self._conv_forward(inputs, [state], name)

    def _conv_forward(self, inputs: Symbol, states: Sequence[Symbol], name: str) -> tuple[Symbol, Symbol]:
        """The maps of the input and of the first state, under MXNet's name, by which subclasses call them."""
        filters = self._num_hidden * self._num_gates
        of_state: dict[str, Any] = {
            "layout": self._conv_layout,
            "kernel": self._h2h_kernel,
            "stride": (1, 1),
            "pad": self._h2h_pad,
            "dilate": self._h2h_dilate,
        }
        i2h = sym.Convolution(inputs, self._iW, self._iB, num_filter=filters, name=f"{name}i2h", **self._of_input())
        h2h = sym.Convolution(states[0], self._hW, self._hB, num_filter=filters, name=f"{name}h2h", **of_state)
        return i2h, h2h


def _constructor(kind: str):
    """The constructor of a kind of cell: kinds differ in the prefix alone."""

    def __init__(
        self: BaseConvRNNCell,
        input_shape: Sequence[int],
        num_hidden: int,
        h2h_kernel: Pair = (3, 3),
        h2h_dilate: Pair = (1, 1),
        i2h_kernel: Pair = (3, 3),
        i2h_stride: Pair = (1, 1),
        i2h_pad: Pair = (1, 1),
        i2h_dilate: Pair = (1, 1),
        i2h_weight_initializer: Init = None,
        h2h_weight_initializer: Init = None,
        i2h_bias_initializer: Init = "zeros",
        h2h_bias_initializer: Init = "zeros",
        activation: Activation = LEAKY,
        prefix: str = f"{kind}_",
        params: RNNParams | None = None,
        conv_layout: str = "NCHW",
    ) -> None:
        BaseConvRNNCell.__init__(**locals())  # self and all parameters, which have the names of the base's

    __init__.__qualname__ = f"{kind}Cell.__init__"
    return __init__


class ConvRNNCell(BaseConvRNNCell):
    """A plain convolutional cell; see `BaseConvRNNCell` for the parameters.

    Examples
    --------
    >>> import twofold as mx
    >>> cell = mx.rnn.ConvRNNCell((1, 3, 8, 8), 4)
    >>> outputs, _ = cell.unroll(2, mx.sym.Variable("data"), merge_outputs=True)
    >>> outputs.infer_shape(data=(5, 2, 3, 8, 8))[1]  # (n, t, c, h, w)
    [(5, 2, 4, 8, 8)]
    """

    __init__ = _constructor("ConvRNN")
    _gate_names = ("",)


class ConvLSTMCell(BaseConvRNNCell):
    """A convolutional long short-term memory cell; see `BaseConvRNNCell` for the parameters.

    Notes
    -----
    Shi et al., Convolutional LSTM network: a machine learning approach for precipitation nowcasting, NIPS 2015; without peepholes.
    """

    __init__ = _constructor("ConvLSTM")
    _gate_names = LSTM_GATES
    _step = long_short_term


class ConvGRUCell(BaseConvRNNCell):
    """A convolutional gated recurrent unit; see `BaseConvRNNCell` for the parameters."""

    __init__ = _constructor("ConvGRU")
    _gate_names = GRU_GATES
    _step = gated_recurrent

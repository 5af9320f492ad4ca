"""``gluon.contrib.rnn``: convolutional cells, LSTM with projection, dropout with one mask per sequence."""

from .cells import LSTMPCell, VariationalDropoutCell, dynamic_unroll
from .convolutional import (  # the names with an underscore for MXNet's own module
    Conv1DGRUCell,
    Conv1DLSTMCell,
    Conv1DRNNCell,
    Conv2DGRUCell,
    Conv2DLSTMCell,
    Conv2DRNNCell,
    Conv3DGRUCell,
    Conv3DLSTMCell,
    Conv3DRNNCell,
    _BaseConvRNNCell,  # noqa: F401
    _ConvGRUCell,  # noqa: F401
    _ConvLSTMCell,  # noqa: F401
    _ConvRNNCell,  # noqa: F401
    _get_conv_out_size,  # noqa: F401
)

__all__ = [
    "Conv1DGRUCell",
    "Conv1DLSTMCell",
    "Conv1DRNNCell",
    "Conv2DGRUCell",
    "Conv2DLSTMCell",
    "Conv2DRNNCell",
    "Conv3DGRUCell",
    "Conv3DLSTMCell",
    "Conv3DRNNCell",
    "LSTMPCell",
    "VariationalDropoutCell",
    "dynamic_unroll",
]

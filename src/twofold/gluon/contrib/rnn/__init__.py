"""``gluon.contrib.rnn``: convolutional cells, LSTM with projection, dropout with one mask per sequence."""

from .cells import LSTMPCell, VariationalDropoutCell, dynamic_unroll
from .convolutional import (
    Conv1DGRUCell,
    Conv1DLSTMCell,
    Conv1DRNNCell,
    Conv2DGRUCell,
    Conv2DLSTMCell,
    Conv2DRNNCell,
    Conv3DGRUCell,
    Conv3DLSTMCell,
    Conv3DRNNCell,
)

# for MXNet's own module
from .convolutional import _BaseConvRNNCell as _BaseConvRNNCell
from .convolutional import _ConvGRUCell as _ConvGRUCell
from .convolutional import _ConvLSTMCell as _ConvLSTMCell
from .convolutional import _ConvRNNCell as _ConvRNNCell
from .convolutional import _get_conv_out_size as _get_conv_out_size

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

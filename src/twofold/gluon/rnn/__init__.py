"""``gluon.rnn``: recurrent cells and layers."""

from ...suggestions import lookup as _lookup
from .base import HybridRecurrentCell, RecurrentCell
from .cells import GRUCell, LSTMCell, RNNCell
from .containers import BidirectionalCell, HybridSequentialRNNCell, SequentialRNNCell
from .layers import GRU, LSTM, RNN
from .modifiers import DropoutCell, ModifierCell, ResidualCell, ZoneoutCell

__all__ = [
    "GRU",
    "LSTM",
    "RNN",
    "BidirectionalCell",
    "DropoutCell",
    "GRUCell",
    "HybridRecurrentCell",
    "HybridSequentialRNNCell",
    "LSTMCell",
    "ModifierCell",
    "RNNCell",
    "RecurrentCell",
    "ResidualCell",
    "SequentialRNNCell",
    "ZoneoutCell",
]

__getattr__ = _lookup(__name__, __all__, "gluon.rnn")

"""``mx.initializer``, ``mx.init``: initial values of parameters."""

from .base import InitDesc, Initializer, Load, Mixed, alias, create, register
from .fused_rnn import FusedRNN
from .patterns import Bilinear, Constant, LSTMBias, One, Zero
from .random_draws import MSRAPrelu, Normal, Orthogonal, Uniform, Xavier

__all__ = [
    "Bilinear",
    "Constant",
    "FusedRNN",
    "InitDesc",
    "Initializer",
    "LSTMBias",
    "Load",
    "MSRAPrelu",
    "Mixed",
    "Normal",
    "One",
    "Orthogonal",
    "Uniform",
    "Xavier",
    "Zero",
    "alias",
    "create",
    "register",
]

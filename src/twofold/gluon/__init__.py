"""``mx.gluon``: models as blocks of layers, their parameters, losses, data and training."""

from . import batching as utils
from . import contrib, data, loss, model_zoo, nn, rnn
from .block import Block
from .generation import generate
from .hybrid_block import HybridBlock
from .parameter import Constant, DeferredInitializationError, Parameter
from .parameter_dict import ParameterDict
from .symbol_block import SymbolBlock
from .trainer import Trainer
from .weight_average import WeightAverage
from .weights_elsewhere import WeightRule, load_weights

__all__ = [
    "Block",
    "Constant",
    "DeferredInitializationError",
    "HybridBlock",
    "Parameter",
    "ParameterDict",
    "SymbolBlock",
    "Trainer",
    "WeightAverage",
    "WeightRule",
    "contrib",
    "data",
    "generate",
    "load_weights",
    "loss",
    "model_zoo",
    "nn",
    "rnn",
    "utils",
]

"""``gluon.loss``: losses as blocks."""

from ...suggestions import lookup as _lookup
from .base import Loss
from .classification import (
    CTCLoss,
    HingeLoss,
    KLDivLoss,
    LogisticLoss,
    SigmoidBCELoss,
    SigmoidBinaryCrossEntropyLoss,
    SoftmaxCELoss,
    SoftmaxCrossEntropyLoss,
    SquaredHingeLoss,
)
from .regression import HuberLoss, L1Loss, L2Loss, PoissonNLLLoss
from .similarity import CosineEmbeddingLoss, SDMLLoss, TripletLoss

__all__ = [
    "CTCLoss",
    "CosineEmbeddingLoss",
    "HingeLoss",
    "HuberLoss",
    "KLDivLoss",
    "L1Loss",
    "L2Loss",
    "LogisticLoss",
    "Loss",
    "PoissonNLLLoss",
    "SDMLLoss",
    "SigmoidBCELoss",
    "SigmoidBinaryCrossEntropyLoss",
    "SoftmaxCELoss",
    "SoftmaxCrossEntropyLoss",
    "SquaredHingeLoss",
    "TripletLoss",
]

__getattr__ = _lookup(__name__, __all__, "gluon.loss")

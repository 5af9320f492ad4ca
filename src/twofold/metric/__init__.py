"""``mx.metric``: evaluation metrics accumulated over batches, such as accuracy."""

from .base import EvalMetric, alias, check_label_shapes, register
from .classification import Accuracy, TopKAccuracy
from .composite import CompositeEvalMetric, CustomMetric, create, np
from .confusion import F1, MCC, PCC
from .likelihood import CrossEntropy, NegativeLogLikelihood, Perplexity
from .regression import MAE, MSE, RMSE, Caffe, Loss, PearsonCorrelation, Torch

__all__ = [
    "F1",
    "MAE",
    "MCC",
    "MSE",
    "PCC",
    "RMSE",
    "Accuracy",
    "Caffe",
    "CompositeEvalMetric",
    "CrossEntropy",
    "CustomMetric",
    "EvalMetric",
    "Loss",
    "NegativeLogLikelihood",
    "PearsonCorrelation",
    "Perplexity",
    "TopKAccuracy",
    "Torch",
    "alias",
    "check_label_shapes",
    "create",
    "np",
    "register",
]

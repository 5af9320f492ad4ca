"""``gluon.contrib.estimator``: a training loop whose steps are handlers of its events."""

from .batch_processor import BatchProcessor
from .checkpoints import CheckpointHandler
from .estimator import Estimator
from .events import BatchBegin, BatchEnd, EpochBegin, EpochEnd, EventHandler, TrainBegin, TrainEnd
from .handlers import GradientUpdateHandler, LoggingHandler, MetricHandler, StoppingHandler, ValidationHandler
from .improvement import EarlyStoppingHandler

__all__ = [
    "BatchBegin",
    "BatchEnd",
    "BatchProcessor",
    "CheckpointHandler",
    "EarlyStoppingHandler",
    "EpochBegin",
    "EpochEnd",
    "Estimator",
    "EventHandler",
    "GradientUpdateHandler",
    "LoggingHandler",
    "MetricHandler",
    "StoppingHandler",
    "TrainBegin",
    "TrainEnd",
    "ValidationHandler",
]

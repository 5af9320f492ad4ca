"""``gluon.contrib``: further layers, cells and samplers, and the training loop `estimator`."""

from . import cnn, data, estimator, nn, rnn

__all__ = ["cnn", "data", "estimator", "nn", "rnn"]

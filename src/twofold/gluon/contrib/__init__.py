"""``gluon.contrib``: further layers, cells and samplers, and the training loop `estimator`."""

from . import cnn, data, nn, rnn

__all__ = ["cnn", "data", "nn", "rnn"]

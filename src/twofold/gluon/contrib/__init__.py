"""``gluon.contrib``: further layers, cells and samplers, and the training loop `estimator`."""

from . import nn

__all__ = ["nn"]

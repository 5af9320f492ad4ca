"""``mx.contrib.svrg_optimization``: stochastic variance-reduced gradients."""

from . import svrg_module

__all__ = ["svrg_module"]

"""``mx.func``: transforms of Python functions and blocks, such as gradients, Jacobians and recomputation."""

from .forward import hessian, hvp, jacfwd, jvp, linearize
from .functional import functional_call
from .reverse import checkpoint, grad, jacrev, value_and_grad, vjp
from .vectorized import vmap

__all__ = [
    "checkpoint",
    "functional_call",
    "grad",
    "hessian",
    "hvp",
    "jacfwd",
    "jacrev",
    "jvp",
    "linearize",
    "value_and_grad",
    "vjp",
    "vmap",
]

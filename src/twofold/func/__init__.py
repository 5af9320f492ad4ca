"""``mx.func``: transforms of Python functions and blocks, such as gradients, Jacobians and recomputation."""

from .functional import functional_call
from .reverse import checkpoint, grad, hessian, jacrev, value_and_grad, vjp

__all__ = ["checkpoint", "functional_call", "grad", "hessian", "jacrev", "value_and_grad", "vjp"]

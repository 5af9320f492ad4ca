"""``mx.func``: transforms of Python functions and blocks, such as gradients, Jacobians and recomputation."""

from .compiled import jit
from .custom_rules import custom_jvp, custom_vjp
from .forward import hessian, hvp, jacfwd, jvp, linearize
from .functional import functional_call
from .loops import cond, scan
from .pytree import tree_leaves, tree_map
from .reverse import checkpoint, grad, jacrev, value_and_grad, vjp
from .vectorized import vmap

__all__ = [
    "checkpoint",
    "cond",
    "custom_jvp",
    "custom_vjp",
    "functional_call",
    "grad",
    "hessian",
    "hvp",
    "jacfwd",
    "jacrev",
    "jit",
    "jvp",
    "linearize",
    "scan",
    "tree_leaves",
    "tree_map",
    "value_and_grad",
    "vjp",
    "vmap",
]

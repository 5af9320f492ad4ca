"""``mx.func``: transforms of Python functions and blocks, such as gradients, Jacobians and recomputation."""

from .compiled import jit
from .custom_rules import custom_jvp, custom_vjp
from .forward import hessian, hvp, jacfwd, jvp, linearize
from .functional import functional_call
from .loops import cond, scan, switch
from .pytree import tree_flatten, tree_leaves, tree_map, tree_unflatten
from .reverse import checkpoint, grad, jacrev, value_and_grad, vjp
from .vectorized import vmap
from .while_loops import fori_loop, while_loop

__all__ = [
    "checkpoint",
    "cond",
    "custom_jvp",
    "custom_vjp",
    "fori_loop",
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
    "switch",
    "tree_flatten",
    "tree_leaves",
    "tree_map",
    "tree_unflatten",
    "value_and_grad",
    "vjp",
    "vmap",
    "while_loop",
]

"""Tells adapters, which know no operators, what the element-wise primitives are: fills the table of `backend.kernel`."""

from .. import ops  # noqa: F401  (registers the primitives)
from ..backend.kernel import ELEMENTWISE, Elementwise
from ..opdef.registry import primitives

ELEMENTWISE.update({name: Elementwise(op.ufunc, op.c, op.result) for name, op in primitives().items() if op.elementwise})

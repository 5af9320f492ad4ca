"""Fills the tables of `backend.kernel` as operators are declared, since adapters cannot import the operators."""

from .. import ops  # noqa: F401  (registers the primitives)
from ..backend.kernel import ELEMENTWISE, PRIMITIVES, REFERENCES, ROW_REDUCTIONS, SIMPLE, Elementwise, Reference
from ..opdef import registry
from ..opdef.spec import Op


def _enter(op: Op) -> None:
    if not op.primitive:
        return
    PRIMITIVES.add(op.name)
    if op.elementwise:
        ELEMENTWISE[op.name] = Elementwise(op.ufunc, op.execution.c, op.result)
    if op.simple:
        SIMPLE.add(op.name)
    if op.execution.row_reduction:
        ROW_REDUCTIONS.add(op.name)
    if op.execution.reference is not None:
        REFERENCES[op.name] = Reference(op.execution.reference, op.execution.host_only)


registry.watch(_enter)

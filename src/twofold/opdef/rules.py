"""Rules, the functions that define an operator, and the decorators that attach them to it."""

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any

from ..errors import OperatorError

Rule = Callable[..., Any]


class Attaches:
    """A decorator of `Op` that attaches a rule, once: ``@relu.grad`` fills the field ``grad_rule``, beside which the rule is described.

    Parameters
    ----------
    field
        The field that it fills.
    facet
        The facet that has the field; empty for `Op` itself.
    """

    def __init__(self, field: str, facet: str = "") -> None:
        self._field, self._facet = field, facet

    # `op` is an `Op`, which this module, below it, cannot name
    def __get__(self, op: Any, owner: type) -> Callable[[Rule], Rule]:
        return partial(self._attach, op)

    def _attach(self, op: Any, rule: Rule) -> Rule:
        holder = getattr(op, self._facet) if self._facet else op
        if getattr(holder, self._field) is not None:
            raise OperatorError(
                f"{op.spoken}: {self._field} is set already", repr(rule), "attach a rule once, where the operator is declared"
            )
        # operators without facts of a facet share one instance of it, so the facet is replaced and not changed
        name, value = (self._facet, replace(holder, **{self._field: rule})) if self._facet else (self._field, rule)
        object.__setattr__(op, name, value)
        return rule

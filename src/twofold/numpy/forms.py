"""The forms of NumPy functions without an operator for recorded arrays. `differentiable` enters them, callers look them up."""

from collections.abc import Callable
from typing import Any, TypeVar

#: By NumPy's function: a function of the same arguments with a gradient. It returns NotImplemented where there is no gradient.
FORMS: dict[Any, Callable[..., Any]] = {}
F = TypeVar("F", bound=Callable[..., Any])


def form_of(*functions: object) -> Callable[[F], F]:
    """Decorator: the form of NumPy functions (or of objects such as ``r_``) for recorded arrays."""

    def enter(form: F) -> F:
        FORMS.update(dict.fromkeys(functions, form))
        return form

    return enter

"""What functions of NumPy without an operator compute from recorded arrays; entered by `differentiable`, read by their callers."""

from collections.abc import Callable
from typing import Any, TypeVar

#: By NumPy's function: a function of the same arguments with a gradient. It returns NotImplemented where there is no gradient.
FORMS: dict[Any, Callable[..., Any]] = {}
F = TypeVar("F", bound=Callable[..., Any])


def form_of(*functions: Any) -> Callable[[F], F]:
    """Decorator: what functions of NumPy (or objects such as ``r_``) compute from recorded arrays."""

    def enter(form: F) -> F:
        FORMS.update(dict.fromkeys(functions, form))
        return form

    return enter

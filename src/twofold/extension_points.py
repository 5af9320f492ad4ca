"""Names of lower packages whose contents live in higher ones. `twofold.startup` fills the table.

A lower package never imports a higher one, and the higher ones are loaded on first use to keep ``import twofold`` fast.
"""

from collections.abc import Callable
from typing import Any

#: (package, name) to the function that loads the object of that name.
LOADERS: dict[tuple[str, str], Callable[[], Any]] = {}
#: Give the texts that ``mx.explain()`` shows without a block. Each is added by its own module, since `profiler` loads none of them.
STANDING_REPORTS: list[Callable[[], str]] = []


def shown_in_notebooks(kind: str) -> Callable[[Any], str]:
    """The ``_repr_html_`` of a class: IPython's protocol for showing an object in a notebook.

    Parameters
    ----------
    kind
        The name of a function of `visualization.html`, which is loaded at the first use.
    """

    def _repr_html_(self: Any) -> str:
        return LOADERS["visualization", kind]()(self)

    return _repr_html_


def shown_as_text(kind: str) -> Callable[..., str]:
    """The ``__repr__`` of a class: one line with its name and what notebooks show beside it.

    Parameters
    ----------
    kind
        The name of a function of `facts`, which is loaded at the first use.
    """

    def __repr__(self: Any) -> str:
        return LOADERS["facts", "one_line"]()(LOADERS["facts", kind](), self)

    return __repr__

"""Private methods of MXNet's classes that its own code calls, so that subclasses of libraries change what it does by overriding them.

Twofold's code calls few of them. Only a class that overrides one gets methods that do, when it is made: others compute as fast as before.
"""

from collections.abc import Collection
from typing import Any


def dispatch(base: type, hooks: Collection[str], calls: type) -> None:
    """Make the subclasses of a class that override one of some methods call these at MXNet's moments.

    Parameters
    ----------
    base
        The class.
    hooks
        The names of its private methods.
    calls
        Its methods, which call the hooks, take the place of those of ``base`` in such a subclass, unless it defines them itself.
    """
    before: Any = vars(base).get("__init_subclass__")
    methods = {name: value for name, value in vars(calls).items() if not name.startswith("__")}

    def __init_subclass__(cls: type, **options: object) -> None:
        if before is None:
            super(base, cls).__init_subclass__(**options)
        else:
            before.__func__(cls, **options)
        # also where another base class defines it
        if any(getattr(cls, hook) is not getattr(base, hook) for hook in hooks):
            for name in methods.keys() - vars(cls).keys():
                setattr(cls, name, methods[name])

    type.__setattr__(base, "__init_subclass__", classmethod(__init_subclass__))

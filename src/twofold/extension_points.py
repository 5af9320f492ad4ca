"""Names of lower packages whose contents live in higher ones. `twofold.startup` fills the table.

A lower package never imports a higher one, and the higher ones are loaded on first use to keep ``import twofold`` fast.
"""

from collections.abc import Callable
from typing import Any

#: (package, name) to the function that loads the object of that name.
LOADERS: dict[tuple[str, str], Callable[[], Any]] = {}

"""What ``match`` statements compare with sequence patterns: NumPy's arrays from 2.5 on, and so those of other classes too."""

from abc import ABCMeta
from typing import Any

import numpy as np

#: The flag of CPython (``Py_TPFLAGS_SEQUENCE``) that a class has if its objects match patterns such as ``[first, *rest]``.
SEQUENCE = 1 << 5


def match_as_numpys(cls: type) -> None:
    """Let a class, and those derived from it, match sequence patterns if NumPy's arrays do.

    Registering it with `collections.abc.Sequence` would make its objects instances of that class, which NumPy's arrays are not.
    """
    matched: Any = ABCMeta("Matched", (), {"__abc_tpflags__": np.ndarray.__flags__ & SEQUENCE})
    matched.register(cls)

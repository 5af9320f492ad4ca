"""A plugin of pytest that has machine code printed for vectors of half the width that this processor has: ``-p tests.narrow_vectors``.

Processors with vectors of 512 bits have code of their own in many places. So have those with vectors of 256, and those with vectors of 128.
"""

from typing import Any

from twofold_numpy.jit import compiler

_width_of = compiler._vector_bits


def _half(triple: str, features: Any) -> int:
    return max(128, _width_of(triple, features) // 2)


compiler._vector_bits = _half

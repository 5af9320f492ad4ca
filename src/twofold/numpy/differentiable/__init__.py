"""Functions of NumPy without an operator, for recorded arrays: composed of functions with gradients.

Everything else is computed by NumPy itself, on the host. Where a result consists of elements of the operands, or of weighted sums of them,
NumPy finds the positions: it runs on the elements' numbers or ranks. So order, ties and broadcasting are NumPy's.
"""

from . import (  # noqa: F401  (each enters its forms)
    counts,
    polynomials,
    positions,
    selection,
    signals,
    statistics,
    transforms,
    universal,
)

"""Programs on arrays that run on the real MXNet and on Twofold: those with equal results, and those whose results differ on purpose."""

from __future__ import annotations

from tests.ndarray.programs import differing, errors, gradients, operators, second_order
from tests.oracle_programs import programs_of


def equal_programs():
    """The programs that give what MXNet gives."""
    return programs_of([errors, gradients, operators, second_order])


def differing_programs():
    """The programs that give something else."""
    return programs_of([differing])


class Dialect:
    """The package as `mxnet`: with MXNet's own dialect of NumPy."""

    def __init__(self, package, np, npx):
        self._package, self.np, self.npx = package, np, npx

    def __getattr__(self, name):
        return getattr(self._package, name)

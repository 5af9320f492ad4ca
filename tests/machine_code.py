"""What tests of machine code need of the machine."""

import pytest

from twofold_numpy import packing
from twofold_numpy.jit.availability import is_installed

needs_wide_vectors = pytest.mark.skipif(
    not is_installed() or not packing.has_wide_vectors(), reason="no llvmlite, or no vectors of 512 bits"
)

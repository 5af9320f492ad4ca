"""Programs that are careless and run on MXNet all the same, or are refused there.

Each takes the module to run on (``mxnet`` or ``twofold``), so that the same code can be run with the real MXNet.
"""

from __future__ import annotations

from tests.oracle_programs import Programs, programs_of
from tests.sloppy.programs import arrays, batches, blocks, gradients, scripts, symbols, training


def all_programs() -> Programs:
    """Every program by module and name."""
    return programs_of((arrays, gradients, batches, blocks, training, symbols, scripts))

"""Machine code of Winograd's algorithm: what is compiled for it, and a relation of its constants."""

import numpy as np
import pytest

from twofold.config import SETTINGS
from twofold_numpy import tiles, tune
from twofold_numpy.convolution import algorithm, shape_of
from twofold_numpy.convolution_table import Choice
from twofold_numpy.jit.availability import is_installed
from twofold_numpy.jit.compiler import compiler

from tests.conftest import absent

if not is_installed():
    absent("no llvmlite: install twofold[jit]")
if compiler() is None:
    absent("kernels cannot be compiled for this machine")

from twofold_numpy.jit import tile_products  # it needs llvmlite
from twofold_numpy.jit.llvm_text import SHARED_WORDS


def test_transforms_are_compiled_once_for_any_number_of_tiles_and_filters(monkeypatch):
    """They take most of the time to compile; only the sums, a tenth of that, depend on these numbers."""
    monkeypatch.setattr(SETTINGS, "jit", True)
    tile_products._bound.cache_clear()
    made, builtin_of = [], tile_products.builtin_of
    # the addresses of the codes of a piece and of its sums
    monkeypatch.setattr(
        tile_products,
        "builtin_of",
        lambda address, library, numbers, *how: (
            made.append((address, numbers[SHARED_WORDS])) or builtin_of(address, library, numbers, *how)
        ),
    )
    for side, filters in ((8, 32), (16, 32), (24, 32), (24, 256)):
        g = tune.geometry(1, 16, side, filters, 3, pad=1)
        data, weight = (np.ones(shape_of(kind, g), np.float32) for kind in ("data", "weight"))
        algorithm("forward", Choice("winograd", 1 << 22))(g, data, weight, np.empty(shape_of("forward", g), np.float32))
    pieces, sums = map(set, zip(*made, strict=True))
    assert len(made) == 4
    assert len(pieces) == 1
    assert len(sums) > 1


@pytest.mark.parametrize("stride", range(1, tiles.MOST_STRIDE + 1))
def test_a_group_has_the_same_channels_of_each_phase(stride):
    """`GroupedTiles.transform` and the machine code find a phase's channels of a group some channels after those of the one before it."""
    assert tiles.CHANNELS % (tiles.STEP * stride**2) == 0

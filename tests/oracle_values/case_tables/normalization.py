"""Normalisation: BatchNorm in its modes, Layer-, Instance-, Group-, L2-, local response; Dropout where it is deterministic."""

from __future__ import annotations

from itertools import product
from typing import Any

from .declare import CaseSpec, case, real

MODES = tuple(product((True, False), repeat=3))  # (train, fix_gamma, use_global_stats)


def batch_norm(shape: tuple, axis: int = 1, dtype: str = "float32", note: str = "", train: bool = True, **attrs: Any) -> CaseSpec:
    """BatchNorm over `shape`, its parameters sized by the axis."""
    channels = (shape[axis],)
    statistics = (real(channels), real(channels, 0.5, 2))
    chosen = {} if axis == 1 else {"axis": axis}
    return case(
        "BatchNorm", real(shape, dtype=dtype), real(channels), real(channels), *statistics, train=train, note=note, **chosen, **attrs
    )


CASES = [
    *(batch_norm((2, 3, 2), train=train, fix_gamma=fixed, use_global_stats=frozen) for train, fixed, frozen in MODES),
    batch_norm((3, 2)),
    batch_norm((2, 2, 2, 2), eps=1e-5, momentum=0.5, fix_gamma=False),
    batch_norm((2, 3, 2), axis=-1, fix_gamma=False),
    batch_norm((2, 3, 2), axis=2, fix_gamma=False, train=False),
    batch_norm((2, 3, 2), axis=0, fix_gamma=False),
    batch_norm((2, 3, 2), output_mean_var=True, fix_gamma=False),
    batch_norm((2, 3, 2), output_mean_var=True, train=False, fix_gamma=False),
    batch_norm((2, 3, 2), momentum=0.0, fix_gamma=False),
    batch_norm((2, 1, 2, 2, 2), fix_gamma=False),
    batch_norm((1, 2), fix_gamma=False, note="one sample: the variance is 0"),
    batch_norm((2, 3, 2), eps=0.0, fix_gamma=False),
    batch_norm((3, 2), dtype="float16", fix_gamma=False, note="float16 data, float32 parameters"),
    case("LayerNorm", real((2, 4)), real((4,)), real((4,))),
    case("LayerNorm", real((2, 3, 4)), real((3,)), real((3,)), axis=1),
    case("LayerNorm", real((2, 3, 4)), real((4,)), real((4,)), eps=0.5),
    case("LayerNorm", real((2, 4)), real((4,)), real((4,)), output_mean_var=True),
    case("LayerNorm", real((2, 3)), real((2,)), real((2,)), axis=0),
    case("LayerNorm", *(real(s, dtype="float64") for s in ((2, 4), (4,), (4,)))),
    case("LayerNorm", real((2, 4)), real((3,)), real((3,)), note="parameters of another size"),
    case("InstanceNorm", real((2, 3, 4)), real((3,)), real((3,))),
    case("InstanceNorm", real((2, 2, 2, 3)), real((2,)), real((2,)), eps=0.1),
    case("InstanceNorm", real((2, 3, 2)), real((3,)), real((3,)), eps=1e-5),
    case("InstanceNorm", real((2, 3)), real((3,)), real((3,)), note="two dimensions"),
    case("GroupNorm", real((2, 4, 3)), real((2,)), real((2,)), num_groups=2, note="parameters per group"),
    case("GroupNorm", real((2, 4, 3)), real((4,)), real((4,)), num_groups=2, note="parameters per channel"),
    case("GroupNorm", real((1, 4, 2, 2)), real((1,)), real((1,))),
    case("GroupNorm", real((2, 4, 3)), real((4,)), real((4,)), num_groups=4, eps=0.5),
    case("GroupNorm", real((2, 4, 3)), real((2,)), real((2,)), num_groups=2, output_mean_var=True),
    case("GroupNorm", real((2, 4, 3)), real((3,)), real((3,)), num_groups=3, note="not a multiple"),
    *(case("L2Normalization", real((2, 3, 2)), mode=mode) for mode in ("instance", "channel", "spatial")),
    *(case("L2Normalization", real((1, 2, 2, 3)), mode=mode, eps=0.5) for mode in ("instance", "channel", "spatial")),
    case("L2Normalization", real((2, 3))),
    case("L2Normalization", real((2, 3)), mode="channel", note="two dimensions"),
    case("L2Normalization", real((2, 3, 2), dtype="float64")),
    case("LRN", real((1, 4, 2, 2)), nsize=3),
    case("LRN", real((1, 4, 2, 2)), nsize=3, alpha=0.5, beta=0.5, knorm=1),
    case("LRN", real((1, 5, 1, 2)), nsize=5, alpha=1.0),
    case("LRN", real((2, 3, 1, 1)), nsize=1, alpha=0.1),
    case("LRN", real((1, 4, 2, 2)), nsize=2, note="an even window"),
    case("Dropout", real((2, 3)), train=False),
    case("Dropout", real((2, 3)), p=0.9, train=False),
    case("Dropout", real((2, 3)), p=0.0),
    case("Dropout", real((2, 3)), p=0.0, mode="always", train=False),
    case("Dropout", real((2, 3)), p=0.0, axes=(0,)),
    case("Dropout", real((2, 3)), p=1.5, note="not a probability"),
]

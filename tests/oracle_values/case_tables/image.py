"""The deterministic image operators: (h, w, c) and (n, h, w, c) in, uint8 or float32.

Sizes that are flipped are even: with an odd size the oracle leaves the middle row or column unset.
"""

from __future__ import annotations

from .declare import case, real, whole

PICTURE = whole((4, 4, 3), 0, 256, "uint8")
BATCH = whole((2, 4, 2, 3), 0, 256, "uint8")

CASES = [
    case("_image_to_tensor", PICTURE),
    case("_image_to_tensor", BATCH),
    case("_image_to_tensor", real((2, 2, 3), 0, 2)),
    case("_image_to_tensor", whole((2, 2), 0, 256, "uint8"), note="two dimensions"),
    case("_image_normalize", real((3, 2, 2), 0, 1), mean=(0.5, 0.25, 0.125), std=(0.5, 0.25, 2.0)),
    case("_image_normalize", real((2, 3, 1, 2), 0, 1), mean=(0.5, 0.25, 0.125), std=(0.5, 0.25, 2.0)),
    case("_image_normalize", real((3, 2, 2), 0, 1), mean=0.5, std=0.25),
    case("_image_normalize", real((1, 2, 2), 0, 1), mean=(0.5,), std=(2.0,)),
    case("_image_normalize", real((3, 2, 2), 0, 1)),
    case("_image_normalize", PICTURE, mean=0.5, note="needs a tensor"),
    case("_image_flip_left_right", PICTURE),
    case("_image_flip_left_right", real((3, 2, 1), 0, 1)),
    case("_image_flip_left_right", BATCH),
    case("_image_flip_top_bottom", PICTURE),
    case("_image_flip_top_bottom", real((2, 3, 1), 0, 1)),
    case("_image_flip_top_bottom", BATCH),
    case("_image_crop", PICTURE, x=1, y=0, width=2, height=3),
    case("_image_crop", BATCH, x=0, y=1, width=2, height=2),
    case("_image_crop", real((3, 4, 2), 0, 1), x=2, y=1, width=2, height=2),
    case("_image_crop", PICTURE, x=2, y=0, width=4, height=2, note="beyond the edge"),
    case("_image_resize", PICTURE, size=(2, 2), interp=0),
    case("_image_resize", PICTURE, size=(8, 6), interp=1),
    case("_image_resize", PICTURE, size=2, note="a bare number"),
    case("_image_resize", PICTURE, size=2, keep_ratio=True, note="the shorter side"),
    case("_image_resize", BATCH, size=(4, 6), interp=0),
    case("_image_resize", real((2, 3, 1), 0, 1), size=(6, 4)),
]

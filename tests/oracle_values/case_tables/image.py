"""The deterministic image operators: (h, w, c) and (n, h, w, c) in, uint8 or float32.

Sizes that are flipped are even: with an odd size the oracle leaves the middle row or column unset.
"""

from __future__ import annotations

from .declare import case, real, whole

PICTURE = whole((4, 4, 3), 0, 256, "uint8")
LARGE = whole((5, 6, 3), 0, 256, "uint8")
FLOAT = real((3, 4, 3), 0, 255)
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
    *(case("_image_resize", LARGE, size=size, interp=k) for size in ((3, 4), (12, 9), (10, 10)) for k in range(6)),
    *(case("_image_resize", real((5, 6, 3), 0, 1), size=size, interp=k) for size in ((3, 4), (12, 9)) for k in range(5)),
    case("_image_resize", PICTURE, size=(2, 2), interp=6, note="no such interpolation"),
    case("_image_resize", PICTURE, size=(2, 0), note="no pixels"),
    case("_image_resize", PICTURE, note="no size"),
    case("_image_resize", LARGE, size=3, keep_ratio=True, interp=3),
    case("_cvimresize", LARGE, w=4, h=3),
    *(
        case(f"_image_random_{name}", image, min_factor=factor, max_factor=factor, grad=False)
        for name, factors in (("brightness", (1.3, 0.5)), ("contrast", (1.3, 0.5)), ("saturation", (1.3, 0.5)), ("hue", (0.25, 0.7, 1.4)))
        for factor in factors
        for image in ((FLOAT, PICTURE) if name != "hue" else (FLOAT,))
    ),
    case("_image_random_brightness", BATCH, min_factor=1, max_factor=1, note="a batch"),
    case("_image_random_brightness", PICTURE, min_factor=-1, max_factor=1, note="a negative factor"),
    case("_image_random_contrast", real((3, 2, 1), 0, 255), min_factor=0.5, max_factor=0.5, grad=False),
    case("_image_random_brightness", whole((3, 2, 3), -500, 500, "int32"), min_factor=1.3, max_factor=1.3),
    case("_image_adjust_lighting", FLOAT, alpha=(1, 2, -3), grad=False),
    case("_image_adjust_lighting", PICTURE, alpha=(1, 2, -3)),
    case("_image_adjust_lighting", PICTURE, alpha=(1, 2), note="two factors"),
    case("_image_random_lighting", FLOAT, alpha_std=0, grad=False),
    *(
        case("_cvcopyMakeBorder", whole((3, 4, 3), 0, 256, "uint8"), top=1, bot=2, left=0, right=1, type=kind, values=(1, 2, 3))
        for kind in range(5)
    ),
    case("_cvcopyMakeBorder", real((3, 4, 3)), top=1, bot=0, left=2, right=1, value=7.5),
    case("_cvcopyMakeBorder", PICTURE, top=1, bot=0, left=2, right=1, type=5, note="no such border"),
]

"""The networks of GluonCV's zoo, small where they can be made small."""

from __future__ import annotations

import functools
from typing import Any

from digests import draws
from gluoncv import model_zoo
from networks import Way

#: Inputs in the order in which they are tried, by what a name contains: the first that MXNet takes is used.
IMAGES = [(2, 3, 64, 64), (1, 3, 128, 128), (2, 3, 224, 224), (2, 3, 299, 299)]
CLIPS = [(1, 3, 8, 64, 64), (1, 3, 32, 64, 64), (1, 3, 16, 112, 112), (1, 3, 40, 64, 64), (1, 3, 32, 224, 224)]
INPUTS = {
    "cifar": [(2, 3, 32, 32)],
    "ssd_": [(1, 3, 300, 300), (1, 3, 512, 512)],
    "siamrpn": [(1, 3, 127, 127)],
    "alpha_pose": [(1, 3, 256, 192)],
    "c3d": [(1, 3, 16, 112, 112)],
    "monodepth": [(1, 3, 64, 96), (1, 3, 192, 640)],
    "pose": [(1, 3, 64, 64), (1, 3, 256, 192)],
    "inceptionv3": [(2, 3, 299, 299)],
}
OF_CLIPS = ("i3d", "slowfast", "p3d", "c3d", "r2plus1d")
#: Networks for segmentation are made for one size.
OF_PIXELS = ("fcn_", "psp_", "deeplab", "icnet", "danet", "fastscnn")


def names() -> list[str]:
    """All names of the zoo."""
    return sorted(model_zoo.get_model_list())


def shapes_of(name: str) -> list[tuple[int, ...]]:
    """The shapes to be tried."""
    return next((shapes for part, shapes in INPUTS.items() if part in name), CLIPS if name.startswith(OF_CLIPS) else IMAGES)


def build(name: str) -> Any:
    """A network with random parameters; the part that others are built on is not fetched."""
    keywords: dict[str, Any] = {"classes": ["a", "b"]} if "custom" in name else {}
    if "custom" in name and any(part in name for part in ("kinetics", "i3d", "slowfast", "resnet18_v1b_c", "resnet50_v1b_c")):
        keywords = {"nclass": 2}
    if name.startswith(OF_PIXELS):
        keywords.update({"crop_size": 64, "base_size": 64})
    try:
        return model_zoo.get_model(name, pretrained=False, pretrained_base=False, **keywords)
    except TypeError:  # it has no such part
        return model_zoo.get_model(name, pretrained=False, **keywords)


def inputs(name: str, shape: tuple[int, ...]) -> list[Any]:
    """An image or a clip; a tracker gets what it looks for too."""
    image = draws(shape, "image")
    return [image, draws((1, 3, 255, 255), "search")] if "siamrpn" in name else [image]


def candidates(name: str) -> list[Way]:
    """Ways with each shape, trained and not."""
    build_it = functools.partial(build, name)
    return [Way(build_it, functools.partial(inputs, name, shape), trains) for shape in shapes_of(name) for trains in (True, False)]

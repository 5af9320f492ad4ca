"""The default augmenter of iterators over image records: its parameters, and their effect on an image."""

from __future__ import annotations

import colorsys
import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from ..errors import FormatError
from ..formats.images import Picture
from .augmenters import BRIGHTNESS
from .geometry import Map
from .usual_augmenters import COMPONENTS, VARIANCES

if TYPE_CHECKING:
    from ..formats.records import Buffer


@dataclass(frozen=True)
class RecordAugmenter:
    """Resizes, turns, pads, crops and colors images, by MXNet's parameters, which `ImageRecordIter` describes.

    Attributes
    ----------
    shape
        Channels, height and width of the results.
    """

    shape: tuple[int, int, int]
    resize: int = -1
    rand_crop: bool = False
    random_resized_crop: bool = False
    max_rotate_angle: int = 0
    max_aspect_ratio: float = 0
    min_aspect_ratio: float | None = None
    max_shear_ratio: float = 0
    max_crop_size: int = -1
    min_crop_size: int = -1
    max_random_scale: float = 1
    min_random_scale: float = 1
    max_random_area: float = 1
    min_random_area: float = 1
    max_img_size: float = 1e10
    min_img_size: float = 0
    brightness: float = 0
    contrast: float = 0
    saturation: float = 0
    pca_noise: float = 0
    random_h: int = 0
    random_s: int = 0
    random_l: int = 0
    rotate: int = -1
    fill_value: int = 255
    inter_method: int = 1
    pad: int = 0

    def __call__(self, data: Buffer, rng: np.random.Generator) -> np.ndarray:
        """The pixels (h, w, c), uint8, of a compressed image, changed at random.

        Raises
        ------
        FormatError
            If it is not an image, or a part to be cut out is larger than it.
        """
        picture, change, method = self.placed(data, rng)
        return self.colored(change.applied(picture, method, self.fill_value), rng)

    def placed(self, data: Buffer, rng: np.random.Generator) -> tuple[Picture, Map, int]:
        """A compressed image, the map that resizes, turns, pads and crops it, and the interpolation; see `__call__`."""
        # All changes of place are joined to one map, so the pixels are interpolated once. The draws from `rng` come in a fixed order:
        # a seed decides the image.
        picture = Picture(data, self.shape[0])
        change = Map(picture.width, picture.height)
        if self.resize > 0:
            change.resize_short(self.resize)
        if self._turns:
            self._turn(change, rng)
        change.pad(self.pad)
        if not self._cut(change, rng):
            self._enlarge(change)
            self._crop(change, self.shape[2], self.shape[1], rng)
        return picture, change, self._method(rng)

    @property
    def _turns(self) -> bool:
        scales = (self.max_random_scale, self.min_random_scale) != (1, 1) and not self.random_resized_crop
        stretches = self.max_aspect_ratio > 0 and not self.random_resized_crop
        # limits of the size are applied together with the rotation, as in MXNet
        bounded = self.max_img_size < 1e10 or self.min_img_size > 0
        return self.rotate > 0 or self.max_rotate_angle > 0 or self.max_shear_ratio > 0 or scales or stretches or bounded

    def _turn(self, change: Map, rng: np.random.Generator) -> None:
        # drawn even if the limit is 0: a limit must not change which numbers the later draws get
        shear = rng.uniform(-1, 1) * self.max_shear_ratio
        angle = self.rotate if self.rotate > 0 else int(rng.integers(-self.max_rotate_angle, self.max_rotate_angle + 1))
        scale = ratio = 1.0
        if not self.random_resized_crop:
            scale = rng.uniform(self.min_random_scale, self.max_random_scale)
            ratio = self._ratio(rng) if self.max_aspect_ratio > 0 else 1.0
        # `down` scales both sides and `ratio` the width besides, so that the mean of the two factors stays `scale`
        down = 2 * scale / (1 + ratio)
        width, height = (int(max(self.min_img_size, min(self.max_img_size, scale * size))) for size in (change.width, change.height))
        change.turn(max(width, 1), max(height, 1), angle, shear, ratio * down, down)

    def _ratio(self, rng: np.random.Generator) -> float:
        low = 1 - self.max_aspect_ratio if self.min_aspect_ratio is None else self.min_aspect_ratio
        return rng.uniform(low, 1 + self.max_aspect_ratio if self.min_aspect_ratio is None else self.max_aspect_ratio)

    def _cut(self, change: Map, rng: np.random.Generator) -> bool:
        """Cut out a part of a random size and resize it, if the parameters say so; return whether this was done."""
        _, h, w = self.shape
        if self.random_resized_crop:
            for _ in range(10):  # MXNet's number of tries; after these the part is the largest square in the center
                pixels = rng.uniform(self.min_random_area, self.max_random_area) * change.width * change.height
                ratio = self._ratio(rng)
                width, height = round(math.sqrt(pixels * ratio)), round(math.sqrt(pixels / ratio))
                if 0 < width <= change.width and 0 < height <= change.height:
                    self._crop(change, width, height, rng, anywhere=True)
                    break
            else:
                side = min(change.width, change.height)
                self._crop(change, side, side, rng, anywhere=False)
        elif self.max_crop_size != -1 or self.min_crop_size != -1:
            size = int(rng.integers(self.min_crop_size, self.max_crop_size + 1))
            if not 0 < size <= min(change.width, change.height):
                raise FormatError("a part to be cut out is larger than the image", f"{size} of {change.width} x {change.height}")
            self._crop(change, size, size, rng)
        else:
            return False
        # the part is cut out first and resized then, so that interpolation does not see the pixels around it
        if (change.width, change.height) != (w, h):
            change.resize(w, h)
        return True

    def _crop(self, change: Map, width: int, height: int, rng: np.random.Generator, anywhere: bool | None = None) -> None:
        # the room around the part; the corner's horizontal number is drawn first
        right, bottom = change.width - width, change.height - height
        if self.rand_crop if anywhere is None else anywhere:
            change.crop(int(rng.integers(right + 1)), int(rng.integers(bottom + 1)), width, height)
        else:
            change.crop(right // 2, bottom // 2, width, height)

    def _enlarge(self, change: Map) -> None:
        """Enlarge an image that is smaller than the results, keeping its aspect ratio."""
        _, h, w = self.shape
        if change.height < h:
            change.resize(int(change.width * h / change.height), h)
        if change.width < w:
            change.resize(w, int(change.height * w / change.width))

    def _method(self, rng: np.random.Generator) -> int:
        return int(rng.integers(5)) if self.inter_method == 10 else self.inter_method

    @cached_property
    def colors(self) -> bool:
        """Whether colors are changed."""
        strengths = (self.brightness, self.contrast, self.saturation, self.pca_noise, self.random_h, self.random_s, self.random_l)
        return any(strength > 0 for strength in strengths)

    def colored(self, pixels: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        """Pixels (h, w, c), uint8, whose colors are changed at random."""
        if not self.colors:
            return pixels
        opacity = pixels[..., 3:]
        # opacity is no color: it is joined to the result unchanged
        if opacity.size:
            return np.concatenate([self.colored(pixels[..., :3], rng), opacity], axis=2)
        # float32 throughout, rounded once at the end: bytes between the steps would lose up to half a level in each
        image = shifted(pixels.astype("float32"), (self.random_h, self.random_l, self.random_s), rng)
        steps = [step for step in ("brightness", "contrast", "saturation") if getattr(self, step) > 0]
        for step in rng.permutation(steps):  # the steps do not commute, because each clips
            # float32, so that the products below stay float32
            factor = np.float32(1 + rng.uniform(-1, 1) * getattr(self, step))
            if step == "brightness":
                image = image * factor
            elif step == "contrast":
                image = image * factor + (1 - factor) * _gray(image).mean(dtype="float32")
            else:
                image = image * factor + (1 - factor) * _gray(image)[..., None]
            np.clip(image, 0, 255, image)
        if self.pca_noise > 0 and image.shape[2] == 3:
            # one draw for the whole image: all its pixels get the same shift
            multiples = rng.normal(0, self.pca_noise, 3)
            image += (COMPONENTS @ (multiples * VARIANCES)).astype("float32")
        return np.rint(np.clip(image, 0, 255)).astype("uint8")


def shifted(image: np.ndarray, limits: Sequence[float], rng: np.random.Generator) -> np.ndarray:
    """Colors 0 to 255 with random numbers up to limits added to hue (0 to 180), lightness and saturation (0 to 255)."""
    if image.shape[2] != 3 or not any(limits):
        return image
    shifts = [rng.uniform(-limit, limit) / full for limit, full in zip(limits, (180, 255, 255), strict=True)]
    # hue is an angle and wraps around; lightness and saturation are limited
    hue, light, saturation = _hls(image / 255)
    return _rgb((hue + shifts[0]) % 1, np.clip(light + shifts[1], 0, 1), np.clip(saturation + shifts[2], 0, 1)) * np.float32(255)


def _gray(image: np.ndarray) -> np.ndarray:
    return image @ BRIGHTNESS.ravel() if image.shape[2] == 3 else image[..., 0]


def _hls(image: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Hue, lightness and saturation, 0 to 1, of colors from 0 to 1; as `colorsys.rgb_to_hls`."""
    high, low = image.max(2), image.min(2)
    light, span = (high + low) / 2, high - low
    # gray pixels divide by 0; their hue and saturation are replaced below
    with np.errstate(divide="ignore", invalid="ignore"):
        saturation = np.where(light <= 0.5, span / (high + low), span / (2 - high - low))
        red, green, blue = ((high - image[..., k]) / span for k in range(3))
    hue = np.where(image[..., 0] == high, blue - green, np.where(image[..., 1] == high, 2 + red - blue, 4 + green - red)) / 6 % 1
    flat = span == 0
    return np.where(flat, 0, hue), light, np.where(flat, 0, saturation)


def _rgb(hue: np.ndarray, light: np.ndarray, saturation: np.ndarray) -> np.ndarray:
    """Colors from 0 to 1 of hue, lightness and saturation; as `colorsys.hls_to_rgb`."""
    top = np.where(light <= 0.5, light * (1 + saturation), light + saturation - light * saturation)
    bottom = 2 * light - top
    parts = []
    for shift in (colorsys.ONE_THIRD, 0, -colorsys.ONE_THIRD):
        h = (hue + shift) % 1
        rising, falling = bottom + (top - bottom) * h * 6, bottom + (top - bottom) * (colorsys.TWO_THIRD - h) * 6
        parts.append(np.select([h < 1 / 6, h < 1 / 2, h < 2 / 3], [rising, top, falling], bottom))
    return np.stack(parts, 2).astype("float32")

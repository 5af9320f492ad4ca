"""The parameters of iterators over image records: which records are read, how pixels change, and how batches are made."""

from collections.abc import Mapping
from dataclasses import MISSING, dataclass, fields
from typing import Any, get_type_hints

import numpy as np

from ..errors import ParameterError
from ..io.parameters import parsed
from ..opdef.params import SHAPE, Param


@dataclass(frozen=True)
class Reading:
    """Which records are read, and in which order; see `ImageRecordIter`."""

    path_imgrec: str
    path_imglist: str = ""
    path_imgidx: str = ""
    label_width: int = 1
    num_parts: int | str = 1
    part_index: int = 0
    shuffle: bool = False
    seed: int = 0
    shuffle_chunk_size: int = 0
    shuffle_chunk_seed: int = 0
    seed_aug: int | None = None
    on_bad_sample: str = "raise"


@dataclass(frozen=True)
class Normalizing:
    """How the pixels of images of the final size become the numbers of a batch: the same for all images."""

    mean_img: str = ""
    mean_r: float = 0
    mean_g: float = 0
    mean_b: float = 0
    mean_a: float = 0
    std_r: float = 1
    std_g: float = 1
    std_b: float = 1
    std_a: float = 1
    scale: float = 1

    def factors(self, channels: int, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
        """By what pixels are multiplied after the mean is subtracted, and what is added then: (channels, 1, 1) each."""
        factor = self._factor(channels).astype("float32")[:, None, None]
        return factor, np.zeros_like(factor)

    def _factor(self, channels: int) -> np.ndarray:
        deviation = np.array([self.std_r, self.std_g, self.std_b, self.std_a][:channels], "float32")
        # 0 means that nothing is divided, as in MXNet
        deviation[deviation == 0] = 1
        return self.scale / deviation

    def mean(self, channels: int) -> np.ndarray:
        """The mean of each channel (channels, 1, 1)."""
        return np.array([self.mean_r, self.mean_g, self.mean_b, self.mean_a][:channels], "float32")[:, None, None]


@dataclass(frozen=True)
class RecordNormalizing(Normalizing):
    """How the pixels of images of the final size are changed, also at random; see `ImageRecordIter`."""

    mirror: bool = False
    rand_mirror: bool = False
    max_random_contrast: float = 0
    max_random_illumination: float = 0

    def factors(self, channels: int, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
        """As `Normalizing.factors`, with a random contrast and illumination."""
        factor = self._factor(channels)
        # drawn even if the limits are 0, so that they do not change which numbers later draws get
        contrast = 1 + rng.uniform(-1, 1) * self.max_random_contrast
        shift = rng.uniform(-1, 1) * self.max_random_illumination
        return (contrast * factor).astype("float32")[:, None, None], (shift * factor).astype("float32")[:, None, None]

    def mirrors(self, rng: np.random.Generator) -> bool:
        """Whether the next image is flipped."""
        return self.mirror or (self.rand_mirror and rng.random() < 0.5)

    @property
    def varies(self) -> bool:
        """Whether `factors` differ from image to image."""
        return self.max_random_contrast != 0 or self.max_random_illumination != 0


@dataclass(frozen=True)
class Batching:
    """How batches are made; see `ImageRecordIter`."""

    batch_size: int
    round_batch: bool = True
    preprocess_threads: int = 4
    prefetch_buffer: int = 4
    dtype: str = "None"
    data_name: str = "data"
    label_name: str = "softmax_label"
    aug_seq: str = "aug_default"
    ctx: str = "gpu"
    device_id: int = 0
    verbose: bool = True


def groups_of(title: str, options: Mapping[str, object], shape: tuple[int, int, int], *kinds: type) -> list[Any]:
    """Objects of classes of parameters; `twofold.io.parameters.parsed` lists those that may be text. None and ``"None"`` are the default.

    ``shape``, a field of some classes, is the result of `image_shape` for ``data_shape``.
    """
    # known, so that `parsed` does not warn of it, but not converted: `image_shape` has read it
    hints: dict[str, object] = {"data_shape": object}
    for kind in kinds:
        hints |= get_type_hints(kind, include_extras=True)  # without the extras `Floats` is any tuple
    hints.pop("shape", None)
    given = {name: value for name, value in options.items() if name not in hints or not _is_none(value)}
    values = parsed(title, given, hints) | {"shape": shape}
    missing = [f.name for kind in kinds for f in fields(kind) if f.default is MISSING and f.name not in values]
    if missing:
        raise ParameterError(f"{title}: needs {missing[0]}", None, f"pass {missing[0]}=…")
    return [kind(**{f.name: values[f.name] for f in fields(kind) if f.name in values}) for kind in kinds]


def _is_none(value: object) -> bool:
    return value is None or (isinstance(value, str) and value == "None")


def image_shape(title: str, given: object, channels: tuple[int, ...]) -> tuple[int, int, int]:
    """The shape (c, h, w) of an image in a batch, which may have some numbers of channels."""
    if given is None:
        raise ParameterError(f"{title}: needs data_shape", None, "pass data_shape=(c, h, w)")
    shape = Param("data_shape", SHAPE, None, True).value(given, title)
    if len(shape) != 3 or shape[0] not in channels or min(shape) < 1:
        counts = f"{', '.join(map(str, channels[:-1]))} or {channels[-1]}"
        raise ParameterError(f"{title}: data_shape is (c, h, w) with {counts} channels", f"{given}", "pass such a shape")
    return tuple(shape)

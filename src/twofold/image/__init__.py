"""``mx.image``: decoding, resizing and augmenting images, and iterators over them."""

from types import FunctionType as _Function

from .augmenters import Augmenter as Augmenter
from .augmenters import BrightnessJitterAug as BrightnessJitterAug
from .augmenters import CastAug as CastAug
from .augmenters import CenterCropAug as CenterCropAug
from .augmenters import ColorJitterAug as ColorJitterAug
from .augmenters import ColorNormalizeAug as ColorNormalizeAug
from .augmenters import ContrastJitterAug as ContrastJitterAug
from .augmenters import ForceResizeAug as ForceResizeAug
from .augmenters import HorizontalFlipAug as HorizontalFlipAug
from .augmenters import HueJitterAug as HueJitterAug
from .augmenters import LightingAug as LightingAug
from .augmenters import RandomCropAug as RandomCropAug
from .augmenters import RandomGrayAug as RandomGrayAug
from .augmenters import RandomOrderAug as RandomOrderAug
from .augmenters import RandomSizedCropAug as RandomSizedCropAug
from .augmenters import ResizeAug as ResizeAug
from .augmenters import SaturationJitterAug as SaturationJitterAug
from .augmenters import SequentialAug as SequentialAug
from .detection import CreateDetAugmenter as CreateDetAugmenter
from .detection import CreateMultiRandCropAugmenter as CreateMultiRandCropAugmenter
from .detection import DetAugmenter as DetAugmenter
from .detection import DetBorrowAug as DetBorrowAug
from .detection import DetHorizontalFlipAug as DetHorizontalFlipAug
from .detection import DetRandomCropAug as DetRandomCropAug
from .detection import DetRandomPadAug as DetRandomPadAug
from .detection import DetRandomSelectAug as DetRandomSelectAug
from .detection_iterator import ImageDetIter as ImageDetIter
from .functions import center_crop as center_crop
from .functions import color_normalize as color_normalize
from .functions import copyMakeBorder as copyMakeBorder
from .functions import fixed_crop as fixed_crop
from .functions import imdecode as imdecode
from .functions import imread as imread
from .functions import imresize as imresize
from .functions import imrotate as imrotate
from .functions import random_crop as random_crop
from .functions import random_rotate as random_rotate
from .functions import random_size_crop as random_size_crop
from .functions import resize_short as resize_short
from .functions import scale_down as scale_down
from .iterator import ImageIter as ImageIter
from .usual_augmenters import CreateAugmenter as CreateAugmenter

__all__ = sorted(name for name, value in vars().items() if not name.startswith("_") and isinstance(value, (type, _Function)))

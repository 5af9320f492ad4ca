"""``gluon.data.vision``: image datasets and transformations."""

from . import transforms
from .datasets import MNIST, FashionMNIST

__all__ = ["MNIST", "FashionMNIST", "transforms"]

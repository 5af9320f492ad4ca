"""``gluon.data``: data sets, samplers and loaders of batches."""

from . import vision
from .dataset import ArrayDataset, Dataset, SimpleDataset
from .loader import DataLoader
from .sampler import BatchSampler, FilterSampler, RandomSampler, Sampler, SequentialSampler

__all__ = [
    "ArrayDataset",
    "BatchSampler",
    "DataLoader",
    "Dataset",
    "FilterSampler",
    "RandomSampler",
    "Sampler",
    "SequentialSampler",
    "SimpleDataset",
    "vision",
]

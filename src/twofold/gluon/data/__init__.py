"""``gluon.data``: datasets, samplers and the data loader."""

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

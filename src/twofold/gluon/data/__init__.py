"""``gluon.data``: datasets, samplers and the data loader."""

from . import vision
from .dataset import ArrayDataset, Dataset, RecordFileDataset, SimpleDataset
from .loader import DataLoader
from .sampler import BatchSampler, FilterSampler, RandomSampler, Sampler, SequentialSampler

__all__ = [
    "ArrayDataset",
    "BatchSampler",
    "DataLoader",
    "Dataset",
    "FilterSampler",
    "RandomSampler",
    "RecordFileDataset",
    "Sampler",
    "SequentialSampler",
    "SimpleDataset",
    "vision",
]

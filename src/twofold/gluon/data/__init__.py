"""``gluon.data``: datasets, samplers and the data loader."""

from . import batchify, vision
from .batchify import default_batchify_fn, default_mp_batchify_fn
from .dataset import ArrayDataset, Dataset, RecordFileDataset, SimpleDataset
from .loader import DataLoader, DataLoaderV1
from .sampler import BatchSampler, FilterSampler, IntervalSampler, RandomSampler, Sampler, SequentialSampler, SplitSampler

__all__ = [
    "ArrayDataset",
    "BatchSampler",
    "DataLoader",
    "DataLoaderV1",
    "Dataset",
    "FilterSampler",
    "IntervalSampler",
    "RandomSampler",
    "RecordFileDataset",
    "Sampler",
    "SequentialSampler",
    "SimpleDataset",
    "SplitSampler",
    "batchify",
    "default_batchify_fn",
    "default_mp_batchify_fn",
    "vision",
]

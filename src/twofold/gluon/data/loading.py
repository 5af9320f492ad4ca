"""Loads one batch of a dataset, in any kind of worker: collates its samples, and lists the samples that could not be read."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from ...errors import EngineError
from ...io.skipped import BAD_SAMPLE
from .batchify import default_batchify_fn, stacked_rows
from .dataset import ArrayDataset


@dataclass
class Loaded:
    """A batch that was loaded.

    Attributes
    ----------
    batch
        The batch; None if it has no samples.
    size
        Number of its samples.
    bad
        Index and error message of each sample that was left out.
    """

    batch: Any
    size: int
    bad: list[tuple[object, str]] = field(default_factory=list)


def loaded(
    dataset: Any, indices: Sequence[Any], batchify: Callable[[list[Any]], Any], skips: bool, began: Callable[[int], None] | None = None
) -> Loaded:
    """Load a batch.

    Parameters
    ----------
    dataset
        The dataset.
    indices
        The samples.
    batchify
        The function that collates them.
    skips
        Whether samples that cannot be read are left out.
    began
        Called with the position of each sample before it is loaded, and with the number of samples before they are collated.
    """
    try:
        return _loaded(dataset, indices, batchify, skips, began)
    except StopIteration as error:  # StopIteration would end the epoch silently
        raise EngineError(
            f"DataLoader: StopIteration was raised for the samples {list(indices)}", None, "give next() a default, or catch it"
        ) from error


def _loaded(
    dataset: Any, indices: Sequence[Any], batchify: Callable[[list[Any]], Any], skips: bool, began: Callable[[int], None] | None
) -> Loaded:
    if type(dataset) is ArrayDataset and batchify is default_batchify_fn:
        rows = stacked_rows(dataset.arrays, indices)
        if rows is not None:
            if began is not None:
                began(len(indices))
            return Loaded(rows, len(indices))
    samples, bad = [], []
    for place, k in enumerate(indices):
        if began is not None:
            began(place)
        try:
            samples.append(dataset[k])
        except BAD_SAMPLE as error:
            if not skips:
                raise
            bad.append((k, f"sample {k!r}: {error}"))
    if began is not None:
        began(len(indices))
    return Loaded(batchify(samples) if samples or not bad else None, len(samples), bad)


def what_was_loaded(indices: Sequence[object], place: int) -> str:
    """What a worker was doing when it failed, by the last place passed to ``began``."""
    return f"for sample {indices[place]!r}" if place < len(indices) else f"while collating the samples {indices}"


def took_too_long(timeout: float, where: str) -> EngineError:
    """The error for a worker that has not loaded a batch within ``timeout`` seconds."""
    return EngineError(f"DataLoader: a worker took longer than {timeout:g} seconds", where, "set a larger timeout, or more workers")

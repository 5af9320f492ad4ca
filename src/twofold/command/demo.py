"""``twofold demo``: train on real handwritten digits in four ways, check that they agree, and write a report."""

import argparse
from collections.abc import Sequence
from itertools import pairwise

import numpy as np

from ..progress_bars import progress
from .arguments import positive_integer
from .digits import Digits, digits
from .four_ways import WAYS, Outcome, Task, train
from .report import COMPARED, write_report

LOSS_TOLERANCE = 1e-5  # relative
ACCURACY_TOLERANCE = 0.005
IMAGES_TOLERANCE = 3


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the program's arguments."""
    parser.add_argument(
        "--data",
        metavar="DIR",
        help="folder of MNIST's four files, plain or .gz (default: $TWOFOLD_DATA/mnist or ~/.mxnet/datasets/mnist)",
    )
    parser.add_argument("--out", metavar="DIR", default="demo-report", help="folder for report.html (default: %(default)s)")
    parser.add_argument("--epochs", type=positive_integer, help="number of passes over all images")


def execute(given: argparse.Namespace) -> int:
    """Train, compare the results, and write the report.

    Parameters
    ----------
    given
        ``data``, ``out`` and ``epochs``.

    Returns
    -------
    int
        0 if the four ways agree, else 1.
    """
    task = _task(digits(given.data), given.epochs)
    print(f"{task.data.source}: {len(task.data.labels)} images to train on, {len(task.data.held_out_labels)} held out")
    outcomes = [_trained(way, task) for way in WAYS]
    faults = differences(outcomes, len(task.data.held_out_labels))
    for outcome in outcomes:
        print(f"{outcome.way:<24} accuracy {outcome.accuracy:.4f}, {outcome.seconds:.1f} s")
    print(f"report: {write_report(given.out, task, outcomes, faults)}")
    for fault in faults:
        print(f"FAILED: {fault}")
    print(f"accuracy: {outcomes[-1].accuracy:.4f}")
    return 1 if faults else 0


def _trained(way: str, task: Task) -> Outcome:
    with progress(title=f"{way:<24}", total=task.epochs * task.steps_per_epoch) as bar:
        return train(way, task, lambda loss: bar.step(loss=loss))


def _task(data: Digits, epochs: int | None) -> Task:
    """Layer sizes and epochs suited to the data; training takes less than a minute on two cores."""
    height, width = data.images.shape[1:]
    if height * width > 100:
        return Task(data, (height * width, 128, 64, 10), batch_size=100, epochs=epochs or 5, learning_rate=0.1)
    return Task(data, (height * width, 64, 10), batch_size=32, epochs=epochs or 20, learning_rate=0.2)


def differences(outcomes: Sequence[Outcome], images: int) -> list[str]:
    """Describe the differences between the ways that rounding cannot explain, one sentence each.

    Parameters
    ----------
    outcomes
        The outcomes of the ways.
    images
        Number of test images.
    """
    faults = []
    for one, other in pairwise(outcomes):
        first, second = (np.array(o.losses[:COMPARED]) for o in (one, other))
        apart = np.flatnonzero(~np.isclose(first, second, rtol=LOSS_TOLERANCE, atol=0))
        if len(apart):
            k = apart[0]
            faults.append(f"{one.way} and {other.way}: the loss of step {k} is {first[k]:.8g} and {second[k]:.8g}")
        # of few images a single one is more than the tolerance; 1e-9 is for the rounding of the quotient
        if abs(one.accuracy - other.accuracy) > max(ACCURACY_TOLERANCE, IMAGES_TOLERANCE / images) + 1e-9:
            faults.append(f"{one.way} and {other.way}: the accuracy is {one.accuracy:.4f} and {other.accuracy:.4f}")
    return faults

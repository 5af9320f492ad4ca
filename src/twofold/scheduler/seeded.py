"""Seeded schedules: the tasks of a block run in an order that a seed determines, so that a failing order can be reproduced."""

import random
from collections.abc import Iterator
from contextlib import contextmanager

from .queue import QUEUE


@contextmanager
def seeded_schedule(seed: int) -> Iterator[None]:
    """Within the block no lane runs tasks: a waiting thread runs those that are ready, one at a time, in an order that the seed determines.

    Tasks submitted before the block are finished before it begins, and those submitted in it before it ends. Every order that the
    dependencies allow is possible; results must not depend on it.

    Parameters
    ----------
    seed
        Seeds the choices.
    """
    QUEUE.settle()
    QUEUE.schedule = random.Random(seed).choice
    try:
        yield
    finally:
        try:
            QUEUE.settle()
        finally:
            QUEUE.schedule = None

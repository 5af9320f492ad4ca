"""Seeded schedules: the tasks of a block run in an order that a seed gives, so that an order which shows a fault can be had again."""

import random
from collections.abc import Iterator
from contextlib import contextmanager

from .queue import QUEUE


@contextmanager
def replay(seed: int) -> Iterator[None]:
    """Within the block no thread runs tasks: who waits runs those that are ready, one after another, as the seed says.

    What was submitted before the block is waited for, and so is at its end what was submitted in it. Every order that dependencies
    allow can come out; results must be the same for all.

    Parameters
    ----------
    seed
        Of the choices.
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

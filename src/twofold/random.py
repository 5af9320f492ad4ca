"""``mx.random``: seeding, the state of the random streams, and the samplers of ``mx.nd.random``."""

import numpy as np

from .device import Device, interned
from .errors import ParameterError
from .imperative.generator import STREAMS, State
from .ndarray.random import (
    exponential,
    gamma,
    generalized_negative_binomial,
    multinomial,
    negative_binomial,
    normal,
    poisson,
    randint,
    randn,
    shuffle,
    uniform,
)

__all__ = [
    "exponential",
    "gamma",
    "generalized_negative_binomial",
    "get_state",
    "multinomial",
    "negative_binomial",
    "normal",
    "poisson",
    "randint",
    "randn",
    "seed",
    "set_state",
    "shuffle",
    "uniform",
]


def seed(seed_state: int, ctx: Device | str = "all") -> None:
    """Seed the random streams.

    The CPU and GPU 0 then draw the same numbers, and other GPUs different ones. A stream seeded for a single context draws the same
    numbers on any device.

    Parameters
    ----------
    seed_state
        Any integer, taken modulo 2**128.
    ctx
        The device whose stream to seed; ``"all"`` for every device.

    Raises
    ------
    ParameterError
        If the seed is not an integer.

    Examples
    --------
    >>> import twofold as mx
    >>> mx.random.seed(7)
    >>> a = mx.nd.random.uniform(shape=(3,))
    >>> mx.random.seed(7)
    >>> b = mx.nd.random.uniform(shape=(3,))
    >>> bool((a.asnumpy() == b.asnumpy()).all())
    True
    """
    if not isinstance(seed_state, (int, np.integer)):
        raise ParameterError("random.seed: seed_state must be int", repr(seed_state), "pass an integer")
    STREAMS.seed(int(seed_state), None if ctx == "all" else interned(ctx))


def get_state() -> State:
    """The state of all random streams, to save with a checkpoint: a dictionary that JSON can represent."""
    return STREAMS.state


def set_state(state: State) -> None:
    """Continue the random streams where `get_state` was called.

    Raises
    ------
    ParameterError
        If it is not a result of `get_state`.
    """
    try:
        STREAMS.state = state
    except (AttributeError, KeyError, OverflowError, TypeError, ValueError) as error:
        raise ParameterError("random.set_state: not a state of the random streams", repr(error), "pass a result of get_state") from error

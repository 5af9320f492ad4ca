"""Random programs of pushes and pulls by two workers. Runs on the real MXNet's cluster and on Twofold's; needs NumPy only.

A program is a list of steps, the same for both workers; what they push differs. Each has keys of its own.
"""

from __future__ import annotations

import random

import numpy as np

#: Programs by the way in which servers update: a cluster each.
MODES = {
    "sum": {},
    "compressed": {"compression": {"type": "2bit", "threshold": 0.5}},
    "sgd": {"optimizer": ("sgd", {"learning_rate": 0.1, "wd": 0.01, "rescale_grad": 0.5})},
    "momentum": {"optimizer": ("sgd", {"learning_rate": 0.1, "momentum": 0.9, "rescale_grad": 0.5, "clip_gradient": 1.0})},
    "adam": {"optimizer": ("adam", {"learning_rate": 0.1, "rescale_grad": 0.5})},
    "compressed sgd": {
        "compression": {"type": "2bit", "threshold": 0.25},
        "optimizer": ("sgd", {"learning_rate": 0.5, "momentum": 0.5, "rescale_grad": 0.5}),
    },
}
PROGRAMS = 500
SHAPES = ((1,), (3,), (5,), (2, 3), (4, 2), (3, 1, 2))


def mode_of(number):
    """The mode of a program."""
    return list(MODES)[number % len(MODES)]


def values(rng, shape):
    """Small multiples of 1/8, which every machine adds exactly."""
    count = int(np.prod(shape))
    return (np.array([rng.randint(-16, 16) for _ in range(count)], np.float32) / 8).reshape(shape)


def program(number):
    """The keys of a program, as (name, shape, whether row-sparse), and its steps for each worker.

    A step is ("push", key, array), ("rows", key, ids, rows), ("pull", key), or ("pull_rows", key, ids).
    """
    rng = random.Random(number)
    is_rows_allowed = "compressed" not in mode_of(number)
    keys = []
    for k in range(rng.randint(1, 3)):
        is_sparse = is_rows_allowed and rng.random() < 0.3
        keys.append((f"p{number}_{k}", (rng.randint(2, 4), 2) if is_sparse else rng.choice(SHAPES), is_sparse))
    # nor does it keep rows that are 0 at first in their places: none is
    starts = [[values(rng, shape) + np.float32(is_sparse / 16) for _, shape, is_sparse in keys] for _ in range(2)]
    steps = ([], [])
    for _ in range(rng.randint(2, 6)):
        # a key is pulled before it is pushed again: the real cluster hangs now and then if it is not
        chosen = rng.sample(keys, rng.randint(1, len(keys)))
        for name, shape, is_sparse in chosen:
            # without an updater the real cluster stores pushed rows at the wrong places, unless they are the first ones
            first = rng.randint(1, shape[0])
            for worker in range(2):
                if not is_sparse:
                    steps[worker].append(("push", name, values(rng, shape)))
                    continue
                ids = list(range(first)) if worker == 0 else sorted(rng.sample(range(first), rng.randint(1, first)))
                steps[worker].append(("rows", name, ids, values(rng, (len(ids), 2))))
        for name, shape, is_sparse in reversed(chosen):
            for worker in range(2):
                ids = [rng.randrange(shape[0]) for _ in range(3)]
                steps[worker].append(("pull_rows", name, ids) if is_sparse else ("pull", name))
    return keys, starts, steps


def run(store, number, worker):
    """What a worker pulls, in order. The store has ``init``, and a method for each kind of step."""
    keys, starts, steps = program(number)
    for (name, _, is_sparse), value in zip(keys, starts[worker]):  # noqa: B905  also runs on Python 3.9
        store.init(name, value, is_sparse)
    shapes = {name: shape for name, shape, _ in keys}
    found = []
    for kind, name, *rest in steps[worker]:
        result = getattr(store, kind)(name, shapes[name], *rest)
        if result is not None:
            found.append(result)
    return found

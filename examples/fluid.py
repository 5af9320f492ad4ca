"""Finds how a fluid must be stirred so that smoke becomes a picture: a simulation in NumPy, made differentiable.

    python examples/fluid.py [--steps N] [--picture FILE]

``simulate`` is ordinary NumPy code: it moves smoke along a flow that moves itself, and removes what would compress the fluid. Run with
``mx.np`` for ``np``, it has a gradient with respect to the flow in the beginning. So we know in which direction to change each of its 3,200
numbers to bring the smoke at the end closer to a star. The gradient of 20 steps of the fluid takes about as long as two simulations.

Source: Stam, "Stable fluids", SIGGRAPH 1999; the task is that of autograd's fluidsim.py.
"""

import argparse

import numpy

import twofold as mx

SIDE, STEPS = 40, 20


def project(np, v):
    """The part of a flow (2, SIDE, SIDE) without sources and sinks: some steps of Jacobi's method for their potential."""
    divergence = (np.roll(v[0], -1, 0) - np.roll(v[0], 1, 0) + np.roll(v[1], -1, 1) - np.roll(v[1], 1, 1)) / 2
    p = np.zeros_like(divergence)
    for _ in range(8):
        p = (np.roll(p, 1, 0) + np.roll(p, -1, 0) + np.roll(p, 1, 1) + np.roll(p, -1, 1) - divergence) / 4
    return v - np.stack([np.roll(p, -1, 0) - np.roll(p, 1, 0), np.roll(p, -1, 1) - np.roll(p, 1, 1)]) / 2


def advect(np, values, v):
    """Values (SIDE, SIDE) moved along a flow: each cell takes what was where the flow comes from, between four cells."""
    rows, columns = np.meshgrid(np.arange(SIDE), np.arange(SIDE), indexing="ij")
    y, x = rows - v[0], columns - v[1]
    top, left = np.floor(y), np.floor(x)
    dy, dx = y - top, x - left
    r0, c0 = top.astype("int64") % SIDE, left.astype("int64") % SIDE
    r1, c1 = (r0 + 1) % SIDE, (c0 + 1) % SIDE
    upper = (1 - dx) * values[r0, c0] + dx * values[r0, c1]
    return (1 - dy) * upper + dy * ((1 - dx) * values[r1, c0] + dx * values[r1, c1])


def simulate(np, v, smoke):
    """The smoke after each step."""
    for _ in range(STEPS):
        v = project(np, np.stack([advect(np, v[0], v), advect(np, v[1], v)]))
        smoke = advect(np, smoke, v)
        yield smoke


def main(steps: int, picture: str | None) -> None:
    """Look for the flow, and print how far the smoke at the end is from the picture."""
    np = mx.np
    y, x = numpy.mgrid[:SIDE, :SIDE] - SIDE / 2 + 0.5
    block = np.array((abs(y) < 9) & (abs(x) < 9), dtype="float64")
    target = np.array(numpy.hypot(y, x) < 9.9 * (1 + 0.35 * numpy.cos(5 * numpy.arctan2(x, -y))), dtype="float64")  # of the same area

    def error(v):
        *_, smoke = simulate(np, project(np, v), block)
        return ((smoke - target) ** 2).mean()

    by_numpy = list(simulate(numpy, numpy.zeros((2, SIDE, SIDE)), block.asnumpy()))[-1]
    print(f"unstirred, the error is {((by_numpy - target.asnumpy()) ** 2).mean():.4f}")
    descent = mx.func.jit(mx.func.value_and_grad(error))
    v = 0.02 * np.array(numpy.random.default_rng(0).normal(size=(2, SIDE, SIDE)))
    update = mx.optimizer.get_updater(mx.optimizer.Adam(learning_rate=0.02))
    for step in range(steps + 1):
        value, gradient = descent(v)
        if step % max(steps // 5, 1) == 0:
            print(f"step {step:3}: {float(value):.4f}", flush=True)
        update(0, gradient, v)
    if picture:
        draw(picture, [block, *list(simulate(np, project(np, v), block))[3::4], target])


def draw(file: str, pictures) -> None:
    """Draw the smoke as it moves, and the picture that it should become."""
    import matplotlib.pyplot as plt

    columns = -(-len(pictures) // 2)
    figure, places = plt.subplots(2, columns, figsize=(1.6 * columns, 3.6), layout="constrained")
    titles = ["before", *[f"step {4 * k}" for k in range(1, len(pictures) - 1)], "wanted"]
    for place in places.flat:
        place.axis("off")
    for place, shown, title in zip(places.flat, pictures, titles, strict=False):
        place.imshow(shown, cmap="Blues", vmin=0, vmax=1)
        place.set_title(title)
    figure.savefig(file, dpi=80)


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--steps", type=int, default=120)
    parser.add_argument("--picture")
    main(**vars(parser.parse_args()))

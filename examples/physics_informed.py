"""Solves Burgers' equation by a network that knows the equation, and no solution: a physics-informed network.

    python examples/physics_informed.py [--steps N] [--picture FILE]

The network is a function u(t, x). Its loss is what u_t + u u_x - ν u_xx leaves at random points, and what it misses of u(0, x) = -sin(πx)
and of u(t, ±1) = 0. ``grad`` of ``grad`` of a function of one point gives the derivatives, ``vmap`` those at all points, and another
``grad`` the descent. The exact solution, to compare with, is an integral (Cole and Hopf).

Source: Raissi, Perdikaris and Karniadakis, "Physics-informed neural networks", Journal of Computational Physics 378, 2019.
"""

import argparse
import itertools

import numpy

import twofold as mx
from twofold import np
from twofold.func import grad, jit, tree_leaves, value_and_grad, vmap

VISCOSITY, POINTS, WIDTH = 0.1 / numpy.pi, 256, 24


def initial(draw: numpy.random.Generator) -> list[dict[str, mx.np.ndarray]]:
    """Weights of a network with three hidden layers."""
    sizes = [2, WIDTH, WIDTH, WIDTH, 1]
    weights = [draw.normal(size=(n, m)) / numpy.sqrt(n) for n, m in itertools.pairwise(sizes)]
    return [{"w": np.array(w), "b": np.zeros(w.shape[1])} for w in weights]


def u(layers, t, x):
    """The network at one point."""
    y = np.stack([t, x])
    for layer in layers[:-1]:
        y = np.tanh(y @ layer["w"] + layer["b"])
    return (y @ layers[-1]["w"] + layers[-1]["b"])[0]


u_t, u_x = grad(u, argnums=1), grad(u, argnums=2)
u_xx = grad(u_x, argnums=2)


def residual(layers, t, x):
    """What the equation leaves at one point."""
    return u_t(layers, t, x) + u(layers, t, x) * u_x(layers, t, x) - VISCOSITY * u_xx(layers, t, x)


def loss(layers, t, x):
    """The mean square of what is left inside, at the beginning, and at both ends."""
    over = lambda f, t, x: vmap(f, in_axes=(None, 0, 0))(layers, t, x)  # noqa: E731
    start = over(u, np.zeros_like(x), x) + np.sin(np.pi * x)
    return sum((part**2).mean() for part in (over(residual, t, x), start, over(u, t, np.ones_like(t)), over(u, t, -np.ones_like(t))))


def exact(t: numpy.ndarray, x: numpy.ndarray) -> numpy.ndarray:
    """The solution for t > 0, by Gauss and Hermite's quadrature of the formula of Cole and Hopf."""
    nodes, weights = numpy.polynomial.hermite.hermgauss(80)
    y = x[..., None] - numpy.sqrt(4 * VISCOSITY * t)[..., None] * nodes
    f = weights * numpy.exp(-numpy.cos(numpy.pi * y) / (2 * numpy.pi * VISCOSITY))
    return -(f * numpy.sin(numpy.pi * y)).sum(-1) / f.sum(-1)


def main(steps: int, picture: str | None) -> None:
    """Train, and print how far the network is from the exact solution."""
    draw = numpy.random.default_rng(0)
    layers = initial(draw)
    descent = jit(value_and_grad(loss))
    schedule = mx.lr_scheduler.CosineScheduler(steps, 5e-3, final_lr=5e-5)
    update = mx.optimizer.get_updater(mx.optimizer.Adam(learning_rate=5e-3, lr_scheduler=schedule))
    t, x = numpy.meshgrid(numpy.linspace(0.02, 1, 50), numpy.linspace(-1, 1, 101), indexing="ij")
    everywhere, wanted = vmap(u, in_axes=(None, 0, 0)), exact(t, x)
    for step in range(steps + 1):
        points = np.array(draw.uniform(0, 1, POINTS)), np.array(draw.uniform(-1, 1, POINTS))
        value, gradient = descent(layers, *points)
        if step % max(steps // 5, 1) == 0:
            found = everywhere(layers, np.array(t.ravel()), np.array(x.ravel())).asnumpy().reshape(t.shape)
            error = numpy.linalg.norm(found - wanted) / numpy.linalg.norm(wanted)
            print(f"step {step:4}: loss {float(value):.5f}, relative error {error:.4f}", flush=True)
        for k, arrays in enumerate(zip(tree_leaves(gradient), tree_leaves(layers), strict=True)):
            update(k, *arrays)
    if picture:
        plot(picture, x[0], found, wanted)


def plot(file: str, x: numpy.ndarray, found: numpy.ndarray, wanted: numpy.ndarray) -> None:
    """Draw the solution as a picture, and sections of it beside the exact ones."""
    import matplotlib.pyplot as plt

    figure, (left, right) = plt.subplots(1, 2, figsize=(7, 3.2), layout="constrained")
    left.imshow(found.T, aspect="auto", extent=(0.02, 1, -1, 1), cmap="RdBu_r", origin="lower")
    left.set(xlabel="t", ylabel="x", title="the network's u(t, x)")
    for k, color in zip((0, 12, 24, 49), ("C0", "C1", "C2", "C3"), strict=True):
        right.plot(x, found[k], color, label=f"t = {0.02 + k / 50:.2f}")
        right.plot(x, wanted[k], "k:")
    right.set(xlabel="x", xticks=(-1, 0, 1), title="sections, exact ones dotted")
    right.legend()
    figure.savefig(file, dpi=80)


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--steps", type=int, default=1200)
    parser.add_argument("--picture")
    main(**vars(parser.parse_args()))

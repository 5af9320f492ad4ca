"""Grows a picture from one cell: a neural cellular automaton.

    python examples/cellular_automaton.py [--steps N] [--picture FILE]

Each cell of a grid has 12 numbers, of which the first is what one sees. All follow the same rule, which knows a cell and how its
neighbors differ from it; in each step about half of the cells change. The rule, a network of some 2,000 weights, learns to grow a star
from a single cell. Half of its exercises begin with what it has grown before, so that the star lasts.

Source: Mordvintsev and others, "Growing neural cellular automata", Distill, 2020.
"""

import argparse

import numpy

import twofold as mx
from twofold import autograd, gluon, np
from twofold.gluon import nn

SIDE, NUMBERS, BATCH, POOL = 20, 12, 6, 48
#: A cell itself, and Sobel's filters for how its neighbors differ from it: (filters, 3, 3).
EYES = numpy.stack([numpy.outer([0, 1, 0], [0, 1, 0]), numpy.outer([1, 2, 1], [-1, 0, 1]) / 8, numpy.outer([-1, 0, 1], [1, 2, 1]) / 8])


class Rule(gluon.HybridBlock):
    """One step of all cells (n, NUMBERS, SIDE, SIDE)."""

    def __init__(self) -> None:
        super().__init__()
        with self.name_scope():
            self.see = nn.Conv2D(3 * NUMBERS, 3, padding=1, groups=NUMBERS, in_channels=NUMBERS, use_bias=False)
            self.think = nn.Conv2D(48, 1, activation="relu")
            self.around = nn.MaxPool2D(3, strides=1, padding=1)
            self.change = nn.Conv2D(NUMBERS, 1, weight_initializer="zeros")

    def hybrid_forward(self, F, x, awake):
        """The cells after a step. Cells with nothing to see beside them die."""
        x = x + self.change(self.think(self.see(x))) * awake
        seen = self.around(x[:, :1])
        return x * (seen > 0.1)


def awake(draw: numpy.random.Generator, count: int) -> mx.np.ndarray:
    """Which cells change in a step: about half."""
    return np.array(numpy.broadcast_to(draw.random((count, 1, SIDE, SIDE)) < 0.5, (count, NUMBERS, SIDE, SIDE)).astype("float32"))


def star() -> numpy.ndarray:
    """The picture (SIDE, SIDE)."""
    y, x = numpy.mgrid[:SIDE, :SIDE] - SIDE / 2 + 0.5
    return (numpy.hypot(y, x) < 6.2 * (1 + 0.45 * numpy.cos(5 * numpy.arctan2(x, -y)))).astype("float32")


def seeds(count: int) -> numpy.ndarray:
    """Grids with one living cell."""
    cells = numpy.zeros((count, NUMBERS, SIDE, SIDE), "float32")
    cells[:, :, SIDE // 2, SIDE // 2] = 1
    return cells


def main(steps: int, picture: str | None) -> None:
    """Train, and print how far what grows in 32 steps, and what is left after 128, is from the picture."""
    mx.random.seed(1)
    draw, target = numpy.random.default_rng(1), np.array(star())
    rule = Rule()
    rule.initialize(mx.init.Xavier())
    rule.see.weight.set_data(np.array(numpy.tile(EYES, (NUMBERS, 1, 1))[:, None]))
    rule.see.weight.grad_req = "null"
    rule.hybridize()
    schedule = mx.lr_scheduler.CosineScheduler(steps, 0.004, final_lr=2e-4)
    trainer = gluon.Trainer(rule.collect_params(), "adam", {"learning_rate": 0.004, "lr_scheduler": schedule})
    pool = seeds(POOL)
    for step in range(1, steps + 1):
        rows = draw.choice(POOL, BATCH, replace=False)
        cells = np.array(numpy.concatenate([seeds(BATCH // 2), pool[rows[BATCH // 2 :]]]))
        with autograd.record():
            for _ in range(draw.choice([24, 32])):
                cells = rule(cells, awake(draw, BATCH))
            loss = ((cells[:, 0] - target) ** 2).mean()
        loss.backward()
        gluon.utils.clip_global_norm([p.grad() for p in rule.collect_params().values() if p.grad_req != "null"], 0.1)
        trainer.step(1)
        pool[rows] = cells.asnumpy()
        if step % max(steps // 5, 1) == 0:
            print(f"step {step:4}: error {float(loss):.4f}", flush=True)
    cells, course = np.array(seeds(1)), []
    for _ in range(128):
        course.append(cells[0, 0].asnumpy())
        cells = rule(cells, awake(draw, 1))
    course.append(cells[0, 0].asnumpy())
    errors = [((course[k] - star()) ** 2).mean() for k in (0, 32, 128)]
    print("error of the first cell: {:.4f}; after 32 steps: {:.4f}; after 128: {:.4f}".format(*errors))
    if picture:
        import matplotlib.pyplot as plt

        figure, places = plt.subplots(2, 4, figsize=(6.4, 3.6), layout="constrained")
        for place, k in zip(places.flat, (0, 4, 8, 12, 16, 24, 32, 128), strict=True):
            place.imshow(course[k], cmap="Reds", vmin=0, vmax=1)
            place.set(title=f"step {k}", xticks=[], yticks=[])
        figure.savefig(picture, dpi=80)


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--steps", type=int, default=800)
    parser.add_argument("--picture")
    main(**vars(parser.parse_args()))

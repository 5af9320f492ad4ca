"""Draws the pictures of docs/inside/passes.md by running the passes: ``python docs/pass_pictures.py`` rewrites them.

A test holds the committed files to what this draws.
"""

import math
from collections.abc import Callable, Sequence
from pathlib import Path

import twofold as mx
from twofold.backend.protocol import Target
from twofold.config import SETTINGS
from twofold.graph.build import G, apply
from twofold.graph.fuse import steps_of
from twofold.graph.gradient import gradient, ones_head
from twofold.graph.ir import Node, leaf
from twofold.graph.stabilise import stabilise
from twofold.imperative.cell import HOST
from twofold.opdef.registry import NAMES
from twofold.program.compile import Program
from twofold.program.passes import PASSES, PassContext
from twofold.visualization import plot_memory
from twofold.visualization.graph import plot_graph

FOLDER = Path(__file__).parent / "inside" / "passes"


def x_of(*shape: int) -> Node:
    """An input that wants its gradient."""
    return leaf("x", shape, "float32", True)


def product() -> Node:
    """``tanh(x · w)``."""
    return G.tanh(x_of(4) * leaf("w", (4,), "float32", True))


def gradients() -> list[Node]:
    """Its gradients."""
    y = product()
    return gradient([y], [ones_head(y)], [x_of(4), leaf("w", (4,), "float32", True)])


def logarithm() -> Node:
    """``log(softmax(x))``, written out."""
    softmax = NAMES["softmax"].bind(True)
    return apply(NAMES["log"].bind(True), (apply(softmax, (x_of(2, 3), *[None] * (len(softmax.op.inputs) - 1))),))


def layer() -> Node:
    """A dense layer times one."""
    weight, bias = leaf("weight", (2, 3), "float32"), leaf("bias", (2,), "float32")
    return apply(NAMES["FullyConnected"].bind(True, num_hidden=2), (x_of(4, 3), weight, bias)) * 1.0


def convolved() -> Node:
    """Three convolutions with relu between them."""
    y = leaf("x", (8, 64, 56, 56), "float32")
    for k in range(3):
        y = y if k == 0 else G.maximum(y, 0.0)
        weight = leaf(f"w{k}", (64, 64, 3, 3), "float32")
        y = G.convolve(y, weight, stride=(1, 1), dilate=(1, 1), pad=(1, 1), groups=1)
    return y


def normalised() -> Node:
    """``exp(x · 2 + 1)`` over its sum."""
    raised = G.exp(x_of(512, 512) * 2.0 + 1.0)
    return raised / G.sum(raised, axis=None)


def centred() -> list[Node]:
    """``x - x.mean(1)[:, None]``, simplified."""
    x = x_of(512, 512)
    return _simplified(x - G.reshape(G.sum(x, axis=1) / 512.0, shape=(512, 1)))


def kept() -> list[Node]:
    """The same with the mean as a column."""
    return passed(centred(), "row results as columns")


def chain(mirror: bool = False) -> mx.sym.Symbol:
    """Six squares and tanhs, whose values backward reads."""
    y = mx.sym.var("x")
    with mx.AttrScope(**{"force_mirroring": "True"} if mirror else {}):
        for _ in range(6):
            y = mx.sym.tanh(y * y)
    return y


def bound(symbol: mx.sym.Symbol) -> mx.executor.Executor:
    """An executor for training on a thousand elements."""
    return symbol.simple_bind(mx.cpu(), x=(1000,))


def placed() -> list[Node]:
    """What each device computes of ``tanh(x + 1) · 2`` with its two halves on two devices: one graph for each."""
    with mx.AttrScope(ctx_group="first"):
        y = mx.sym.tanh(mx.sym.var("x") + 1.0)
    with mx.AttrScope(ctx_group="second"):
        y = y * 2.0
    executor = y.simple_bind(mx.cpu(), x=(4,), grad_req="null", group2ctx={"first": mx.cpu(0), "second": mx.cpu(1)})
    return [node for _, program in executor.programs() for node in program.outputs]


def window() -> Program:
    """The program of a window: a result that nobody holds is not in it."""
    x = leaf(0, (512, 512), "float32")
    shown = G.exp(G.tanh(x * leaf(1, (), "weakf")) + 1.0)
    return Program([shown], [x, leaf(1, (), "weakf")], HOST, donated=[x], boundaries=[shown])


#: A backend that gains from channels last whatever it costs.
IMAGES_LAST = Target("picture", "cpu", gain_of_channels_last=lambda op, params, inputs: 4.0 * math.prod(inputs[0].shape))


def passed(outputs: Sequence[Node], *names: str) -> list[Node]:
    """The graph after some rows of the table of passes."""
    found, context = list(outputs), PassContext(IMAGES_LAST, big=lambda node: True)
    for row in PASSES:
        if row.name in names:
            found = row.rule(found, context)
    return found


def _simplified(y: Node) -> list[Node]:
    return passed([y], "lower", "simplify")


PICTURES: dict[str, Callable[[], str]] = {
    "gradient-before": lambda: plot_graph([product()]),
    "gradient-after": lambda: plot_graph(gradients()),
    "stabilise-before": lambda: plot_graph([logarithm()]),
    "stabilise-after": lambda: plot_graph(stabilise([logarithm()])),
    "simplify-before": lambda: plot_graph([layer()]),
    "simplify-after": lambda: plot_graph(_simplified(layer())),
    "layout-before": lambda: plot_graph([convolved()]),
    "layout-after": lambda: plot_graph(passed([convolved()], "channels last")),
    "recompute-before": lambda: plot_memory(bound(chain())),
    "recompute-after": lambda: plot_memory(bound(chain(mirror=True))),
    "place-after": lambda: plot_graph(placed()),
    "fuse-before": lambda: plot_graph(_simplified(normalised())),
    "fuse-after": lambda: plot_graph(_simplified(normalised()), steps_of(_simplified(normalised()), 1 << 16, rows=True)),
    "rows-before": lambda: plot_graph(centred(), steps_of(centred(), 1 << 16, rows=True)),
    "rows-after": lambda: plot_graph(kept(), steps_of(kept(), 1 << 16, rows=True)),
    "plan-after": lambda: plot_memory(chain().simple_bind(mx.cpu(), x=(1000,), grad_req="null")),
    "window-after": lambda: plot_graph(window().outputs, window().steps),
}


def main() -> None:
    """Write every picture; machine code takes more into a kernel than the pages speak of."""
    SETTINGS.jit = False
    FOLDER.mkdir(exist_ok=True)
    for name, draw in PICTURES.items():
        (FOLDER / f"{name}.svg").write_text(draw(), encoding="utf-8")


if __name__ == "__main__":
    main()

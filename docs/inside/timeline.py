"""Draws `timeline.svg`: two recurrent layers on two devices, run on simulated GPUs whose clock counts operations.

``python docs/inside/timeline.py`` rewrites the picture; a test compares it with what the code gives.
"""

import os
from pathlib import Path

os.environ.setdefault("TWOFOLD_FAKE_GPUS", "2")
os.environ.setdefault("TWOFOLD_FAKE_SCHEDULE", "late")

import twofold as mx
from twofold.backend.loader import backend_for

WIDTH, ROW, LEFT = 760, 26, 130
COLORS = {"compute": "#4878a8", "h2d": "#d08030"}


def two_layers(length: int, hidden: int) -> mx.sym.Symbol:
    """A recurrent network, unrolled: its layers in the groups ``below`` and ``above``."""
    weights = [[mx.sym.Variable(f"{name}{layer}") for name in ("input", "state", "bias")] for layer in (0, 1)]
    states: list[mx.sym.Symbol | None] = [None, None]
    for step, x in enumerate(mx.sym.SliceChannel(mx.sym.Variable("data"), num_outputs=length, axis=0, squeeze_axis=True)):
        for layer, group in enumerate(("below", "above")):
            with mx.AttrScope(ctx_group=group):
                from_input, from_state, bias = weights[layer]
                new = mx.sym.FullyConnected(x, from_input, bias, num_hidden=hidden, name=f"layer{layer}_step{step}")
                if states[layer] is not None:
                    new = new + mx.sym.dot(states[layer], from_state)
                x = states[layer] = mx.sym.tanh(new)
    with mx.AttrScope(ctx_group="above"):
        return mx.sym.sum(mx.sym.square(x))


def intervals_of(length: int = 8, hidden: int = 8) -> list:
    """What ran when in one training step."""
    groups = {"below": mx.gpu(0), "above": mx.gpu(1)}
    shapes = {"data": (length, 4, 5), "state0": (hidden, hidden), "state1": (hidden, hidden)}
    executor = two_layers(length, hidden).simple_bind(mx.gpu(0), group2ctx=groups, **shapes)
    executor.forward(is_train=True)
    executor.backward()
    mx.nd.waitall()
    streams = backend_for(mx.gpu(0)).streams
    streams.timeline = found = []
    begin = max(s.clock for s in streams.known.values())
    for stream in streams.known.values():
        stream.clock = begin
    executor.forward(is_train=True)
    executor.backward()
    for array in executor.grad_arrays:
        array.wait_to_read()
    streams.timeline = None
    return [(i.stream, i.start - begin, i.end - begin) for i in found]


def picture(intervals: list) -> str:
    """The intervals as SVG: a row for each queue."""
    rows = sorted({name for name, _, _ in intervals})
    last = max(end for _, _, end in intervals)
    scale = (WIDTH - LEFT - 10) / last
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{WIDTH}" height="{ROW * len(rows) + 30}" font-family="sans-serif" font-size="12">'
    ]
    for k, name in enumerate(rows):
        lines.append(f'<text x="4" y="{ROW * k + 18}">{name}</text>')
        color = COLORS["compute" if "compute" in name else "h2d"]
        for begin, end in merged([(b, e) for n, b, e in intervals if n == name]):
            x, width = LEFT + begin * scale, (end - begin) * scale
            lines.append(f'<rect x="{x:.1f}" y="{ROW * k + 5}" width="{max(width, 1.5):.1f}" height="{ROW - 9}" fill="{color}"/>')
    lines += [f'<text x="{LEFT}" y="{ROW * len(rows) + 20}">{last:.0f} units of time</text>', "</svg>", ""]
    return "\n".join(lines)


def merged(pieces: list) -> list:
    """Intervals with those joined that follow one another without a gap."""
    found: list = []
    for begin, end in sorted(pieces):
        if found and found[-1][1] == begin:
            found[-1] = found[-1][0], end
        else:
            found.append((begin, end))
    return found


if __name__ == "__main__":
    Path(__file__).with_name("timeline.svg").write_text(picture(intervals_of()), encoding="utf-8")

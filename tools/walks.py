"""Follows typical calls through the code and counts the Python functions that each enters, the files visited, and the returns to a file.

Every walk is warm: it is repeated before it is counted. `make walks` prints the counts beside their goals and ceilings;
`make walks ARGS=--lower` lowers ceilings that are above their counts (`tests/house/ceilings.toml`). `ARGS="--show 'x + y'"` prints what the
walks of such names enter, in order.
"""

from __future__ import annotations

import argparse
import gc
import os
import re
import sys
import tomllib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

if __name__ == "__main__":
    # The defaults that the tests change; and one thread, because only one is followed.
    os.environ.update(TWOFOLD_JIT="1", TWOFOLD_FOLD_ELEMENTS="262144", TWOFOLD_THREADS="1")

import numpy

import twofold as mx
from twofold import nd

if TYPE_CHECKING:
    from types import CodeType

ROOT = Path(__file__).parents[1]
CEILINGS = ROOT / "tests/house/ceilings.toml"
WARM_UP = 8
ITERATIONS = 6


class Counts(NamedTuple):
    """Python functions entered; files that they stand in; how often a file was entered that the walk had left before."""

    frames: int
    files: int
    returns: int


class Walk(NamedTuple):
    """A walk: its name, the frames that it is to have, and what makes the function to follow.

    A walk that needs something new for each call has a function that makes it, which is not followed.
    """

    name: str
    goal: int
    make: Callable[[], Callable[..., Any]]
    fresh: Callable[[], Any] | None = None


def entered(act: Callable[[], Any]) -> list[CodeType]:
    """The code objects that a call enters in this thread, in order, without those of this file."""
    found: list[CodeType] = []

    def profile(frame: Any, event: str, argument: Any) -> None:
        if event == "call":
            found.append(frame.f_code)

    gc.collect()
    gc.disable()  # a collection would run finalizers of earlier walks
    sys.setprofile(profile)
    try:
        kept = act()  # dropping the result is no part of the walk
    finally:
        sys.setprofile(None)
        gc.enable()
    del kept
    return [code for code in found if code.co_filename not in (__file__, "<walk>")]


def counts_of(codes: list[CodeType]) -> Counts:
    """The counts of a walk."""
    visited, returns, here = set[str](), 0, ""
    for code in codes:
        if code.co_filename != here:
            here = code.co_filename
            returns += here in visited
            visited.add(here)
    return Counts(len(codes), len(visited), returns)


@contextmanager
def recording(on: bool) -> Iterator[None]:
    """A scope in which operations are recorded, or in which nothing changes."""
    before = mx.autograd.set_recording(on)
    yield
    mx.autograd.set_recording(before)


def follow(walk: Walk) -> list[CodeType]:
    """What a walk enters once it is warm."""
    with recording("recorded" in walk.name):
        act = walk.make()
        for _ in range(WARM_UP):
            act(walk.fresh()) if walk.fresh else act()
        if walk.fresh is None:
            return entered(act)
        given = walk.fresh()
        return entered(lambda: act(given))


# ------------------------------------------------------------------------------------------------------------- arrays


def random_array(*shape: int) -> Any:
    """An array of `nd` that takes gradients."""
    array = nd.array(numpy.random.default_rng(0).random(shape))
    array.attach_grad()
    return array


def small_addition() -> Callable[[], Any]:
    """Adds two arrays of 20 elements."""
    x, y = nd.ones(20), nd.ones(20)
    return lambda: x + y


def three_operations(*shape: int, read: bool) -> Callable[[], Any]:
    """Records three operations and differentiates them."""
    x, y = random_array(*shape), random_array(*shape)

    def act() -> Any:
        with mx.autograd.record():
            z = (x * y + x).sum()
        z.backward()
        return x.grad.asnumpy() if read else None

    return act


def large_multiplication() -> Callable[[], Any]:
    """Squares a large array that takes gradients."""
    x = random_array(300, 300)
    return lambda: x * x


# ----------------------------------------------------------------------------------------------------------- networks


def network() -> Any:
    """Two dense layers, hybridized."""
    net = mx.gluon.nn.HybridSequential()
    net.add(mx.gluon.nn.Dense(4, activation="relu"), mx.gluon.nn.Dense(2))
    net.initialize()
    net.hybridize()
    return net


def hybridized_call() -> Callable[[], Any]:
    """Calls a hybridized network."""
    net, x = network(), nd.ones((3, 5))
    return lambda: net(x)


def hybridized_gradient() -> Callable[[], Any]:
    """Calls and differentiates a hybridized network."""
    net, x = network(), nd.ones((3, 5))

    def act() -> None:
        with mx.autograd.record():
            loss = net(x).sum()
        loss.backward()

    return act


def ten_nodes() -> Any:
    """A symbol of two dense layers with a loss: ten nodes."""
    hidden = mx.sym.FullyConnected(mx.sym.Variable("data"), num_hidden=8, name="fc1")
    hidden = mx.sym.FullyConnected(mx.sym.Activation(hidden, act_type="relu"), num_hidden=3, name="fc2")
    return mx.sym.SoftmaxOutput(hidden, name="softmax")


def module_step() -> Callable[[], Any]:
    """One step of training by a module, with a metric."""
    module = mx.mod.Module(ten_nodes())
    module.bind([("data", (4, 5))], [("softmax_label", (4,))])
    module.init_params()
    module.init_optimizer()
    batch = mx.io.DataBatch([nd.ones((4, 5))], [nd.array([0, 1, 2, 0])])
    metric = mx.metric.Accuracy()

    def act() -> None:
        module.forward_backward(batch)
        module.update()
        module.update_metric(metric, batch.label)

    return act


def push_and_pull() -> Callable[[], Any]:
    """Pushes and pulls one key of a store for several processes, of which there is one."""
    store: Any = mx.kv.create("dist_sync")
    gradient, weight = nd.ones((2, 3)), nd.zeros((2, 3))
    store.init(3, weight)

    def act() -> None:
        store.push(3, gradient)
        store.pull(3, out=weight)

    return act


def write_json() -> Callable[[], Any]:
    """Writes a symbol."""
    return ten_nodes().tojson


def read_json() -> Callable[[], Any]:
    """Reads a symbol."""
    text = ten_nodes().tojson()
    return lambda: mx.sym.load_json(text)


# ------------------------------------------------------------------------------------------------------------ folding


def face() -> Any:
    """The module that `run --numpy` gives to scripts as NumPy."""
    from twofold.numpy_folding.face import numpy

    return numpy


@cache
def folding_array() -> Any:
    """An array whose operations wait."""
    return face().ones(300_000)


def new_site() -> Callable[[], Any]:
    """A function of folding arrays whose code, and with it the site of its operation, no other function shares."""
    names = {"np": face(), "x": folding_array(), "y": folding_array()}
    exec(compile("def waiting(): return np.add(x, y)", "<walk>", "exec"), names)
    return names["waiting"]


def loop() -> Any:
    """The last result of a loop; nothing reads the earlier ones, but their square roots may have to warn."""
    np, x = face(), folding_array()
    result = x
    for _ in range(ITERATIONS):
        result = np.sqrt(x * 2.0 + 1.0)
    return result


WALKS = (
    Walk("x + y, small nd", 1, small_addition),
    Walk("hybridized call", 15, hybridized_call),
    Walk("hybridized call, record and backward", 40, hybridized_gradient),
    Walk("record three small operations, backward", 30, lambda: three_operations(20, read=False)),
    Walk("record three large operations, backward, read", 120, lambda: three_operations(300, 300, read=True)),
    Walk("a recorded large operation", 15, large_multiplication),
    Walk("Module: a step, two layers and a metric", 100, module_step),
    Walk("folding: a waiting ufunc at a new site", 15, lambda: lambda site: site(), new_site),
    Walk("folding: the next one at that site", 10, new_site),
    Walk("folding: forcing a chain of three in a loop", 100, lambda: lambda result: result.sum(), loop),
    Walk("push and pull, one worker", 40, push_and_pull),
    Walk("tojson, 10 nodes", 200, write_json),
    Walk("load_json, 10 nodes", 300, read_json),
)


# ----------------------------------------------------------------------------------------------------------- ceilings


def ceilings() -> dict[str, list[int]]:
    """The highest frames and returns that a walk may have, by its name."""
    return tomllib.loads(CEILINGS.read_text(encoding="utf-8"))["walks"]


def lowered(text: str, name: str, counts: Counts) -> str:
    """The text of the ceilings with those of one walk set to its counts, where these are lower."""

    def line(match: re.Match[str]) -> str:
        return f"{match[1]}[{min(int(match[2]), counts.frames)}, {min(int(match[3]), counts.returns)}]"

    return re.sub(rf'^("{re.escape(name)}" = )\[(\d+), (\d+)\]', line, text, flags=re.MULTILINE)


def row(walk: Walk, counts: Counts, ceiling: list[int]) -> str:
    """One line of the table."""
    frames, returns = ceiling
    notes = ["over its ceiling"] if counts.frames > frames or counts.returns > returns else []
    notes += ["the ceiling can be lowered"] if counts.frames < frames or counts.returns < returns else []
    highest = f"{frames} / {returns}"
    return f"{walk.name:48} {counts.frames:6} {counts.files:6} {counts.returns:8} {highest:>10} {walk.goal:5}  {'; '.join(notes)}".rstrip()


def main(words: list[str]) -> int:
    """Print the table; 1 if a count is over its ceiling."""
    parser = argparse.ArgumentParser(description="Count the Python functions that typical calls enter.")
    parser.add_argument("--lower", action="store_true", help="lower ceilings that are above their counts")
    parser.add_argument("--show", metavar="NAME", help="print what the walks whose names contain this enter, in order")
    given = parser.parse_args(words)
    if given.show is not None:
        for walk in WALKS:
            for code in follow(walk) if given.show in walk.name else ():
                print(f"{code.co_filename.removeprefix(f'{ROOT}/')}:{code.co_firstlineno} {code.co_qualname}")
        return 0
    highest, text, is_over = ceilings(), CEILINGS.read_text(encoding="utf-8"), False
    print(f"{'':48} {'frames':>6} {'files':>6} {'returns':>8} {'ceilings':>10} {'goal':>5}")
    for walk in WALKS:
        counts = counts_of(follow(walk))
        print(row(walk, counts, highest[walk.name]))
        is_over |= counts.frames > highest[walk.name][0] or counts.returns > highest[walk.name][1]
        text = lowered(text, walk.name, counts)
    if given.lower:
        CEILINGS.write_text(text, encoding="utf-8")
    return int(is_over)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

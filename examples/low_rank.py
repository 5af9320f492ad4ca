"""Teaches a small decoder another kind of text by changes of low rank: its own weights stay as they are.

    python examples/low_rank.py [--steps N]

First the GPT of ``character_gpt.py`` learns English, Python's help on its language. Then it shall read Python's source. To each weight of
its attention and feed-forward layers is added the product of two thin matrices, and only these are trained. ``functional_call`` runs the
network with the sums in place of its weights, so nothing in it needs to know of them; ``value_and_grad`` follows the thin matrices alone.

Source: Hu and others, "LoRA: low-rank adaptation of large language models", arXiv:2106.09685.
"""

import argparse
import pathlib

import character_gpt as gpt
import numpy

import twofold as mx
from twofold import gluon, np
from twofold.func import functional_call, jit, tree_leaves, value_and_grad

RANK, MODULES = 4, ("argparse", "ast", "dataclasses", "difflib", "inspect", "pathlib", "pickle", "tarfile", "typing", "zipfile")


def source() -> numpy.ndarray:
    """The source of some modules, in the alphabet of the GPT."""
    folder = pathlib.Path(argparse.__file__).parent
    files = [folder / f"{name}.py" for name in MODULES]
    text = " ".join(" ".join(file.read_text(encoding="utf-8").split()) for file in files if file.exists())
    return numpy.searchsorted(gpt.alphabet, [c for c in text if c in gpt.alphabet]).astype("int32")


def adapters(params, draw: numpy.random.Generator) -> dict[str, tuple[mx.np.ndarray, mx.np.ndarray]]:
    """Two thin matrices for each weight of the layers, whose product is zero at first."""
    found = {}
    for name, parameter in params.items():
        if "encoderlayer" in name and name.endswith("weight"):
            rows, columns = parameter.shape
            right = draw.normal(scale=columns**-0.5, size=(RANK, columns))
            found[name] = np.zeros((rows, RANK), "float32"), np.array(right.astype("float32"))
    return found


def main(steps: int) -> None:
    """Train on English, then on source: by thin matrices. Print perplexities of both."""
    mx.random.seed(1)
    draw, code = numpy.random.default_rng(1), source()
    train, held_out = code[:-20_000], code[-20_000:]
    net = gpt.GPT()
    net.initialize(mx.init.Xavier())
    net.hybridize()
    gpt.learn(net, steps, steps)
    print(f"before: English {gpt.perplexity(net, gpt.held_out):.2f}, source {gpt.perplexity(net, held_out):.2f}")

    params = net.collect_params()
    weights = {name: p.data().as_np_ndarray() for name, p in params.items()}
    thin = adapters(params, draw)
    loss_of = gluon.loss.SoftmaxCrossEntropyLoss()

    def changed(thin):
        return {name: weights[name] + np.dot(a, b) for name, (a, b) in thin.items()}

    def loss(thin, x, y):
        return loss_of(functional_call(net, changed(thin), x), y).mean()

    descent = jit(value_and_grad(loss))
    update = mx.optimizer.get_updater(mx.optimizer.Adam(learning_rate=0.005))
    for step in range(1, steps // 2 + 1):
        value, gradient = descent(thin, *gpt.batch(draw, train))
        for k, arrays in enumerate(zip(tree_leaves(gradient), tree_leaves(thin), strict=True)):
            update(k, *arrays)
        if step % max(steps // 8, 1) == 0:
            print(f"{step:4}: perplexity of a batch of source {float(np.exp(value)):.2f}", flush=True)
    share = sum(a.size + b.size for a, b in thin.values()) / sum(w.size for w in weights.values())
    after = gpt.perplexity(net, gpt.held_out)
    for name, weight in changed(thin).items():
        params[name].set_data(weight)
    print(f"with {100 * share:.0f} % as many numbers: source {gpt.perplexity(net, held_out):.2f}; without them: English {after:.2f}")
    print(net.write("def ", 200))


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--steps", type=int, default=240)
    main(parser.parse_args().steps)

"""Learns vectors of words from a text that comes with Python: words that occur beside the same words become neighbors.

    python examples/word_vectors.py [--epochs N] [--picture FILE]

The text is Python's help on its language and the documentation of its built-in types. A word's vector predicts the words around it, against
words drawn at random. The gradient of an embedding is sparse: an update touches the rows of the words that occur in the batch.

Source: Mikolov and others, "Distributed representations of words and phrases and their compositionality", NIPS 2013.
"""

import argparse
import builtins
import re
from collections import Counter
from pydoc_data.topics import topics

import numpy

import twofold as mx
from twofold import autograd, gluon, np
from twofold.gluon import nn

UNITS, WINDOW, OTHERS, BATCH, LEAST = 48, 5, 8, 512, 12
SHOWN = ("integer", "list", "exception", "module", "class", "argument")
#: Words that belong together, to measure by.
PAIRS = [("integer", "float"), ("list", "tuple"), ("try", "except"), ("if", "else"), ("keyword", "positional"), ("import", "module")]


def text() -> list[str]:
    """The words of the text."""
    described = [t.__doc__ or "" for t in vars(builtins).values() if isinstance(t, type)]
    methods = [m.__doc__ or "" for t in (int, str, list, dict, set, bytes, float) for m in vars(t).values()]
    return re.findall(r"[a-z]+", " ".join([*topics.values(), *described, *methods]).lower())


def examples(codes: numpy.ndarray, often: numpy.ndarray, draw: numpy.random.Generator) -> tuple[numpy.ndarray, numpy.ndarray]:
    """Pairs of words at most ``WINDOW`` apart (n,) and (n,). Of frequent words most are left out."""
    codes = codes[draw.random(len(codes)) < numpy.sqrt(1e-3 / often[codes])]
    pairs = [(codes[:-k], codes[k:]) for k in range(1, WINDOW + 1)]
    words = numpy.concatenate([part for a, b in pairs for part in (a, b)])
    around = numpy.concatenate([part for a, b in pairs for part in (b, a)])
    order = draw.permutation(len(words))
    return words[order], around[order]


class SkipGram(gluon.HybridBlock):
    """Words (n,) and, for each, words that may be beside it (n, m), to scores (n, m)."""

    def __init__(self, count: int) -> None:
        super().__init__()
        with self.name_scope():
            self.inside = nn.Embedding(count, UNITS, sparse_grad=True)
            self.around = nn.Embedding(count, UNITS, sparse_grad=True)

    def hybrid_forward(self, F, words, others):
        """The products of their vectors."""
        return (F.np.expand_dims(self.inside(words), 1) * self.around(others)).sum(axis=2)


def main(epochs: int, picture: str | None) -> None:
    """Train, and print the neighbors of some words, and how near words are that belong together."""
    mx.random.seed(1)
    draw, words = numpy.random.default_rng(1), text()
    counts = Counter(words)
    names = sorted(name for name, count in counts.items() if count >= LEAST)
    place = {name: k for k, name in enumerate(names)}
    codes = numpy.array([place[w] for w in words if w in place])
    often = numpy.array([counts[name] for name in names]) / len(codes)
    likely = often**0.75 / (often**0.75).sum()
    print(f"{len(codes)} words, {len(names)} different")
    net = SkipGram(len(names))
    net.initialize(mx.init.Uniform(0.5 / UNITS))
    net.hybridize()
    loss_of = gluon.loss.SigmoidBCELoss()
    trainer = gluon.Trainer(net.collect_params(), "adam", {"learning_rate": 0.005, "lazy_update": True})
    isright = np.array(numpy.eye(1 + OTHERS)[[0] * BATCH].astype("float32"))
    for epoch in range(1, epochs + 1):
        inside, around = examples(codes, often, draw)
        total = np.zeros(())
        for k in range(0, len(inside) - BATCH, BATCH):
            random = draw.choice(len(names), (BATCH, OTHERS), p=likely)
            others = np.array(numpy.column_stack([around[k : k + BATCH], random]))
            with autograd.record():
                loss = loss_of(net(np.array(inside[k : k + BATCH]), others), isright).mean()
            loss.backward()
            trainer.step(1)
            total += loss
        if epoch % max(epochs // 5, 1) == 0:
            print(f"epoch {epoch}: loss {float(total) / (k // BATCH + 1):.4f}", flush=True)
    vectors = net.inside.weight.data().asnumpy()
    vectors -= vectors.mean(axis=0)
    vectors /= numpy.linalg.norm(vectors, axis=1, keepdims=True)
    for word in SHOWN:
        near = numpy.argsort(vectors @ vectors[place[word]])[::-1][1:7]
        print(f"{word}: {', '.join(names[k] for k in near)}")
    rank = [(vectors @ vectors[place[a]] > vectors[place[a]] @ vectors[place[b]]).sum() for a, b in PAIRS]
    print(f"words that belong together: the nearest or {numpy.median(rank):.0f}th nearest of {len(names)}, in the median")
    if picture:
        plot(picture, vectors, names, often)


def plot(file: str, vectors: numpy.ndarray, names: list[str], often: numpy.ndarray) -> None:
    """Draw frequent long words in the plane of the two largest principal components."""
    import matplotlib.pyplot as plt

    shown = [k for k in numpy.argsort(often)[::-1] if len(names[k]) > 4][:70]
    points = vectors[shown] @ numpy.linalg.svd(vectors[shown] - vectors[shown].mean(axis=0), full_matrices=False)[2][:2].T
    points = (points - points.min(axis=0)) / numpy.ptp(points, axis=0)
    figure, where = plt.subplots(figsize=(7, 4.5), layout="constrained")
    placed = []
    for point, k in zip(points, shown, strict=True):
        # the more frequent of two words that would overlap
        if not any((abs(point - other) < (0.13, 0.04)).all() for other in placed):
            where.text(*point, names[k], fontsize=10, ha="center", va="center")
            placed.append(point)
    where.set(xlim=(-0.1, 1.1), ylim=(-0.05, 1.05), xticks=[], yticks=[])
    figure.savefig(file, dpi=80)


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--epochs", type=int, default=3)
    parser.add_argument("--picture")
    main(**vars(parser.parse_args()))

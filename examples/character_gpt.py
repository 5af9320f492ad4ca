"""Trains a small GPT on text that comes with Python, character by character, and lets it write as it learns.

    python examples/character_gpt.py [--steps N]

The text is Python's help on its own language, as in ``help("FOR")``. The network is a decoder of transformer layers; it writes with a cache
of keys and values, so that each character costs one step. Perplexity is the number of characters among which the network is in doubt.
"""

import argparse
from pydoc_data.topics import topics

import numpy

import twofold as mx
from twofold import autograd, gluon, np
from twofold.gluon import nn

LENGTH, BATCH = 64, 16
text = " ".join(" ".join(topics[name] for name in sorted(topics)).split())
alphabet = sorted(set(text))
codes = numpy.searchsorted(alphabet, list(text)).astype("int32")
train, held_out = codes[:-20_000], codes[-20_000:]


class GPT(gluon.HybridBlock):
    """Characters, as numbers (batch, length), to scores of the next ones (batch, length, characters)."""

    def __init__(self, layers: int = 3, units: int = 96, heads: int = 4) -> None:
        super().__init__()
        with self.name_scope():
            self.embedding = nn.Embedding(len(alphabet), units)
            self.layers = nn.HybridSequential()
            for _ in range(layers):
                options = {"causal": True, "rotary": True, "activation": "gelu", "pre_norm": True, "dropout": 0}
                self.layers.add(nn.TransformerEncoderLayer(units, heads, 4 * units, **options))
            self.norm, self.scores = nn.LayerNorm(), nn.Dense(len(alphabet), flatten=False)

    def hybrid_forward(self, F, x):
        """The scores of the characters that may follow each of x."""
        return self.scores(self.norm(self.layers(self.embedding(x))))

    def write(self, beginning: str, count: int, temperature: float = 0.7) -> str:
        """Go on with a text, by drawing one character after the other."""
        draw, found, caches = numpy.random.default_rng(1), beginning, []
        for _ in range(count):
            if not caches or caches[0].filled == LENGTH:
                # at the end of the length that the network knows, it reads the last half again
                caches = [layer.attention.new_cache(1, LENGTH) for layer in self.layers]
                following = found[-LENGTH // 2 :]
            x = self.embedding(mx.nd.array([[alphabet.index(c) for c in following]]))
            for k, layer in enumerate(self.layers):
                x, caches[k] = layer.decode(x, caches[k])
            scores = self.scores(self.norm(x))[0, -1].asnumpy().astype("float64") / temperature
            likely = numpy.exp(scores - scores.max())
            following = draw.choice(alphabet, p=likely / likely.sum())
            found += following
        return found


def batch(draw: numpy.random.Generator, of: numpy.ndarray, size: int = BATCH) -> tuple[mx.np.ndarray, mx.np.ndarray]:
    """Random parts (size, LENGTH) of a text, and the same one character later."""
    places = draw.integers(len(of) - LENGTH, size=size)[:, None] + numpy.arange(LENGTH)
    return np.array(of[places]), np.array(of[places + 1])


def perplexity(net: GPT, of: numpy.ndarray) -> float:
    """Of a network on random parts of a text."""
    x, y = batch(numpy.random.default_rng(0), of, 128)
    return float(np.exp(gluon.loss.SoftmaxCrossEntropyLoss()(net(x), y).mean()))


def learn(net: GPT, steps: int, report: int, rate: float = 3e-3) -> None:
    """Train by AdamW, and write a line every ``report`` steps."""
    draw, loss_of = numpy.random.default_rng(0), gluon.loss.SoftmaxCrossEntropyLoss()
    schedule = mx.lr_scheduler.CosineScheduler(steps, rate, final_lr=rate / 20, warmup_steps=20)
    trainer = gluon.Trainer(net.collect_params(), "adamw", {"learning_rate": rate, "lr_scheduler": schedule, "wd": 0.01})
    for step in range(1, steps + 1):
        x, y = batch(draw, train)
        with autograd.record():
            loss = loss_of(net(x), y).mean()
        loss.backward()
        gluon.utils.clip_global_norm([p.grad() for p in net.collect_params().values()], 1)
        trainer.step(1)
        if step % report == 0:
            print(f"{step:4}: perplexity {perplexity(net, held_out):5.2f} | {net.write('The ', 70)}", flush=True)


def main(steps: int) -> None:
    """Train, write as the network learns, and compare with a table of pairs of characters."""
    mx.random.seed(1)
    pairs = numpy.full((len(alphabet), len(alphabet)), 0.1)
    numpy.add.at(pairs, (train[:-1], train[1:]), 1)
    likelihood = (pairs / pairs.sum(axis=1, keepdims=True))[held_out[:-1], held_out[1:]]
    print(f"{len(text)} characters, {len(alphabet)} different; perplexity of pairs: {numpy.exp(-numpy.log(likelihood).mean()):.2f}")
    net = GPT()
    net.initialize(mx.init.Xavier())
    net.hybridize()
    learn(net, steps, max(steps // 6, 1))
    print(f"\n{net.write('The ', 400)}")


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--steps", type=int, default=360)
    main(parser.parse_args().steps)

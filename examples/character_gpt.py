"""Trains a small GPT on text that comes with Python, character by character, and lets it write as it learns.

    python examples/character_gpt.py [--steps N] [--tokens N]

The text is Python's help on its own language, as in ``help("FOR")``. The network is a decoder of transformer layers; it writes with a cache
of keys and values, so that each character costs one step. Perplexity is the number of characters among which the network is in doubt.
With ``--tokens N`` it reads and writes N frequent parts of words instead, which the library tokenizers finds.
"""

import argparse
from collections.abc import Sequence
from pydoc_data.topics import topics
from typing import Protocol

import numpy

import twofold as mx
from twofold import autograd, gluon, np
from twofold.errors import MissingDependency
from twofold.gluon import nn

LENGTH, BATCH = 64, 16
text = " ".join(" ".join(topics[name] for name in sorted(topics)).split())
alphabet = sorted(set(text))
codes = numpy.searchsorted(alphabet, list(text)).astype("int32")
train, held_out = codes[:-20_000], codes[-20_000:]


class Codec(Protocol):
    """Texts as numbers, and back."""

    size: int

    def encode(self, text: str) -> Sequence[int]:
        """The numbers of a text."""
        ...

    def decode(self, numbers: Sequence[int]) -> str:
        """The text of numbers."""
        ...


class Characters:
    """Each character is one number."""

    size = len(alphabet)

    def encode(self, text: str) -> list[int]:
        """The numbers of a text."""
        return [alphabet.index(c) for c in text]

    def decode(self, numbers: Sequence[int]) -> str:
        """The text of numbers."""
        return "".join(alphabet[k] for k in numbers)


class PartsOfWords:
    """Pairs that are frequent in a text are joined, and pairs of these, until there are so many parts: byte pair encoding."""

    def __init__(self, text: str, size: int) -> None:
        try:
            from tokenizers import ByteLevelBPETokenizer
        except ImportError as error:
            raise MissingDependency.of("tokenizers", "--tokens", "twofold[text]") from error
        self.pairs = ByteLevelBPETokenizer()
        self.pairs.train_from_iterator([text], vocab_size=size, show_progress=False)
        self.size = self.pairs.get_vocab_size()

    def encode(self, text: str) -> list[int]:
        """The numbers of a text."""
        return self.pairs.encode(text).ids

    def decode(self, numbers: Sequence[int]) -> str:
        """The text of numbers."""
        return self.pairs.decode(list(numbers))


class GPT(gluon.HybridBlock):
    """Characters or parts of words, as numbers (batch, length), to scores of the next ones (batch, length, size)."""

    def __init__(self, codec: Codec | None = None, layers: int = 3, units: int = 96, heads: int = 4) -> None:
        super().__init__()
        self.codec = codec or Characters()
        with self.name_scope():
            self.embedding = nn.Embedding(self.codec.size, units)
            self.layers = nn.HybridSequential()
            for _ in range(layers):
                options = {"causal": True, "rotary": True, "activation": "gelu", "pre_norm": True, "dropout": 0}
                self.layers.add(nn.TransformerEncoderLayer(units, heads, 4 * units, **options))
            self.norm, self.scores = nn.LayerNorm(), nn.Dense(self.codec.size, flatten=False)

    def hybrid_forward(self, F, x):
        """The scores of what may follow each of x."""
        return self.scores(self.norm(self.layers(self.embedding(x))))

    def write(self, beginning: str, count: int, temperature: float = 0.7) -> str:
        """Go on with a text, by drawing one character or part after the other."""
        draw, caches = numpy.random.default_rng(1), []
        found = list(self.codec.encode(beginning))
        for _ in range(count):
            if not caches or caches[0].filled == LENGTH:
                # at the end of the length that the network knows, it reads the last half again
                caches = [layer.attention.new_cache(1, LENGTH) for layer in self.layers]
                following = found[-LENGTH // 2 :]
            x = self.embedding(mx.nd.array([following]))
            for k, layer in enumerate(self.layers):
                x, caches[k] = layer.decode(x, caches[k])
            scores = self.scores(self.norm(x))[0, -1].asnumpy().astype("float64") / temperature
            likely = numpy.exp(scores - scores.max())
            following = [int(draw.choice(len(likely), p=likely / likely.sum()))]
            found += following
        return self.codec.decode(found)


def batch(draw: numpy.random.Generator, of: numpy.ndarray, size: int = BATCH) -> tuple[mx.np.ndarray, mx.np.ndarray]:
    """Random parts (size, LENGTH) of a text, and the same one character later."""
    places = draw.integers(len(of) - LENGTH, size=size)[:, None] + numpy.arange(LENGTH)
    return np.array(of[places]), np.array(of[places + 1])


def perplexity(net: GPT, of: numpy.ndarray) -> float:
    """Of a network on random parts of a text, for each character."""
    x, y = batch(numpy.random.default_rng(0), of, 128)
    length = sum(len(net.codec.decode(row)) for row in y.asnumpy().tolist())
    return float(np.exp(gluon.loss.SoftmaxCrossEntropyLoss()(net(x), y).sum() * (LENGTH / length)))


def learn(net: GPT, steps: int, report: int, rate: float = 3e-3, train: numpy.ndarray = train, held_out: numpy.ndarray = held_out) -> None:
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


def main(steps: int, tokens: int) -> None:
    """Train, write as the network learns, and compare with a table of pairs of characters."""
    mx.random.seed(1)
    pairs = numpy.full((len(alphabet), len(alphabet)), 0.1)
    numpy.add.at(pairs, (train[:-1], train[1:]), 1)
    likelihood = (pairs / pairs.sum(axis=1, keepdims=True))[held_out[:-1], held_out[1:]]
    print(f"{len(text)} characters, {len(alphabet)} different; perplexity of pairs: {numpy.exp(-numpy.log(likelihood).mean()):.2f}")
    net, texts = GPT(), (train, held_out)
    if tokens:
        net = GPT(PartsOfWords(text[:-20_000], tokens))
        texts = tuple(numpy.array(net.codec.encode(part), "int32") for part in (text[:-20_000], text[-20_000:]))
        print(f"{net.codec.size} parts of words; one has {20_000 / len(texts[1]):.2f} characters")
    net.initialize(mx.init.Xavier())
    net.hybridize()
    learn(net, steps, max(steps // 6, 1), train=texts[0], held_out=texts[1])
    print(f"\n{net.write('The ', 400)}")


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--steps", type=int, default=360)
    parser.add_argument("--tokens", type=int, default=0)
    main(**vars(parser.parse_args()))

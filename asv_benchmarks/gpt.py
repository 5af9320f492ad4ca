"""One GPT in Twofold, torch and JAX: 6 layers, width 256, 8 heads, 256 positions, a batch of 8."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy

LAYERS, WIDTH, HEADS, LENGTH, BATCH, WORDS, RATE = 6, 256, 8, 256, 8, 96, 1e-3

#: What is trained to measure its memory; ``checkpoint`` is Twofold, whose layers are computed again.
WAYS = ("twofold", "checkpoint", "torch")


def data() -> tuple[numpy.ndarray, numpy.ndarray]:
    """Words (BATCH, LENGTH), and those that follow."""
    drawn = numpy.random.default_rng(0).integers(WORDS, size=(BATCH, LENGTH + 1)).astype("int32")
    return drawn[:, :-1], drawn[:, 1:]


class Twofold:
    """By layers of Gluon, hybridized."""

    def __init__(self, checkpoint: bool = False) -> None:
        import twofold as mx
        from twofold import gluon
        from twofold.gluon import nn

        class GPT(gluon.HybridBlock):
            def __init__(self) -> None:
                super().__init__()
                with self.name_scope():
                    self.embedding, self.positions = nn.Embedding(WORDS, WIDTH), nn.LearnedPositions(LENGTH, WIDTH)
                    self.layers = nn.HybridSequential()
                    for _ in range(LAYERS):
                        options = {"causal": True, "activation": "gelu", "pre_norm": True, "dropout": 0}
                        self.layers.add(nn.TransformerEncoderLayer(WIDTH, HEADS, 4 * WIDTH, **options))
                    self.norm, self.scores = nn.LayerNorm(), nn.Dense(WORDS, flatten=False)

            def hybrid_forward(self, F: Any, x: Any) -> Any:
                x = self.positions(self.embedding(x))
                if checkpoint:
                    for layer in self.layers:
                        x = mx.func.checkpoint(layer)(x)
                else:
                    x = self.layers(x)
                return self.scores(self.norm(x))

        mx.random.seed(1)
        self.mx, self.net, self.loss_of = mx, GPT(), gluon.loss.SoftmaxCrossEntropyLoss()
        self.net.initialize(mx.init.Normal(0.05))
        self.net(mx.nd.zeros((1, 2)))
        (self.net.layers if checkpoint else self.net).hybridize()
        self.trainer = gluon.Trainer(self.net.collect_params(), "adamw", {"learning_rate": RATE, "wd": 0.01})

    def weights(self) -> list[numpy.ndarray]:
        """All weights in the order of the layers."""
        return [p.data().asnumpy() for p in self.net.collect_params().values()]

    def step(self, x: numpy.ndarray, y: numpy.ndarray) -> float:
        """A step of training; returns the loss before it."""
        with self.mx.autograd.record():
            loss = self.loss_of(self.net(self.mx.nd.array(x)), self.mx.nd.array(y)).mean()
        loss.backward()
        self.trainer.step(1)
        self.mx.nd.waitall()
        return float(loss.asscalar())

    def generate(self, count: int) -> list[int]:
        """The likeliest words after word 0, one after the other."""
        nd, net, found = self.mx.nd, self.net, [0]
        caches = [layer.attention.new_cache(1, LENGTH) for layer in net.layers]
        for position in range(count):
            x = net.positions(net.embedding(nd.array([[found[-1]]])), nd.array([position]))
            for k, layer in enumerate(net.layers):
                x, caches[k] = layer.decode(x, caches[k])
            found.append(int(net.scores(net.norm(x))[0, 0].argmax(axis=0).asscalar()))
        return found


class Torch:
    """By modules of torch, eager."""

    def __init__(self) -> None:
        import torch
        from torch import nn

        torch.manual_seed(1)
        self.torch = torch

        class Layer(nn.Module):
            def __init__(self) -> None:
                super().__init__()
                self.query, self.key, self.value, self.out = (nn.Linear(WIDTH, WIDTH) for _ in range(4))
                self.first, self.second = nn.Linear(WIDTH, 4 * WIDTH), nn.Linear(4 * WIDTH, WIDTH)
                self.norms = nn.ModuleList([nn.LayerNorm(WIDTH), nn.LayerNorm(WIDTH)])

            def forward(self, x: Any, cache: Any = None) -> Any:
                h = self.norms[0](x)
                q, k, v = (f(h).unflatten(-1, (HEADS, -1)).transpose(1, 2) for f in (self.query, self.key, self.value))
                if cache is not None:
                    cache[0], cache[1] = (torch.cat([c, n], dim=2) for c, n in zip(cache, (k, v), strict=True))
                    k, v = cache
                a = nn.functional.scaled_dot_product_attention(q, k, v, is_causal=cache is None)
                x = x + self.out(a.transpose(1, 2).flatten(2))
                return x + self.second(nn.functional.gelu(self.first(self.norms[1](x))))

        class GPT(nn.Module):
            def __init__(self) -> None:
                super().__init__()
                self.embedding, self.positions = nn.Embedding(WORDS, WIDTH), nn.Parameter(torch.zeros(LENGTH, WIDTH))
                self.layers = nn.ModuleList([Layer() for _ in range(LAYERS)])
                self.norm, self.scores = nn.LayerNorm(WIDTH), nn.Linear(WIDTH, WORDS)

            def forward(self, x: Any) -> Any:
                x = self.embedding(x) + self.positions[: x.shape[1]]
                for layer in self.layers:
                    x = layer(x)
                return self.scores(self.norm(x))

        self.net = GPT()
        self.optimizer = torch.optim.AdamW(self.net.parameters(), lr=RATE, weight_decay=0.01)

    def _ordered(self) -> list[Any]:
        """The parameters in Twofold's order."""
        found = [self.net.embedding.weight, self.net.positions]
        for layer in self.net.layers:
            parts = (layer.first, layer.second, *layer.norms, layer.query, layer.key, layer.value, layer.out)
            found += [p for part in parts for p in (part.weight, part.bias)]
        return [*found, self.net.norm.weight, self.net.norm.bias, self.net.scores.weight, self.net.scores.bias]

    def take(self, weights: list[numpy.ndarray]) -> None:
        """Copy weights."""
        with self.torch.no_grad():
            for own, given in zip(self._ordered(), weights, strict=True):
                own.copy_(self.torch.tensor(given))

    def step(self, x: numpy.ndarray, y: numpy.ndarray, net: Any = None) -> float:
        """A step of training; returns the loss before it."""
        scores = (self.net if net is None else net)(self.torch.tensor(x).long())
        loss = self.torch.nn.functional.cross_entropy(scores.flatten(0, 1), self.torch.tensor(y).long().flatten())
        self.optimizer.zero_grad()
        loss.backward()
        self.optimizer.step()
        return float(loss.detach())

    def compiled(self) -> Any:
        """The step by ``torch.compile``; None if it cannot compile here."""
        net = self.torch.compile(self.net)
        try:
            self.step(*data(), net)
        except Exception as error:  # whatever its compilers raise
            print(f"torch.compile: {str(error).splitlines()[0]}")
            return None
        return partial(self.step, net=net)

    def generate(self, count: int) -> list[int]:
        """As `Twofold.generate`."""
        torch, found = self.torch, [0]
        empty = torch.zeros(1, HEADS, 0, WIDTH // HEADS)
        caches = [[empty, empty] for _ in range(LAYERS)]
        with torch.inference_mode():
            for position in range(count):
                x = self.net.embedding(torch.tensor([[found[-1]]])) + self.net.positions[position]
                for layer, cache in zip(self.net.layers, caches, strict=True):
                    x = layer(x, cache)
                found.append(int(self.net.scores(self.net.norm(x))[0, 0].argmax()))
        return found


class Jax:
    """By functions of JAX: one program for a whole step."""

    def take(self, weights: list[numpy.ndarray]) -> None:
        """Copy weights, and compile."""
        import jax
        from jax import numpy as jnp

        self.params = [jnp.array(w) for w in weights]
        zeros = [jnp.zeros_like(w) for w in self.params]
        self.state = zeros, zeros, jnp.zeros(())

        def dense(x: Any, w: Any, b: Any) -> Any:
            return x @ w.T + b

        def norm(x: Any, scale: Any, shift: Any) -> Any:
            return (x - x.mean(-1, keepdims=True)) * jax.lax.rsqrt(x.var(-1, keepdims=True) + 1e-5) * scale + shift

        def loss(params: Any, x: Any, y: Any) -> Any:
            rest = iter(params)
            x = next(rest)[x] + next(rest)[: x.shape[1]]
            for _ in range(LAYERS):
                w = [next(rest) for _ in range(16)]
                h = norm(x, *w[4:6])
                q, k, v = (dense(h, *w[n : n + 2]).reshape(*h.shape[:2], HEADS, -1) for n in (8, 10, 12))
                x = x + dense(jax.nn.dot_product_attention(q, k, v, is_causal=True).reshape(h.shape), *w[14:])
                x = x + dense(jax.nn.gelu(dense(norm(x, *w[6:8]), *w[:2]), approximate=False), *w[2:4])
            x = norm(x, next(rest), next(rest))
            logs = jax.nn.log_softmax(dense(x, next(rest), next(rest)))
            return -jnp.take_along_axis(logs, y[..., None], -1).mean()

        @jax.jit
        def step(params: Any, state: Any, x: Any, y: Any) -> Any:
            value, grads = jax.value_and_grad(loss)(params, x, y)
            m = [0.9 * a + 0.1 * g for a, g in zip(state[0], grads, strict=True)]
            v = [0.999 * a + 0.001 * g * g for a, g in zip(state[1], grads, strict=True)]
            t = state[2] + 1
            moved = [
                w - RATE * (a / (1 - 0.9**t) / (jnp.sqrt(b / (1 - 0.999**t)) + 1e-8) + 0.01 * w)
                for w, a, b in zip(params, m, v, strict=True)
            ]
            return value, moved, (m, v, t)

        self._step = step

    def step(self, x: numpy.ndarray, y: numpy.ndarray) -> float:
        """A step of training; returns the loss before it."""
        value, self.params, self.state = self._step(self.params, self.state, x, y)
        self.params[0].block_until_ready()
        return float(value)

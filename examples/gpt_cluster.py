"""Trains the GPT of ``character_gpt.py`` in two processes, each on its half of every batch.

    python -m twofold launch -n 2 examples/gpt_cluster.py [--steps N]

The store sums the gradients of both while backward goes on, so both networks stay equal, which is checked at the end.
"""

import argparse

import character_gpt as gpt
import numpy

import twofold as mx
from twofold import autograd, gluon


def main(steps: int) -> None:
    """Train; worker 0 prints perplexities, and what the network writes."""
    store = mx.kv.create("dist_sync")
    mx.random.seed(1)
    net, loss_of = gpt.GPT(), gluon.loss.SoftmaxCrossEntropyLoss()
    net.initialize(mx.init.Xavier())
    net.hybridize()
    trainer = gluon.Trainer(net.collect_params(), "adamw", {"learning_rate": 0.002}, kvstore=store)
    draw = numpy.random.default_rng(store.rank)
    for step in range(1, steps + 1):
        x, y = gpt.batch(draw, gpt.train, gpt.BATCH // store.num_workers)
        with autograd.record():
            loss = loss_of(net(x), y).mean()
        loss.backward()
        trainer.step(store.num_workers)
        if store.rank == 0 and step % max(steps // 5, 1) == 0:
            print(f"{step:4}: perplexity {gpt.perplexity(net, gpt.held_out):5.2f}", flush=True)
    weights = mx.nd.concat(*[p.data().reshape(-1) for p in net.collect_params().values()], dim=0)
    total, counts = weights.copy(), mx.kv.create("dist_sync")
    counts.init("weights", mx.nd.zeros(weights.shape))
    counts.pushpull("weights", total)
    apart = abs(total / store.num_workers - weights).max().asscalar()
    if store.rank == 0:
        print(f"{store.num_workers} workers; their weights differ by {apart:.1e}\n{net.write('The ', 200)}")


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--steps", type=int, default=120)
    main(parser.parse_args().steps)

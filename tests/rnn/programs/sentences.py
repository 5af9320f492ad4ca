"""Words as numbers, and batches of sentences."""

from __future__ import annotations

import random
from typing import Any

import numpy as np

from tests.oracle_programs import fails

WORDS = [["a", "b", "c"], ["b", "d"], ["a"]]
SENTENCES = [list(range(k, k + n)) for k, n in ((0, 3), (5, 2), (7, 5), (1, 3), (2, 4), (3, 2), (4, 8), (9, 3), (0, 1), (6, 2))]


def words_as_numbers(mx):
    encode = mx.rnn.encode_sentences
    return [
        encode(WORDS),
        encode(WORDS, start_label=1, invalid_label=0),
        encode(WORDS, invalid_key="*", invalid_label=2),
        encode(WORDS, vocab={"a": 4, "b": 5, "c": 6, "d": 7}),
        encode(WORDS, vocab={"a": 0, "b": 1}, unknown_token="<unk>"),
        encode(WORDS, unknown_token="u", invalid_label=2),
        fails(lambda: encode(WORDS, vocab={"a": 0})),
    ]


def _described(batches: Any) -> Any:
    return [[d.name, list(d.shape), np.dtype(d.dtype).name, d.layout] for d in batches]


def _epochs(batches: Any) -> Any:
    found = []
    for _ in range(2):
        found.append(
            [[b.bucket_key, b.pad, b.data[0], b.label[0], _described(b.provide_data), _described(b.provide_label)] for b in batches]
        )
        batches.reset()
    return found


def batches_in_buckets(mx):
    found = []
    for kwargs in (
        {"buckets": [5, 3]},
        {},
        {"buckets": [3, 5, 7, 9], "layout": "TN", "invalid_label": 0, "data_name": "d", "label_name": "l", "dtype": "int32"},
    ):
        random.seed(3)
        np.random.seed(3)  # noqa: NPY002
        batches = mx.rnn.BucketSentenceIter(SENTENCES, 2, **kwargs)
        facts = [batches.buckets, batches.default_bucket_key, batches.batch_size, batches.idx, [list(rows.shape) for rows in batches.data]]
        found.append([facts, _described(batches.provide_data), _described(batches.provide_label), _epochs(batches)])
    return found


def wrong_layouts_and_empty_buckets_are_errors(mx):
    make = mx.rnn.BucketSentenceIter
    return [fails(lambda: make(SENTENCES, 2, layout="TC")), fails(lambda: make(SENTENCES, 20))]


def language_model(mx):
    """The perplexity after each of a few epochs, and the parameters, with buckets of two lengths."""
    sentences = [[(3 * k + j) % 7 + 1 for j in range(2 + k % 4)] for k in range(24)]
    random.seed(1)
    np.random.seed(1)  # noqa: NPY002
    batches = mx.rnn.BucketSentenceIter(sentences, 4, buckets=[3, 5], invalid_label=0)
    stack = mx.rnn.SequentialRNNCell()
    stack.add(mx.rnn.LSTMCell(6, prefix="l0_"))
    stack.add(mx.rnn.GRUCell(6, prefix="l1_"))

    def network(length):
        data, label = mx.sym.Variable("data"), mx.sym.Variable("softmax_label")
        embedded = mx.sym.Embedding(data, input_dim=8, output_dim=5, name="embed")
        stack.reset()
        outputs, _ = stack.unroll(length, inputs=embedded, merge_outputs=True)
        scores = mx.sym.FullyConnected(mx.sym.reshape(outputs, shape=(-1, 6)), num_hidden=8, name="pred")
        return (
            mx.sym.SoftmaxOutput(scores, mx.sym.reshape(label, shape=(-1,)), use_ignore=True, ignore_label=0, name="softmax"),
            ("data",),
            ("softmax_label",),
        )

    model = mx.mod.BucketingModule(network, default_bucket_key=batches.default_bucket_key)
    model.bind(batches.provide_data, batches.provide_label)
    shapes = {name: array.shape for name, array in model._curr_module._exec_group.execs[0].arg_dict.items()}
    values = {n: mx.nd.array(np.random.RandomState(k).uniform(-0.5, 0.5, shapes[n])) for k, n in enumerate(sorted(shapes))}
    model.init_params(arg_params={n: v for n, v in values.items() if n not in ("data", "softmax_label")})
    model.init_optimizer(optimizer="sgd", optimizer_params={"learning_rate": 0.5, "momentum": 0.9, "rescale_grad": 1 / 4})
    perplexity, found = mx.metric.Perplexity(0), []
    for _ in range(3):
        batches.reset()
        perplexity.reset()
        for batch in batches:
            model.forward_backward(batch)
            model.update()
            model.update_metric(perplexity, batch.label)
        found.append(perplexity.get()[1])
    return [found, model.get_params()[0]]

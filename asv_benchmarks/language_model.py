"""An LSTM language model of sentences in buckets, by Twofold or MXNet."""

from __future__ import annotations

from typing import Any


def language_model(mx: Any, way: str, batches: Any, words: int, hidden: int) -> Any:
    """A bound module of two LSTM layers with an optimizer; ``way`` is ``"fused"`` for one operator, else cells."""
    fused = mx.rnn.FusedRNNCell(hidden, num_layers=2, mode="lstm", prefix="lstm_")
    stack = fused if way == "fused" else fused.unfuse()

    def network(length: int) -> Any:
        embedded = mx.sym.Embedding(mx.sym.Variable("data"), input_dim=words, output_dim=hidden, name="embed")
        stack.reset()
        outputs, _ = stack.unroll(length, inputs=embedded, merge_outputs=True)
        scores = mx.sym.FullyConnected(mx.sym.reshape(outputs, shape=(-1, hidden)), num_hidden=words, name="pred")
        label = mx.sym.reshape(mx.sym.Variable("softmax_label"), shape=(-1,))
        return mx.sym.SoftmaxOutput(scores, label, use_ignore=True, ignore_label=0, name="softmax"), ("data",), ("softmax_label",)

    model = mx.mod.BucketingModule(network, default_bucket_key=batches.default_bucket_key)
    model.bind(batches.provide_data, batches.provide_label)
    model.init_params(mx.init.Xavier())
    model.init_optimizer(optimizer="sgd", optimizer_params={"learning_rate": 0.1, "momentum": 0.9})
    return model


def train(mx: Any, model: Any, batches: Any) -> int:
    """Train on all sentences once; return the number of words, padding included."""
    batches.reset()
    words = 0
    for batch in batches:
        model.forward_backward(batch)
        model.update()
        words += batch.data[0].size
    mx.nd.waitall()
    return words

"""An LSTM language model trained by `BucketingModule` on sentences in buckets: words per second, with cells and with one fused operator."""

import random
import statistics
import time

import numpy as np

import twofold as mx

HIDDEN, WORDS, BUCKETS = 100, 500, (8, 12, 16)


def sentences(count):
    """Random sentences of 5 to 16 words."""
    generator = np.random.default_rng(0)
    return [generator.integers(1, WORDS, length).tolist() for length in generator.integers(5, 17, count)]


def cells(way):
    """Two LSTM layers."""
    fused = mx.rnn.FusedRNNCell(HIDDEN, num_layers=2, mode="lstm", prefix="lstm_")
    return fused if way == "fused" else fused.unfuse()


def language_model(way, batches):
    """A bound module with an optimizer."""
    stack = cells(way)

    def network(length):
        embedded = mx.sym.Embedding(mx.sym.Variable("data"), input_dim=WORDS, output_dim=HIDDEN, name="embed")
        stack.reset()
        outputs, _ = stack.unroll(length, inputs=embedded, merge_outputs=True)
        scores = mx.sym.FullyConnected(mx.sym.reshape(outputs, shape=(-1, HIDDEN)), num_hidden=WORDS, name="pred")
        label = mx.sym.reshape(mx.sym.Variable("softmax_label"), shape=(-1,))
        return mx.sym.SoftmaxOutput(scores, label, use_ignore=True, ignore_label=0, name="softmax"), ("data",), ("softmax_label",)

    model = mx.mod.BucketingModule(network, default_bucket_key=batches.default_bucket_key)
    model.bind(batches.provide_data, batches.provide_label)
    model.init_params(mx.init.Xavier())
    model.init_optimizer(optimizer="sgd", optimizer_params={"learning_rate": 0.1, "momentum": 0.9})
    return model


class Bucketing:
    params = ("cells", "fused")
    param_names = ("way",)

    def setup(self, way):
        random.seed(0)
        np.random.seed(0)  # noqa: NPY002
        self.batches = mx.rnn.BucketSentenceIter(sentences(600), 32, buckets=BUCKETS, invalid_label=0)
        self.model = language_model(way, self.batches)
        for _ in range(2):  # the second visit of a bucket compiles
            self.epoch()

    def epoch(self):
        """Train on all sentences; return the number of words, padding included."""
        self.batches.reset()
        words = 0
        for batch in self.batches:
            self.model.forward_backward(batch)
            self.model.update()
            words += batch.data[0].size
        mx.nd.waitall()
        return words

    def track_words_per_second(self, way):
        speeds = []
        for _ in range(5):
            start = time.perf_counter()
            words = self.epoch()
            speeds.append(words / (time.perf_counter() - start))
        return statistics.median(speeds)

    track_words_per_second.unit = "words/s"

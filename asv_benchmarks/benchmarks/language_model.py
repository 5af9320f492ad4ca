"""An LSTM language model trained by `BucketingModule` on sentences in buckets: words per second, with cells and with one fused operator."""

import random
import statistics
import time

import numpy as np

import twofold as mx
from asv_benchmarks import language_model as lstm

HIDDEN, WORDS, BUCKETS = 100, 500, (8, 12, 16)


def sentences(count):
    """Random sentences of 5 to 16 words."""
    generator = np.random.default_rng(0)
    return [generator.integers(1, WORDS, length).tolist() for length in generator.integers(5, 17, count)]


def language_model(way, batches):
    """A bound module with an optimizer. `Bucketing.setup` stays as it is: asv tells by its text which figures it can compare."""
    return lstm.language_model(mx, way, batches, WORDS, HIDDEN)


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
        return lstm.train(mx, self.model, self.batches)

    def track_words_per_second(self, way):
        speeds = []
        for _ in range(5):
            start = time.perf_counter()
            words = self.epoch()
            speeds.append(words / (time.perf_counter() - start))
        return statistics.median(speeds)

    track_words_per_second.unit = "words/s"

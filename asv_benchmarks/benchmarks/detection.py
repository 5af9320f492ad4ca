"""Object detection: non-maximum suppression of many boxes, against the usual loop over the boxes that are kept."""

import numpy as np

import twofold as mx


def boxes(count, size, spread):
    """Rows (class, score, box) of boxes of about ``size`` pixels in a square of ``spread``."""
    generator = np.random.default_rng(0)
    corner = generator.random((count, 2)) * spread
    extent = size * (0.5 + generator.random((count, 2)))
    score = (generator.permutation(count)[:, None] + 1) / count
    return np.concatenate([generator.integers(0, 20, (count, 1)), score, corner, corner + extent], 1).astype("float32")


def greedy(rows, threshold):
    """The boxes that are kept, one after the other."""
    rows = rows[np.argsort(-rows[:, 1], kind="stable")]
    left, top, right, bottom = rows[:, 2:].T
    area = (right - left) * (bottom - top)
    order, kept = np.arange(len(rows)), []
    while len(order):
        best, others = order[0], order[1:]
        kept.append(best)
        width = np.maximum(np.minimum(right[best], right[others]) - np.maximum(left[best], left[others]), 0)
        height = np.maximum(np.minimum(bottom[best], bottom[others]) - np.maximum(top[best], top[others]), 0)
        shared = width * height
        order = others[shared / (area[best] + area[others] - shared) <= threshold]
    return rows[kept]


class Suppression:
    """`box_nms` of 10,000 boxes: many that overlap, and few."""

    params = ([(64, 640), (32, 2000)],)
    param_names = ("size and spread",)

    def setup(self, place):
        self.rows = boxes(10_000, *place)
        self.x = mx.nd.array(self.rows)

    def time_twofold(self, place):
        mx.nd.contrib.box_nms(self.x, overlap_thresh=0.5).wait_to_read()

    def time_numpy(self, place):
        greedy(self.rows, 0.5)

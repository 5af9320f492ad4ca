"""Boxes: suppression by its definition, boxes that are no boxes, and what detectors cannot be given."""

import numpy as np
import pytest

import twofold as mx
from asv_benchmarks.benchmarks.detection import boxes, greedy
from twofold import autograd, gluon, nd
from twofold.ops.suppression import above, kept


def nms(rows, **params):
    return nd.contrib.box_nms(nd.array(rows), **params).asnumpy()


@pytest.mark.parametrize(("size", "spread"), [(60, 300), (20, 600), (200, 100)])
def test_suppression_is_that_of_a_greedy_loop(size, spread):
    rows = boxes(700, size, spread)
    found, want = nms(rows, overlap_thresh=0.4), greedy(rows, np.float32(0.4))
    np.testing.assert_array_equal(found[: len(want)], want)
    assert (found[len(want) :] == -1).all()


@pytest.mark.parametrize("count", [1, 127, 128, 129, 500])
def test_classes_are_suppressed_apart(count):
    rows = boxes(count, 60, 200)
    found = nms(rows, overlap_thresh=0.3, id_index=0)
    apart = [greedy(rows[rows[:, 0] == k], np.float32(0.3)) for k in range(20)]
    want = np.concatenate(apart)
    np.testing.assert_array_equal(found[: len(want)], want[np.argsort(-want[:, 1], kind="stable")])


def test_few_boxes_of_many_classes_are_compared_in_one_step():
    comparisons, rows = [], boxes(100, 60, 200)

    def suppresses(np, shared, union):
        comparisons.append(shared.shape)
        return above(0.3)(np, shared, union)

    kept(np, rows[:, 2:], rows[:, 0], suppresses)
    assert comparisons == [(100, 100)]


@pytest.mark.parametrize(
    ("params", "want"),
    [
        ({"id_index": 0}, [0, 1, -2]),
        ({"id_index": 0, "force_suppress": True}, [0, 1, -2]),
        ({"id_index": 0, "background_id": 0}, [-1, 1, -2]),
        ({"id_index": 0, "background_id": -2}, [-1, 0, 1]),
        ({}, [-1, 0, 1, -2]),
        ({"background_id": 0}, [-1, 0, 1, -2]),
    ],
)
def test_boxes_of_the_background_are_dropped_which_is_class_minus_1_by_default(params, want):
    """The real MXNet's results; -1 is what `MultiBoxDetection` calls the boxes that it drops."""
    rows = [[-1, 0.9, 0, 0, 1, 1], [0, 0.8, 2, 2, 3, 3], [1, 0.7, 5, 5, 6, 6], [-1, 0.6, 0, 0, 1, 1.1], [-2, 0.5, 8, 8, 9, 9]]
    found = nms(rows, **params)[:, :2]
    assert found[found[:, 1] > 0, 0].tolist() == want


def test_chains_of_suppression():
    # each box overlaps its two neighbors: every other one is kept
    left = np.arange(1000, dtype="float32") * 0.4
    rows = np.stack([left * 0, 1000 - left, left, left * 0, left + 1, left * 0 + 1], 1)
    found = nms(rows, overlap_thresh=0.3)
    np.testing.assert_array_equal(found[:500], rows[::2])


def test_infinite_and_nan_boxes_are_kept_and_suppress_nothing():
    rows = np.array([[0, 0.9, -np.inf, 0, np.inf, 1], [0, 0.8, 0, 0, 1, np.nan], [0, 0.7, 0, 0, 1, 1]], "float32")
    np.testing.assert_array_equal(nms(rows, overlap_thresh=0.1), rows)


def test_nan_boxes_have_no_overlap_that_is_a_number_and_empty_regions():
    boxes = nd.array([[0, 0, 2, 2], [np.nan, 0, 1, 1]])
    found = nd.contrib.box_iou(boxes, nd.array([[0, 0, 1, 1], [0, 0, np.nan, 2]])).asnumpy()
    assert found[0, 0] == 0.25
    assert np.isnan(found).tolist() == [[False, True], [True, True]]
    image, region = nd.arange(16).reshape((1, 1, 4, 4)), nd.array([[0, np.nan, 0, 2, 2]])
    for pooled in (nd.ROIPooling, nd.contrib.ROIAlign):
        assert pooled(image, region, pooled_size=(1, 1), spatial_scale=1).asnumpy().item() == 0
    assert nd.contrib.bipartite_matching(nd.array([[0.5, np.nan], [0.1, 0.9]]), threshold=0.05)[0].asnumpy().tolist() == [0, 1]


def test_no_boxes():
    assert nms(np.zeros((0, 6), "float32")).shape == (0, 6)
    assert (nms(np.zeros((2, 3, 6), "float32")) == -1).all()


def test_matching_takes_chains_apart():
    # every row prefers the column of the next better row
    n = 30
    score = np.array([[2.0 - r / n - abs(r - c) * 1e-3 if c <= r else 0.001 for c in range(n)] for r in range(n)], "float32")
    rows, columns = (a.asnumpy() for a in nd.contrib.bipartite_matching(nd.array(score), threshold=0.01))
    free, want = set(range(n)), np.full(n, -1)
    for place in np.argsort(-score, axis=None, kind="stable"):
        r, c = divmod(int(place), n)
        if want[r] < 0 and c in free and score[r, c] > 0.01:
            want[r] = c
            free.remove(c)
    np.testing.assert_array_equal(rows, want)
    assert all(columns[c] == r for r, c in enumerate(want) if c >= 0)


def test_decoding_inverts_encoding():
    rng = np.random.default_rng(0)
    corner = rng.random((2, 5, 2))
    anchors = np.concatenate([corner[:1], corner[:1] + 0.2 + rng.random((1, 5, 2))], -1).astype("float32")
    refs = np.concatenate([corner, corner + 0.2 + rng.random((2, 5, 2))], -1).astype("float32")
    ones, places = nd.ones((2, 5)), nd.array(np.tile(np.arange(5), (2, 1)))
    stds = nd.array([0.1, 0.1, 0.2, 0.2])
    pair = nd.array(np.concatenate([anchors, anchors]))
    targets, masks = nd.contrib.box_encode(ones, places, pair, nd.array(refs), nd.zeros((4,)), stds)
    found = nd.contrib.box_decode(targets, nd.array(anchors), std0=0.1, std1=0.1, std2=0.2, std3=0.2, format="corner")
    np.testing.assert_allclose(found.asnumpy(), refs, rtol=1e-4, atol=1e-5)
    assert (masks.asnumpy() == 1).all()


@pytest.mark.parametrize(
    ("call", "text"),
    [
        (lambda: nd.contrib.box_nms(nd.zeros((3, 5))), "the columns of a row"),
        (lambda: nd.contrib.box_iou(nd.zeros((3, 5)), nd.zeros((3, 4))), "four numbers"),
        (lambda: nd.contrib.box_decode(nd.zeros((1, 3, 4)), nd.zeros((1, 2, 4))), "anchors do not match"),
        (lambda: nd.contrib.bipartite_matching(nd.zeros((3,)), threshold=0.1), "matrix"),
        (lambda: nd.contrib.MultiBoxPrior(nd.zeros((1, 1, 2, 2)), sizes=(0.5, -1)), "positive"),
        (lambda: nd.contrib.MultiBoxTarget(nd.zeros((1, 3, 4)), nd.zeros((1, 2, 5)), nd.zeros((1, 2, 4))), "anchors do not match"),
        (lambda: nd.contrib.MultiBoxDetection(nd.zeros((1, 2, 3)), nd.zeros((1, 11)), nd.zeros((1, 3, 4))), "shapes do not match"),
        (lambda: nd.contrib.Proposal(nd.zeros((1, 6, 2, 2)), nd.zeros((1, 12, 2, 2)), nd.zeros((1, 3))), "24"),
    ],
)
def test_wrong_shapes_are_named(call, text):
    with pytest.raises(mx.MXNetError, match=text):
        call()


class Head(gluon.HybridBlock):
    """Anchors and class scores of a feature map, as in SSD tutorials."""

    def __init__(self):
        super().__init__()
        with self.name_scope():
            self.classes = gluon.nn.Conv2D(3 * 2, 3, padding=1)
            self.places = gluon.nn.Conv2D(3 * 4, 3, padding=1)

    def hybrid_forward(self, F, x):
        anchors = F.contrib.MultiBoxPrior(x, sizes=[0.3, 0.5], ratios=[1, 2])
        classes = F.reshape(F.transpose(self.classes(x), (0, 2, 3, 1)), (0, -1, 2))
        return anchors, classes, F.flatten(F.transpose(self.places(x), (0, 2, 3, 1)))


@pytest.mark.parametrize("hybrid", [False, True])
def test_a_detector_is_trained(hybrid):
    mx.random.seed(0)
    x = nd.random.normal(shape=(2, 4, 6, 6))
    label = nd.array([[[0, 0.1, 0.1, 0.5, 0.5]], [[0, 0.4, 0.5, 0.9, 0.9]]])
    net = Head()
    net.initialize(mx.init.Xavier())
    if hybrid:
        net.hybridize()
    trainer = gluon.Trainer(net.collect_params(), "adam", {"learning_rate": 0.02})
    class_loss, box_loss, losses = gluon.loss.SoftmaxCrossEntropyLoss(), gluon.loss.L1Loss(), []
    for _ in range(60):
        with autograd.record():
            anchors, classes, places = net(x)
            with autograd.pause():
                targets = nd.contrib.MultiBoxTarget(anchors, label, nd.transpose(classes, (0, 2, 1)))
            loss = class_loss(classes, targets[2]) + box_loss(places * targets[1], targets[0] * targets[1])
        loss.backward()
        trainer.step(2)
        losses.append(float(loss.mean().asscalar()))
    assert losses[-1] < 0.1 * losses[0]
    found = nd.contrib.MultiBoxDetection(nd.softmax(nd.transpose(classes, (0, 2, 1)), axis=1), places, anchors).asnumpy()
    for k in range(2):
        best = found[k][found[k][:, 0] >= 0][0]
        np.testing.assert_allclose(best[2:], label[k, 0, 1:].asnumpy(), atol=0.12)

"""The boxes of SSD: anchors over a feature map, their targets for training, and detections from predictions.

Source: Liu et al., "SSD: single shot multibox detector", ECCV 2016. Boxes are in the format "corner", in units of the image.
"""

import math

from ..errors import ParameterError, ShapeError
from ..opdef import Floats, op
from .boxes import matched
from .suppression import kept

#: Overlaps below this do not count: a box without any larger overlap gets no anchor of its own.
LEAST_OVERLAP = 1e-6


def _check_prior(shape, sizes, ratios, steps, offsets):
    if len(shape) != 4:
        raise ShapeError("MultiBoxPrior: needs a feature map", shape, "pass data (n, c, h, w)")
    if not sizes or not ratios or min(sizes) <= 0 or min(ratios) <= 0:
        raise ParameterError("MultiBoxPrior: sizes and ratios must be positive", f"{sizes}, {ratios}", "pass at least one of each")
    if len(offsets) != 2 or len(steps) != 2 or (steps[0] > 0) != (steps[1] > 0):
        given = f"steps {steps}, offsets {offsets}"
        raise ParameterError("MultiBoxPrior: steps and offsets have two numbers, both steps given or none", given, "pass (y, x)")


@op("_contrib_MultiBoxPrior", "_npx_multibox_prior")
def multibox_prior(
    xp,
    data,
    *,
    sizes: Floats = (1.0,),
    ratios: Floats = (1.0,),
    clip: bool = False,
    steps: Floats = (-1.0, -1.0),
    offsets: Floats = (0.5, 0.5),
):
    """Anchors around the pixels of a feature map (n, c, h, w): (1, h · w · (number of sizes + number of ratios - 1), 4).

    A pixel has a box for each size with the first ratio of width to height, and one for each other ratio with the first size. Its center is
    ``offsets`` (y, x) of a step from the pixel's corner; ``steps`` (y, x) are 1 / h and 1 / w if negative. ``clip`` cuts boxes off at
    0 and 1. Only the shape of ``data`` counts.
    """
    _check_prior(data.shape, sizes, ratios, steps, offsets)
    height, width = data.shape[2:]
    step_y, step_x = (s if s > 0 else 1 / n for s, n in zip(steps, (height, width), strict=True))
    # width = s · sqrt(r) and height = s / sqrt(r): the area is s² for every ratio r
    root = math.sqrt(ratios[0])
    shapes = [(s * root, s / root) for s in sizes] + [(sizes[0] * math.sqrt(r), sizes[0] / math.sqrt(r)) for r in ratios[1:]]
    # sizes are shares of the height; as shares of the width they give a square for the ratio 1
    halves = [(w * height / width / 2, h / 2) for w, h in shapes]
    y = (xp.cast(xp.iota(size=height, dtype="int64"), "float32") + offsets[0]) * step_y
    x = (xp.cast(xp.iota(size=width, dtype="int64"), "float32") + offsets[1]) * step_x
    grid = (height, width, 1)
    y = xp.broadcast_to(xp.reshape(y, shape=(height, 1, 1)), shape=grid)
    x = xp.broadcast_to(xp.reshape(x, shape=(1, width, 1)), shape=grid)
    boxes = [xp.concat(x - w, y - h, x + w, y + h, axis=2) for w, h in halves]
    found = xp.reshape(xp.stack(boxes, 2), shape=(1, height * width * len(halves), 4))
    return xp.clip(found, 0, 1) if clip else found


multibox_prior.grad(lambda xp: None)
multibox_prior.dtypes(lambda dtypes, **_: ["float32"])
multibox_prior.sample(lambda draw: draw(draw.real((1, 2, 2, 3)), sizes=(0.5, 0.25), ratios=(1.0, 2.0), gradient=False))


def _overlaps(np, one, two):
    """Intersection over union of boxes (…, n, 4) with boxes (…, m, 4): (…, n, m)."""
    a, b = one[..., :, None, :], two[..., None, :, :]
    width = np.maximum(np.minimum(a[..., 2], b[..., 2]) - np.maximum(a[..., 0], b[..., 0]), 0)
    height = np.maximum(np.minimum(a[..., 3], b[..., 3]) - np.maximum(a[..., 1], b[..., 1]), 0)
    shared = width * height
    area = [(x[..., 2] - x[..., 0]) * (x[..., 3] - x[..., 1]) for x in (a, b)]
    union = area[0] + area[1] - shared
    return np.where(union <= 0, 0, shared / np.where(union <= 0, 1, union)).astype(shared.dtype)


def _negatives(np, scores, candidates, number):
    """The ``number`` (b,) candidates (b, n) whose background score is lowest: a mask."""
    top = scores.max(1, keepdims=True)
    # the less probable the background, the more an anchor looks like an object: those are the hardest negatives
    background = np.exp(scores[:, 0] - top[:, 0]) / np.exp(scores - top).sum(1)
    order = np.argsort(np.where(candidates, background, np.inf), axis=1, kind="stable")
    # the inverse permutation: each anchor's place in the order
    place = np.argsort(order, axis=1, kind="stable")
    return candidates & (place < number[:, None])


def _targets(
    np,
    anchors,
    labels,
    scores,
    *,
    overlap_threshold,
    ignore_label,
    negative_mining_ratio,
    negative_mining_thresh,
    variances,
):
    # the axes of `labels` are (image, box, numbers); each overlap below belongs to (image, anchor, box)
    real = np.logical_and.accumulate(labels[:, :, 0] != -1, axis=1)  # rows after the first class -1 are padding
    overlap = np.where(real[:, None], _overlaps(np, anchors, labels[:, :, 1:5]), -1)
    # one to one, best pairs first: every box gets a separate anchor, even if none overlaps it by the threshold
    partner = matched(np, overlap, overlap > LEAST_OVERLAP, True, -1)
    best, nearest = overlap.max(2), overlap.argmax(2)
    positive = (partner >= 0) | (best > overlap_threshold)
    # an anchor that was paired with a box keeps it, even if it overlaps another one more
    truth = np.take_along_axis(labels, np.where(partner >= 0, partner, nearest)[:, :, None], 1)
    if negative_mining_ratio > 0:
        number = (positive.sum(1) * negative_mining_ratio).astype("int64")
        negative = _negatives(np, scores, ~positive & (best < negative_mining_thresh), number)
    else:
        negative = ~positive
    some = real.any(1, keepdims=True)  # an image without boxes is ignored
    positive, negative = positive & some, negative & some
    # class 0 is the background, so those of boxes move up by one
    classes = np.where(positive, truth[:, :, 0] + 1, np.where(negative, 0, ignore_label))
    # box regression of Faster R-CNN: shifts of the center in units of the anchor's size and logarithms of the ratios of sizes
    offsets = np.where(positive[:, :, None], _offsets(np, anchors, truth[:, :, 1:5], variances), 0)
    mask = np.broadcast_to(positive[:, :, None], offsets.shape)
    return offsets.reshape(len(labels), -1), mask.reshape(len(labels), -1), classes


def _offsets(np, anchors, boxes, variances):
    """The targets of a detector at anchors (1, n, 4) for boxes (b, n, 4)."""
    size, center = anchors[..., 2:] - anchors[..., :2], (anchors[..., 2:] + anchors[..., :2]) / 2
    extent, middle = boxes[..., 2:] - boxes[..., :2], (boxes[..., 2:] + boxes[..., :2]) / 2
    with np.errstate(all="ignore"):  # rows that are not positive
        return np.concatenate([(middle - center) / size, np.log(extent / size)], -1) / np.array(variances, anchors.dtype)


def _check_anchors(name, anchors, count, variances):
    if len(anchors) != 3 or anchors[0] != 1 or anchors[2] != 4 or anchors[1] != count:
        raise ShapeError(f"{name}: the anchors do not match", f"{anchors} for {count} predictions", f"pass anchors (1, {count}, 4)")
    if len(variances) != 4:
        raise ParameterError(f"{name}: needs four variances", variances, "pass one for each of x, y, width and height")


@op(
    "_contrib_MultiBoxTarget",
    "_npx_multibox_target",
    outputs=3,
    output_names=("loc_target", "loc_mask", "cls_target"),
    real=True,
    alike=True,
)
def multibox_target(
    xp,
    anchor,
    label,
    cls_pred,
    *,
    overlap_threshold: float = 0.5,
    ignore_label: float = -1.0,
    negative_mining_ratio: float = -1.0,
    negative_mining_thresh: float = 0.5,
    minimum_negative_samples: int = 0,
    variances: Floats = (0.1, 0.1, 0.2, 0.2),
):
    """Targets of anchors (1, n, 4) for the boxes of images: offsets (b, n · 4), their mask (b, n · 4) and classes (b, n).

    ``label`` (b, m, 5 or more) has rows (class, box), padded with -1. Every box gets the anchor that overlaps it most, pair by pair;
    other anchors that overlap a box by more than ``overlap_threshold`` get it too. Their class is that of the box plus 1. Other anchors
    are background, class 0. A positive ``negative_mining_ratio`` limits the background to that many times the number of anchors with
    a box: to those that overlap no box by ``negative_mining_thresh`` and have the lowest background score in ``cls_pred``
    (b, classes, n) ; the others get ``ignore_label``. As in MXNet, ``minimum_negative_samples`` has no effect. No gradient.
    """
    if len(label.shape) != 3 or label.shape[2] < 5 or len(cls_pred.shape) != 3 or cls_pred.shape[0] != label.shape[0]:
        given = f"label {label.shape}, cls_pred {cls_pred.shape}"
        raise ShapeError("MultiBoxTarget: the shapes do not match", given, "pass label (b, m, 5) and cls_pred (b, classes, n)")
    _check_anchors("MultiBoxTarget", anchor.shape, cls_pred.shape[2], variances)
    b, n = label.shape[0], anchor.shape[1]
    given = {"overlap_threshold": overlap_threshold, "ignore_label": ignore_label, "variances": variances}
    given |= {"negative_mining_ratio": negative_mining_ratio, "negative_mining_thresh": negative_mining_thresh}
    like = tuple(xp.zeros(s, xp.dtype_of(anchor)) for s in ((b, 4 * n), (b, 4 * n), (b, n)))
    arrays = [xp.stop_gradient(a) for a in (anchor, label, cls_pred)]
    return tuple(xp.host(_targets, *arrays, like=like, **given))


multibox_target.grad(lambda xp: (None, None, None))


def _valid_boxes(np, u):
    """Boxes (…, 4) from numbers."""
    return np.concatenate([u[..., :2], u[..., :2] + np.abs(u[..., 2:]) + 0.2], -1).astype(u.dtype)


def _valid_labels(np, u):
    return np.concatenate([np.abs(np.round(u[..., :1])), _valid_boxes(np, u[..., 1:])], -1).astype(u.dtype)


@multibox_target.sample
def _(draw):
    anchors, labels = draw.real((1, 6, 4), then=_valid_boxes), draw.real((2, 2, 5), then=_valid_labels)
    return [
        draw(anchors, labels, draw.real((2, 3, 6)), overlap_threshold=0.2, gradient=False),
        draw(anchors, labels, draw.real((2, 3, 6)), negative_mining_ratio=1.0, negative_mining_thresh=0.4, gradient=False),
    ]


def _decoded(np, offsets, anchors, variances, clip):
    """Boxes from predicted offsets (b, n, 4) at anchors (1, n, 4)."""
    size, center = anchors[..., 2:] - anchors[..., :2], (anchors[..., 2:] + anchors[..., :2]) / 2
    scaled = offsets * np.array(variances, offsets.dtype)
    with np.errstate(all="ignore"):  # infinite boxes overlap nothing
        middle, half = scaled[..., :2] * size + center, np.exp(scaled[..., 2:]) * size / 2
    boxes = np.concatenate([middle - half, middle + half], -1)
    return np.clip(boxes, 0, 1) if clip else boxes


def _detections(np, scores, offsets, anchors, *, clip, threshold, nms_threshold, force_suppress, variances, nms_topk):
    b, _, n = scores.shape
    # without the background, class 0; -1 where there is no other class, so that no anchor reaches a threshold
    best = scores[:, 1:].max(1, initial=-1)
    classes = scores[:, 1:].argmax(1) if scores.shape[1] > 1 else np.zeros((b, n))
    rows = np.concatenate(
        [classes[..., None].astype(best.dtype), best[..., None], _decoded(np, offsets.reshape(b, n, 4), anchors, variances, clip)], -1
    )
    found = np.full((b, n, 6), -1, scores.dtype)
    for image, (row, valid) in enumerate(zip(rows, (best >= threshold) & (scores.shape[1] > 1), strict=True)):
        row = row[valid].astype(scores.dtype)
        # rows that are left out below the threshold stay -1, at the end
        found[image, : len(row)] = _suppressed(np, row, nms_threshold, force_suppress, nms_topk)
    return found


def _suppressed(np, rows, threshold, force_suppress, topk):
    """Rows (class, score, box) in the order of scores; a row that a better box suppresses gets the class -1."""
    # MXNet does not even sort then
    if not 0 < threshold <= 1:
        return rows
    order = np.argsort(-rows[:, 1], kind="stable")
    count = min(topk, len(rows)) if topk > 0 else len(rows)
    found = rows.copy()
    found[:count] = rows[order[:count]]
    found[count:, 0] = -1  # as in MXNet these rows keep their place

    def suppresses(np, shared, union):
        return np.divide(shared, union, out=union) >= shared.dtype.type(threshold)

    best = found[:count]
    # `best` is a view of the result, so this writes to it
    best[~kept(np, best[:, 2:], None if force_suppress else best[:, 0], suppresses), 0] = -1
    return found


@op("_contrib_MultiBoxDetection", "_npx_multibox_detection", real=True, alike=True)
def multibox_detection(
    xp,
    cls_prob,
    loc_pred,
    anchor,
    *,
    clip: bool = True,
    threshold: float = 0.01,
    background_id: int = 0,
    nms_threshold: float = 0.5,
    force_suppress: bool = False,
    variances: Floats = (0.1, 0.1, 0.2, 0.2),
    nms_topk: int = -1,
):
    """Detections (b, n, 6), rows (class, score, box), from probabilities (b, classes, n) and offsets (b, n · 4).

    The offsets are those from anchors (1, n, 4). An anchor's class is the most probable one apart from the background, which is class 0
    (``background_id`` has no effect, as in MXNet); anchors whose probability is below ``threshold`` are dropped. Among boxes of one class
    (of all classes with ``force_suppress``) that overlap by at least ``nms_threshold``, only the best keeps its class; the others get the
    class -1, and so do all boxes after the ``nms_topk`` best. A threshold outside (0, 1] suppresses none. Rows without a detection are -1.
    No gradient.
    """
    if len(cls_prob.shape) != 3 or loc_pred.shape != (cls_prob.shape[0], 4 * cls_prob.shape[2]):
        given = f"cls_prob {cls_prob.shape}, loc_pred {loc_pred.shape}"
        raise ShapeError("MultiBoxDetection: the shapes do not match", given, "pass cls_prob (b, classes, n) and loc_pred (b, n * 4)")
    _check_anchors("MultiBoxDetection", anchor.shape, cls_prob.shape[2], variances)
    like = xp.zeros((cls_prob.shape[0], cls_prob.shape[2], 6), xp.dtype_of(cls_prob))
    arrays = [xp.stop_gradient(a) for a in (cls_prob, loc_pred, anchor)]
    given = {"clip": clip, "threshold": threshold, "nms_threshold": nms_threshold, "force_suppress": force_suppress}
    return xp.host(_detections, *arrays, like=like, variances=variances, nms_topk=nms_topk, **given)


multibox_detection.grad(lambda xp: (None, None, None))


@multibox_detection.sample
def _(draw):
    anchors = draw.real((1, 6, 4), then=_valid_boxes)
    scores = draw.real((2, 3, 6), low=0.05, high=1, distinct=True)
    return draw(scores, draw.real((2, 24)), anchors, nms_threshold=0.2, gradient=False)

"""Proposal and MultiProposal: the regions of Faster R-CNN's first stage, from its scores and offsets at anchors.

Source: Ren et al., "Faster R-CNN: towards real-time object detection with region proposal networks", NIPS 2015. Boxes include their last
pixel, so their width is right - left + 1.
"""

from ..errors import ParameterError, ShapeError
from ..opdef import Floats, op
from .suppression import above, kept


def _base_anchors(np, stride, scales, ratios):
    """Anchors (number, 4) around the first pixel: for each ratio of height to width all scales."""
    area, center = stride * stride, (stride - 1) / 2
    found = []
    for ratio in ratios:
        # rounded at the same places as in MXNet: a pixel more or less would move every proposal
        width = np.floor(np.sqrt(np.floor(area / ratio)) + 0.5)
        height = np.floor(width * ratio + 0.5)
        for scale in scales:
            half = (np.array([width, height]) * scale - 1) / 2
            found.append(np.concatenate([center - half, center + half]))
    return np.array(found, "float32")


def _moved(np, anchors, offsets, info, iou_loss):
    """Anchors (m, 4) moved by predicted offsets (m, 4), and cut off at the image's edges."""
    if iou_loss:
        boxes = anchors + offsets
    else:
        size = anchors[:, 2:] - anchors[:, :2] + 1
        center = anchors[:, :2] + 0.5 * (size - 1)
        with np.errstate(over="ignore"):  # infinite boxes are cut off
            middle, half = offsets[:, :2] * size + center, 0.5 * (np.exp(offsets[:, 2:]) * size - 1)
        boxes = np.concatenate([middle - half, middle + half], 1)
    # the last column and row of the image: `info` has its height first
    edge = np.array([info[1], info[0]] * 2, "float32") - 1
    return np.clip(boxes, 0, edge)


def _scored(np, scores, offsets, info, *, feature_stride, scales, ratios, rpn_min_size, iou_loss):
    """All boxes of an image (m, 5) with their scores, ordered by row, column and anchor; those too small have the score -1."""
    base = _base_anchors(np, feature_stride, scales, ratios)
    count, height, width = len(base), *scores.shape[1:]
    y, x = (k.astype("float32") * feature_stride for k in np.indices((height, width)))
    anchors = (np.stack([x, y, x, y], -1)[:, :, None] + base).reshape(-1, 4)
    # (anchor, side, row, column) to (row, column, anchor, side), the order of the anchors
    found = np.moveaxis(offsets.reshape(count, 4, height, width), (0, 1), (2, 3)).reshape(-1, 4)
    # the first half of the scores are those of the background
    boxes, score = _moved(np, anchors, found, info, iou_loss), np.moveaxis(scores[count:], 0, 2).reshape(-1).copy()
    if not (info[0] / feature_stride < height + 1 and info[1] / feature_stride < width + 1):
        given = f"im_info {info.tolist()}, {height} by {width} pixels of stride {feature_stride}"
        raise ParameterError("Proposal: the image is larger than its feature map", given, "pass the feature map's stride and size")
    # images of a batch are padded to one size: places in the padding propose nothing
    inside = (np.arange(height) < int(info[0] / feature_stride))[:, None] & (np.arange(width) < int(info[1] / feature_stride))
    score[~np.repeat(inside.reshape(-1), count)] = -1
    least = rpn_min_size * info[2]
    small = ((boxes[:, 2:] - boxes[:, :2] + 1) < least).any(1)
    # as in MXNet, boxes that are too small are enlarged, and come last
    boxes[small] += np.array([-0.5, -0.5, 0.5, 0.5], "float32") * least
    score[small] = -1
    return np.concatenate([boxes, score[:, None]], 1).astype("float32")


def _proposed(np, cls_prob, bbox_pred, im_info, *, rpn_pre_nms_top_n, rpn_post_nms_top_n, threshold, **given):
    regions, scores = [], []
    for image, facts in enumerate(zip(cls_prob, bbox_pred, im_info, strict=True)):
        rows = _scored(np, *facts, **given)
        order = np.argsort(-rows[:, 4], kind="stable")[: rpn_pre_nms_top_n if rpn_pre_nms_top_n > 0 else None]
        best = rows[order]
        chosen = np.flatnonzero(kept(np, best[:, :4], None, above(threshold), 1))[:rpn_post_nms_top_n]
        # too few boxes are repeated in turn
        found = best[chosen[np.arange(rpn_post_nms_top_n) % len(chosen)]]
        regions.append(np.concatenate([np.full((len(found), 1), image), found[:, :4]], 1))
        scores.append(found[:, 4:])
    return np.concatenate(regions), np.concatenate(scores)


def _propose(xp, name, arrays, rpn_post_nms_top_n, scales, ratios, feature_stride, **given):
    probabilities, offsets, info = (a.shape for a in arrays)
    if not scales or not ratios or min(*scales, *ratios) <= 0 or min(feature_stride, rpn_post_nms_top_n) < 1:
        what = f"scales {scales}, ratios {ratios}, feature_stride {feature_stride}, rpn_post_nms_top_n {rpn_post_nms_top_n}"
        raise ParameterError(f"{name}: needs positive scales, ratios, stride and number of boxes", what, "pass such numbers")
    n, count = probabilities[0], len(scales) * len(ratios)
    wanted = [(n, 2 * count, *probabilities[2:]), (n, 4 * count, *probabilities[2:]), (n, 3)]
    if len(probabilities) != 4 or [probabilities, offsets, info] != wanted or 0 in probabilities:
        todo = f"pass cls_prob (n, {2 * count}, h, w), bbox_pred (n, {4 * count}, h, w) and im_info (n, 3) for {count} anchors"
        raise ShapeError(f"{name}: the shapes do not match the anchors", f"{probabilities}, {offsets}, {info}", todo)
    like = (xp.zeros((n * rpn_post_nms_top_n, 5)), xp.zeros((n * rpn_post_nms_top_n, 1)))
    operands = [xp.stop_gradient(xp.cast(a, "float32")) for a in arrays]
    given |= {"rpn_post_nms_top_n": rpn_post_nms_top_n, "scales": scales, "ratios": ratios, "feature_stride": feature_stride}
    return tuple(xp.cast_like(part, arrays[0]) for part in xp.host(_proposed, *operands, like=like, **given))


#: The scores are a visible result only on request.
RESULTS = {"outputs": 2, "visible": lambda output_score, **_: 2 if output_score else 1, "output_names": ("output", "score"), "real": True}


@op("_contrib_MultiProposal", **RESULTS)
def multi_proposal(
    xp,
    cls_prob,
    bbox_pred,
    im_info,
    *,
    rpn_pre_nms_top_n: int = 6000,
    rpn_post_nms_top_n: int = 300,
    threshold: float = 0.7,
    rpn_min_size: int = 16,
    scales: Floats = (4.0, 8.0, 16.0, 32.0),
    ratios: Floats = (0.5, 1.0, 2.0),
    feature_stride: int = 16,
    output_score: bool = False,
    iou_loss: bool = False,
):
    """Regions of n images that may show an object, (n · rpn_post_nms_top_n, 5), rows (image, box), and scores (…, 1) on request.

    ``cls_prob`` (n, 2 · anchors, h, w) has the probabilities of background and object for each anchor, ``bbox_pred`` (n, 4 · anchors, h, w)
    offsets from it (of its corners with ``iou_loss``), ``im_info`` (n, 3) the images' heights, widths and scales. Anchors, one for each of
    ``ratios`` and ``scales``, are ``feature_stride`` pixels apart. Boxes narrower than ``rpn_min_size`` times the image's scale come last.
    The best ``rpn_pre_nms_top_n`` boxes (all if not positive) are thinned out: a box that overlaps a better one by more than ``threshold``
    is dropped. Where fewer than wanted remain they are repeated. No gradient.
    """
    given = {"rpn_pre_nms_top_n": rpn_pre_nms_top_n, "rpn_post_nms_top_n": rpn_post_nms_top_n, "threshold": threshold}
    given |= {"rpn_min_size": rpn_min_size, "scales": scales, "ratios": ratios, "feature_stride": feature_stride, "iou_loss": iou_loss}
    return _propose(xp, "MultiProposal", (cls_prob, bbox_pred, im_info), **given)


@op("_contrib_Proposal", like=multi_proposal, **RESULTS)
def proposal(xp, cls_prob, bbox_pred, im_info, *, output_score, **params):
    """Regions (rpn_post_nms_top_n, 5) of one image, rows (0, box), and their scores (rpn_post_nms_top_n, 1) if ``output_score`` is set.

    `MultiProposal` for a batch of one image.
    """
    if cls_prob.shape[0] != 1:
        raise ShapeError("Proposal: takes one image", cls_prob.shape, "use MultiProposal")
    return _propose(xp, "Proposal", (cls_prob, bbox_pred, im_info), **params)


def _sample(draw, images):
    def picture(np, u):
        return np.abs(u) * 20 + np.array([30, 40, 1], u.dtype)

    arrays = draw.real((images, 4, 3, 3), low=0, high=1, distinct=True), draw.real((images, 8, 3, 3), low=-0.2, high=0.2)
    small = {"scales": (1.0, 2.0), "ratios": (1.0,), "rpn_post_nms_top_n": 6, "rpn_min_size": 2, "output_score": True}
    return draw(*arrays, draw.real((images, 3), low=0, high=0.1, then=picture), gradient=False, **small)


for _op in (proposal, multi_proposal):
    _op.grad(lambda xp: (None, None, None))

proposal.sample(lambda draw: _sample(draw, 1))
multi_proposal.sample(lambda draw: _sample(draw, 2))

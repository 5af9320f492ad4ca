"""Selection of elements by value, so that the sizes of results depend on values: distinct elements, boxes without overlap."""

import numpy as np

from ....symbol.symbol import Symbol
from ..op_reader import reads, unsupported
from ..values import Tensor
from .functions import NP, NPX, F, as_dtype, slice_at, sliced


@reads
def NonZero(graph, data):
    """The places of elements that are not 0, a row for each axis."""
    if data.array is not None:
        return np.array(np.nonzero(data.array), np.int64)
    return NP.transpose(NPX.nonzero(data.np), (1, 0))


@reads
def Unique(graph, x, *, axis=None, sorted=1):
    """The distinct elements (or slices along an axis), their first places, the place of each element among them, and their counts."""
    options = {"return_index": True, "return_inverse": True, "return_counts": True}
    data = x.np if axis is not None else NP.reshape(x.np, (-1,))
    values, first, inverse, counts = NP.unique(data, axis=axis, **options)
    if not sorted:  # in the order in which they first occur
        order = as_dtype(NP.argsort(first), "int64")
        place = as_dtype(NP.argsort(order), "int64")
        values = NP.take(values, order, axis=0 if axis is None else x.axis(axis), mode="clip")
        first, counts = (NP.take(part, order, mode="clip") for part in (first, counts))
        inverse = NP.take(place, inverse, mode="clip")
    return (values, first, inverse, counts)[: graph.outputs]


@reads
def NonMaxSuppression(graph, boxes, scores, max_output=None, iou_threshold=None, score_threshold=None, *, center_point_box=0):
    """For each image and class the boxes that overlap no better one: rows (k, 3) of image, class and box, the best of a class first."""
    classes, count = scores.size(1), scores.size(2)
    most = 0 if max_output is None else max_output.integer
    if most < 1:
        return np.zeros((0, 3), np.int64)
    if count > 1 << 24:
        raise unsupported(graph, "the number of boxes is too large", count)
    score = NP.reshape(scores.np, (-1, count, 1))
    places = NPX.arange_like(score, axis=1)
    rows = [score, _corners(boxes, center_point_box), NP.expand_dims(NP.expand_dims(places, 0), 2)]
    each = NP.repeat(rows[1], classes, axis=0)
    # each box takes its own number along as a column, because the suppression reorders the boxes by score
    number = NP.zeros_like(score) + rows[2]
    # without a threshold every score counts
    least = -float(np.finfo(np.float32).max) if score_threshold is None else score_threshold.number
    found = F.contrib.box_nms(
        NP.concatenate([score, each, number], axis=2),
        overlap_thresh=0.0 if iou_threshold is None else iou_threshold.number,
        valid_thresh=least,
        coord_start=1,
        score_index=0,
        force_suppress=True,
        in_format="center" if center_point_box else "corner",
    ).as_np_ndarray()
    number = slice_at(found, 2, 5)  # best first, -1 for those that are suppressed
    kept = NP.greater_equal(number, 0.0)
    kept = kept * NP.less_equal(NP.cumsum(as_dtype(kept, "int64"), axis=1), most)
    row = NPX.nonzero(kept)
    chosen = as_dtype(F.gather_nd(number, NP.transpose(row, (1, 0))), "int64")
    group = slice_at(row, 1, 0)
    # rows are ordered by image, then by class, so a row's number gives both
    kind = NP.mod(group, classes)
    image = as_dtype(as_dtype(group - kind, "float64") / classes, "int64")
    return NP.stack([image, kind, chosen], axis=1)


def _corners(boxes: Tensor, is_center: int) -> Symbol:
    """Boxes (images, n, 4) as the suppression takes them: centers and sizes, or the smaller corner and the larger one."""
    if is_center:
        return boxes.np
    first, second = (sliced(boxes.symbol, 2, k, k + 2) for k in (0, 2))
    return NP.concatenate([NP.minimum(first, second), NP.maximum(first, second)], axis=2)

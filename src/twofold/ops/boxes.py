"""Boxes of object detectors: how far they overlap, their offsets from anchors, and one-to-one matching by score.

A box is (left, top, right, bottom) in the format "corner", and (x, y, width, height) with its center in the format "center".
"""

from typing import Literal

from ..errors import ShapeError
from ..opdef import op

Format = Literal["center", "corner"]


def sides(xp, boxes):
    """The four numbers of boxes (…, 4), each (…)."""
    return [xp.reshape(xp.take_slice(boxes, k, k + 1, -1), shape=boxes.shape[:-1]) for k in range(4)]


def to_corners(xp, center):
    """Boxes in the format "center" as four numbers in the format "corner"."""
    x, y, width, height = center
    return [x - width / 2, y - height / 2, x + width / 2, y + height / 2]


def to_center(xp, corners):
    """Boxes in the format "corner" as four numbers in the format "center"."""
    left, top, right, bottom = corners
    return [(left + right) / 2, (top + bottom) / 2, right - left, bottom - top]


def _check_boxes(name, **given):
    for which, (shape, ndim) in given.items():
        if len(shape) < ndim or shape[-1] != 4:
            raise ShapeError(f"{name}: boxes have four numbers", f"{which} {shape}", f"pass {which} (…, 4) with at least {ndim} axes")


@op("_contrib_box_iou", alike=True, real=True)
def box_iou(xp, lhs, rhs, *, format: Format = "corner"):
    """Intersection over union of all pairs of boxes: (s…, 4) and (t…, 4) to (s…, t…); 0 for boxes without area. No gradient."""
    _check_boxes("box_iou", lhs=(lhs.shape, 2), rhs=(rhs.shape, 2))
    # axes of size 1 in place of those of `rhs`: everything that follows broadcasts to all pairs
    wide = xp.reshape(lhs, shape=(*lhs.shape[:-1], *[1] * (len(rhs.shape) - 1), 4))
    one, two = sides(xp, wide), sides(xp, rhs)
    if format == "center":
        one, two = to_corners(xp, one), to_corners(xp, two)
    width = xp.maximum(xp.minimum(one[2], two[2]) - xp.maximum(one[0], two[0]), 0)
    height = xp.maximum(xp.minimum(one[3], two[3]) - xp.maximum(one[1], two[1]), 0)
    shared = width * height
    # a box whose ends are exchanged has no area; without the maximum, two negative sides would give a positive area
    areas = [xp.maximum(b[2] - b[0], 0) * xp.maximum(b[3] - b[1], 0) for b in (one, two)]
    union = areas[0] + areas[1] - shared
    # the share is 0 if the union is 0; NaN remains NaN
    return xp.where(xp.equal(shared, 0), 0, shared / xp.where(xp.equal(union, 0), 1, union))


box_iou.grad(lambda xp: (None, None))
box_iou.sample(lambda draw: draw(*_two_sets(draw), gradient=False))


def _valid(np, u):
    """Boxes (…, 4) from numbers."""
    return np.concatenate([u[..., :2], u[..., :2] + np.abs(u[..., 2:]) + 0.1], -1).astype(u.dtype)


def _two_sets(draw):
    return draw.real((3, 4), then=_valid), draw.real((2, 2, 4), then=_valid)


@op("_contrib_box_encode", outputs=2, output_names=("output0", "output1"), real=True)
def box_encode(xp, samples, matches, anchors, refs, means, stds):
    """The targets of a detector at anchors (b, n, 4) that match the boxes ``refs`` (b, m, 4): (b, n, 4), and masks of 1 and 0.

    ``samples`` (b, n) is 1 for anchors that have a target, ``matches`` (b, n) the box of each. Targets are the offset of the center in
    units of the anchor's size and the logarithm of the size, minus ``means`` (4,), over ``stds`` (4,). No gradient.
    """
    shapes = {"anchors": anchors.shape, "samples": samples.shape, "matches": matches.shape, "means": means.shape, "stds": stds.shape}
    _check_boxes("box_encode", anchors=(anchors.shape, 3), refs=(refs.shape, 3))
    rows = anchors.shape[:2]
    fits = samples.shape == matches.shape == rows and means.shape == stds.shape == (4,) and refs.shape[0] == rows[0]
    if not fits or len(refs.shape) != 3:
        todo = "pass samples and matches (b, n), anchors (b, n, 4), refs (b, m, 4), means and stds (4,)"
        raise ShapeError("box_encode: the shapes do not match", ", ".join(f"{k} {v}" for k, v in shapes.items()), todo)
    image = xp.reshape(xp.iota(size=rows[0], dtype="int64"), shape=(-1, 1))
    # anchors without a box have any number as their match: they are masked below, but must not read outside
    place = xp.clip(xp.cast(matches, "int64"), 0, refs.shape[1] - 1)
    one = to_center(xp, sides(xp, xp.index(refs, image, place, key=(0, 1, None))))
    two = to_center(xp, sides(xp, anchors))
    # the regression targets of Girshick et al., "Rich feature hierarchies", 2014, appendix C
    raw = [(one[0] - two[0]) / two[2], (one[1] - two[1]) / two[3], xp.log(one[2] / two[2]), xp.log(one[3] / two[3])]
    chosen = xp.broadcast_to(xp.expand_dims(xp.greater(samples, 0.5), 2), shape=anchors.shape)
    targets = xp.where(chosen, (xp.stack(raw, 2) - means) / stds, 0)
    return targets, xp.cast_like(chosen, targets)


box_encode.grad(lambda xp: (None,) * 6)


@box_encode.sample
def _(draw):
    boxes = draw.real((2, 3, 4), then=_valid), draw.real((2, 2, 4), then=_valid)
    marks = draw.integer((2, 3), 0, 2, None), draw.integer((2, 3), 0, 2, None)
    return draw(*marks, *boxes, draw.real((4,)), draw.real((4,), low=0.5, high=2), gradient=False)


@op("_contrib_box_decode", real=True)
def box_decode(
    xp,
    data,
    anchors,
    *,
    std0: float = 1.0,
    std1: float = 1.0,
    std2: float = 1.0,
    std3: float = 1.0,
    clip: float = -1.0,
    format: Format = "center",
):
    """Boxes (b, n, 4) in the format "corner" from predicted offsets ``data`` (b, n, 4) at anchors (1, n, 4): the inverse of `box_encode`.

    ``std0`` … ``std3`` multiply the offsets; ``clip``, if positive, bounds the logarithms of the sizes; ``format`` is that of the anchors.
    """
    _check_boxes("box_decode", data=(data.shape, 3), anchors=(anchors.shape, 3))
    if anchors.shape != (1, *data.shape[1:]):
        raise ShapeError("box_decode: the anchors do not match", f"{anchors.shape} for data {data.shape}", "pass anchors (1, n, 4)")
    anchor = sides(xp, anchors)
    x, y, width, height = anchor if format == "center" else to_center(xp, anchor)
    dx, dy, dw, dh = sides(xp, data)
    sizes = [dw * std2, dh * std3]
    if clip > 0:
        # bounded before the exponential, which would overflow for large predictions
        sizes = [xp.minimum(s, clip) for s in sizes]
    center = [dx * std0 * width + x, dy * std1 * height + y, xp.exp(sizes[0]) * width, xp.exp(sizes[1]) * height]
    return xp.stack(to_corners(xp, center), 2)


box_decode.grad(lambda xp: (None, None))
box_decode.sample(lambda draw: draw(draw.real((2, 3, 4)), draw.real((1, 3, 4), low=0.1), clip=1.0, gradient=False))


def matched(np, score, allowed, descending, most):
    """Rows and columns of score matrices (b, r, c) paired greedily by score: the column of each row (b, r), -1 without one.

    The best allowed pair comes first, then the best of the other rows and columns, and so on, ``most`` pairs at most. Pairs that are the
    best of both their row and their column are all taken in the same round: few rounds are needed.
    """
    b, r, c = score.shape
    flat = score.reshape(b, r * c)
    order = np.argsort(-flat if descending else flat, axis=1, kind="stable")
    rank = np.empty((b, r * c), "int64")
    np.put_along_axis(rank, order, np.arange(r * c)[None], 1)
    # pairs that are not allowed get a rank beyond all others, and so, later, do pairs of used rows and columns
    rank, none = np.where(allowed, rank.reshape(b, r, c), r * c), r * c
    found, at = np.full((b, r), -1), np.full((b, r), none)
    image, row = np.indices((b, r))
    # an empty axis has no least element
    while r and c:
        column = rank.argmin(2)
        best = np.take_along_axis(rank, column[:, :, None], 2)[:, :, 0]
        # the row's best column, if this row is also that column's best
        taken = (best < none) & (np.take_along_axis(rank.argmin(1), column, 1) == row)
        if not taken.any():
            break
        found[taken], at[taken] = column[taken], best[taken]
        rank[image[taken], row[taken]] = none
        rank[image[taken], :, column[taken]] = none
    if most >= 0:  # the pairs that greedy search finds first
        found[np.argsort(np.argsort(at, axis=1, kind="stable"), axis=1, kind="stable") >= most] = -1
    return found


def _bipartite(np, score, *, is_ascend, threshold, topk):
    shape = score.shape
    score = score.reshape(-1, *shape[-2:])
    allowed = score < threshold if is_ascend else score > threshold
    # MXNet counts the pairs after it has made one too many
    rows = matched(np, score, allowed, not is_ascend, topk + 1 if topk > 0 else -1)
    columns = np.full((len(score), shape[-1]), -1)
    image, row = np.nonzero(rows >= 0)
    columns[image, rows[image, row]] = row
    return rows.reshape(shape[:-1]), columns.reshape(*shape[:-2], shape[-1])


@op("_contrib_bipartite_matching", outputs=2, output_names=("output0", "output1"), real=True)
def bipartite_matching(xp, data, *, is_ascend: bool = False, threshold: float, topk: int = -1):
    """Rows and columns of score matrices (…, r, c) paired greedily: the column of each row (…, r) and the row of each column (…, c).

    Pairs are made in descending order of scores, as long as these are above ``threshold``; with ``is_ascend`` in ascending order, as
    long as they are below it. Rows and columns without a partner have -1. A positive ``topk`` bounds the number of pairs: at most
    ``topk`` + 1 are made, as in MXNet. No gradient.
    """
    shape = data.shape
    if len(shape) < 2:
        raise ShapeError("bipartite_matching: needs a matrix of scores", shape, "pass data (…, rows, columns)")
    dtype = xp.dtype_of(data)
    like = (xp.zeros(shape[:-1], dtype), xp.zeros((*shape[:-2], shape[-1]), dtype))
    return tuple(xp.host(_bipartite, xp.stop_gradient(data), like=like, is_ascend=is_ascend, threshold=threshold, topk=topk))


bipartite_matching.grad(lambda xp: None)
bipartite_matching.sample(lambda draw: draw(draw.real((2, 3, 4), distinct=True), threshold=0.1, gradient=False))

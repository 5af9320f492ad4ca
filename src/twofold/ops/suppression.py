"""Non-maximum suppression: of boxes that overlap too far, only that of the highest score is kept."""

import math

from ..errors import ParameterError, ShapeError
from ..opdef import op
from .boxes import Format, sides, to_center, to_corners

#: Boxes up to which those of all classes are compared together: the calls for each class would take longer than the needless pairs.
FEW = 128
#: Boxes compared with all others in one piece: the overlaps of a piece fill the cache.
BLOCK = 64
PIECE = 1024


def kept(np, boxes, classes, suppresses, extra=0):
    """A mask (m,) of the corner boxes (m, 4), in the order of their scores, that no better box that is kept suppresses.

    Parameters
    ----------
    classes
        Boxes of different classes (m,) do not suppress each other; None if all do.
    suppresses
        ``(shared area, union) -> mask``.
    extra
        1 if boxes include their last pixel.
    """
    if classes is None:
        return _kept_of_one_class(np, boxes, suppresses, extra)
    if len(boxes) <= FEW:
        every = np.arange(len(boxes))
        conflict = _conflicts(np, _columns(np, boxes, extra), every, every, suppresses) & (classes[:, None] == classes)
        # above the diagonal: only a better box, which comes first, suppresses
        return _first_of_conflicts(np, np.triu(conflict, 1))
    alive = np.ones(len(boxes), bool)
    for value in np.unique(classes):
        group = np.flatnonzero(classes == value)
        alive[group] = _kept_of_one_class(np, boxes[group], suppresses, extra)
    return alive


def _kept_of_one_class(np, boxes, suppresses, extra):
    alive, columns = np.ones(len(boxes), bool), _columns(np, boxes, extra)
    # a box may only be suppressed by a better one that is itself kept, which looks sequential. Within a block of boxes the conflicts are
    # resolved in order; after that the kept ones are final, and suppress all later boxes in one step
    for start in range(0, len(boxes), BLOCK):
        block = start + np.flatnonzero(alive[start : start + BLOCK])
        # above the diagonal: only a better box, which comes first, suppresses
        best = _first_of_conflicts(np, np.triu(_conflicts(np, columns, block, block, suppresses), 1))
        alive[block[~best]] = False
        rest = start + BLOCK + np.flatnonzero(alive[start + BLOCK :])
        for at in range(0, len(rest), PIECE):
            piece = rest[at : at + PIECE]
            alive[piece[_conflicts(np, columns, block[best], piece, suppresses).any(0)]] = False
    return alive


def _columns(np, boxes, extra):
    """The sides of boxes and their areas, (m,) each."""
    left, top, right, bottom = np.ascontiguousarray(boxes.T)
    right, bottom = right + extra, bottom + extra
    return [left, top, right, bottom, np.maximum(right - left, 0) * np.maximum(bottom - top, 0)]


def _conflicts(np, columns, some, others, suppresses):
    """Which pairs of boxes suppress each other: a mask. ``columns`` are their sides and areas."""
    one, two = [column[some][:, None] for column in columns], [column[others] for column in columns]
    with np.errstate(all="ignore"):  # boxes that are infinite or NaN
        # in place: the operands of a piece stay in the cache
        shared, height = (np.minimum(one[k + 2], two[k + 2]) for k in (0, 1))
        for extent, k in ((shared, 0), (height, 1)):
            extent -= np.maximum(one[k], two[k])
            np.maximum(extent, 0, out=extent)
        shared *= height
        union = np.add(one[4], two[4], out=height)
        union -= shared
        return suppresses(np, shared, union)


def _first_of_conflicts(np, conflict):
    """The greedy choice, given a triangular matrix of conflicts: an item is kept unless it conflicts with an earlier kept one."""
    # each round settles at least one more of the first, usually all: chains of suppressions are short
    keep = np.ones(len(conflict), bool)
    while True:
        following = ~(conflict & keep[:, None]).any(0)
        if (following == keep).all():
            return keep
        keep = following


def above(threshold):
    """Suppression of boxes whose intersection over union is above a threshold; a quotient of 0 / 0 suppresses nothing."""

    def suppresses(np, shared, union):
        return np.divide(shared, union, out=union) > shared.dtype.type(threshold)

    return suppresses


def _places(np, data, *, overlap_thresh, valid_thresh, topk, coord_start, score_index, id_index, background_id, force_suppress, in_format):
    """For each row of the result the number of its row in the data (b, n); -1 for rows of padding."""
    count = data.shape[1]
    found = np.full(data.shape[:2], -1)
    if topk == 0:
        return np.broadcast_to(np.arange(count), found.shape)
    for image, rows in enumerate(data):
        score = rows[:, score_index]
        valid = score > valid_thresh
        if id_index >= 0:
            valid &= rows[:, id_index] != background_id
        order = np.flatnonzero(valid)
        # stable: of equal scores the earlier row counts as the better one
        order = order[np.argsort(-score[order], kind="stable")][: topk if topk > 0 else None]
        best = rows[order]
        boxes = best[:, coord_start : coord_start + 4]
        if in_format == "center":
            boxes = np.stack(to_corners(np, list(boxes.T)), 1)
        classes = best[:, id_index] if id_index >= 0 and not force_suppress else None
        chosen = order[kept(np, boxes, classes, above(overlap_thresh))]
        found[image, : len(chosen)] = chosen
    return found


def _check(shape, coord_start, score_index, id_index):
    if len(shape) < 2:
        raise ShapeError("box_nms: needs rows of boxes", shape, "pass data (…, n, columns)")
    columns = range(coord_start, coord_start + 4)
    others = [score_index, *([id_index] if id_index >= 0 else [])]
    if coord_start < 0 or columns[-1] >= shape[-1] or any(not 0 <= k < shape[-1] or k in columns for k in others):
        given = f"{shape[-1]} columns, coord_start {coord_start}, score_index {score_index}, id_index {id_index}"
        todo = "pass positions of the box, the score and the class that do not overlap"
        raise ParameterError("box_nms: the columns of a row are not as its parameters say", given, todo)


@op("_contrib_box_nms", "_contrib_box_non_maximum_suppression", outputs=2, visible=1, output_names=("output0", "output1"), real=True)
def box_nms(
    xp,
    data,
    *,
    overlap_thresh: float = 0.5,
    valid_thresh: float = 0.0,
    topk: int = -1,
    coord_start: int = 2,
    score_index: int = 1,
    id_index: int = -1,
    background_id: int = -1,
    force_suppress: bool = False,
    in_format: Format = "corner",
    out_format: Format = "corner",
):
    """The rows of ``data`` (…, n, columns) that suppression leaves, in the order of their scores; the other rows are filled with -1.

    A row has a box in the four columns from ``coord_start`` on, a score, and a class if ``id_index`` is not negative. Rows whose score
    is not above ``valid_thresh``, and those of the class ``background_id``, are dropped, and only the ``topk`` best remain (all if -1).
    Then a box is suppressed if its intersection over union with a better one is above ``overlap_thresh`` and both are of one class, or,
    with ``force_suppress``, of any class. A box that is NaN neither suppresses nor is suppressed. ``topk=0`` returns the data.
    """
    _check(data.shape, coord_start, score_index, id_index)
    count, columns = data.shape[-2:]
    rows = xp.reshape(data, shape=(math.prod(data.shape[:-2]), count, columns))
    given = {"overlap_thresh": overlap_thresh, "valid_thresh": valid_thresh, "topk": topk, "coord_start": coord_start}
    given |= {"score_index": score_index, "id_index": id_index, "background_id": background_id}
    like = xp.zeros(rows.shape[:2], "int64")
    place = xp.host(_places, xp.stop_gradient(rows), like=like, force_suppress=force_suppress, in_format=in_format, **given)
    image = xp.reshape(xp.iota(size=rows.shape[0], dtype="int64"), shape=(-1, 1))
    found = xp.index(rows, image, xp.maximum(place, 0), key=(0, 1, None))
    if topk != 0 and in_format != out_format:
        found = _converted(xp, found, coord_start, to_center if out_format == "center" else to_corners)
    found = xp.where(xp.expand_dims(xp.greater_equal(place, 0), 2), found, -1)
    return xp.reshape(found, shape=data.shape), place


def _converted(xp, rows, start, convert):
    """The rows with their boxes converted to another format."""
    box = convert(xp, sides(xp, xp.take_slice(rows, start, start + 4, 2)))
    parts = [xp.take_slice(rows, 0, start, 2), xp.stack(box, 2), xp.take_slice(rows, start + 4, rows.shape[2], 2)]
    return xp.concat(*parts, axis=2)


@box_nms.grad
def _(xp, dout, out, data):
    if dout[0] is None:
        return None
    # as in MXNet, the gradient of a row goes to the row that it comes from, whatever the formats
    place = out[1]
    heads = xp.reshape(dout[0], shape=(*place.shape, data.shape[-1]))
    # rows of padding have the place -1: their zeros are added to row 0
    heads = xp.where(xp.expand_dims(xp.greater_equal(place, 0), 2), heads, 0)
    image = xp.reshape(xp.iota(size=place.shape[0], dtype="int64"), shape=(-1, 1))
    total = xp.index_add(xp.zeros_like(heads), heads, image, xp.maximum(place, 0), key=(0, 1, None))
    return xp.reshape(total, shape=data.shape)


@box_nms.sample
def _(draw):
    def rows(np, u):
        corner = u[..., 2:4]
        return np.concatenate([np.round(u[..., :1]), u[..., 1:2], corner, corner + np.abs(u[..., 4:]) + 0.1], -1).astype(u.dtype)

    data = draw.real((2, 5, 6), distinct=True, then=rows)
    return [draw(data, overlap_thresh=0.1, gradient=False), draw(data, id_index=0, topk=3, overlap_thresh=0.1, gradient=False)]

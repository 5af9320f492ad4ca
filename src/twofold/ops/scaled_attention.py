"""Scaled dot-product attention, computed for a block of queries at a time: no array of all scores exists, forward or backward.

Forward keeps the result only. Backward computes the scores of a block again, from queries and keys (Dao et al., "FlashAttention", NeurIPS
2022, whose blocks of keys are whole rows here: on CPUs a row of scores fits the cache).
"""

import math
from itertools import pairwise
from typing import Annotated, Any

from ..errors import ShapeError
from ..opdef import Input, op

#: Blocks have as many rows that their scores, of all heads, are about that many bytes, and there are at most `MOST` of them.
BLOCK_BYTES, MOST = 4 << 20, 32
Positions = Annotated[Any, Input(own_dtype=True)]
Mask = Annotated[Any, Input(own_dtype=True, present=("use_mask", True))]


def _groups(query, key, value):
    """Number of query heads for each key head.

    Raises
    ------
    ShapeError
        If the shapes do not fit.
    """
    (heads, _, depth), (own, _, _) = query.shape[-3:], key.shape[-3:]
    fits = len(query.shape) == len(key.shape) == len(value.shape) == 4 and key.shape[:3] == value.shape[:3]
    if not fits or key.shape[-1] != depth or query.shape[0] != key.shape[0] or heads % own:
        given = f"query {query.shape}, key {key.shape}, value {value.shape}"
        todo = "pass (batch, heads, queries, depth), (batch, key heads, keys, depth) and (batch, key heads, keys, width)"
        raise ShapeError("scaled_dot_product_attention: the shapes do not match", given, todo)
    return heads // own


def _operands(xp, query, key, value, mask, scale):
    """Query (batch, key heads, group, queries, depth), key and value with a group of 1, and the mask with as many axes."""
    group = _groups(query, key, value)
    # the queries are scaled, as they are fewer than the scores
    batch, heads, queries, depth = query.shape
    scale = 1 / math.sqrt(depth) if scale is None else scale
    q = xp.reshape(xp.upcast(query) * scale, shape=(batch, heads // group, group, queries, depth))
    k, v = (xp.expand_dims(xp.upcast(x), 2) for x in (key, value))
    if mask is not None:
        wide = (*[1] * (4 - len(mask.shape)), *mask.shape)
        if len(mask.shape) > 4 or any(n not in (1, m) for n, m in zip(wide, (batch, heads, queries, key.shape[2]), strict=True)):
            given = f"{mask.shape} for {(batch, heads, queries, key.shape[2])}"
            raise ShapeError("scaled_dot_product_attention: the mask does not broadcast to the scores", given, "pass one that does")
        own = (1, 1) if wide[1] == 1 else (heads // group, group)
        mask = xp.reshape(mask, shape=(wide[0], *own, *wide[2:]))
    return q, k, v, mask, scale


def _blocks(shape, keys, causal):
    """Ranges of queries, and for each the number of keys that these may see."""
    batch, heads, queries, _ = shape
    rows = max(BLOCK_BYTES // max(4 * batch * heads * keys, 1), -(-queries // MOST), 1)
    # causal blocks see some multiple of keys: blocks of few sizes take turns in the same memory
    unit = max(-(-keys // 8), 1)
    for start in range(0, queries, rows):
        stop = min(start + rows, queries)
        # the last query sees all keys, the one before it one less
        seen = max(keys - queries + stop, 1)
        yield start, stop, min(-(-seen // unit) * unit, keys) if causal else keys


def _weights(xp, q, k, mask, block, queries, keys, causal):
    """The attention of a block of queries to the keys that they may see."""
    start, stop, seen = block
    scores = xp.matmul(xp.take_slice(q, start, stop, 3), xp.matrix_transpose(xp.take_slice(k, 0, seen, 3)))
    if mask is not None:
        part = mask if mask.shape[3] == 1 else xp.take_slice(mask, start, stop, 3)
        part = part if part.shape[4] == 1 else xp.take_slice(part, 0, seen, 4)
        scores = xp.where(part, scores, -math.inf) if mask.dtype == "bool" else scores + xp.cast_like(part, scores)
    if causal:
        places = xp.reshape(xp.iota(size=stop - start, dtype="int64"), shape=(-1, 1)) + (start + keys - queries)
        scores = xp.where(xp.less_equal(xp.iota(size=seen, dtype="int64"), places), scores, -math.inf)
    # a query that sees no key has a maximum of -inf; its weights are zeros
    highest = xp.maximum(xp.max(scores, axis=4, keepdims=True), -3e38)
    weights = xp.exp(scores - xp.stop_gradient(highest))
    total = xp.sum(weights, axis=4, keepdims=True)
    return weights / xp.where(xp.equal(total, 0), 1.0, total)


@op("_contrib_scaled_dot_product_attention", npx_name="scaled_dot_product_attention", real=True, faithful=True)
def scaled_dot_product_attention(
    xp, query, key, value, mask: Mask = None, *, scale: float | None = None, causal: bool = False, use_mask: bool = False
):
    """``softmax(query · keyᵀ · scale) · value``: (batch, heads, queries, width), without an array of all scores.

    ``query`` is (batch, heads, queries, depth), ``key`` (batch, key heads, keys, depth) and ``value`` (batch, key heads, keys, width).
    With fewer key heads, each serves a group of heads / key heads successive query heads. ``mask`` broadcasts to (batch, heads, queries,
    keys): bools that are true where a query sees a key, or numbers to add to the scores. With ``causal`` the last query
    sees all keys, the one before it all but the last, and so on. A query that sees no key gives zeros. ``scale`` is 1 / sqrt(depth) if
    omitted. ``use_mask``: whether a symbol has a mask.
    """
    q, k, v, mask, _ = _operands(xp, query, key, value, mask, scale)
    queries, keys = query.shape[2], key.shape[2]
    parts = []
    for block in _blocks(query.shape, keys, causal):
        weights = _weights(xp, q, k, mask, block, queries, keys, causal)
        parts.append(xp.matmul(weights, xp.take_slice(v, 0, block[2], 3)))
    out = parts[0] if len(parts) == 1 else xp.concat(*parts, axis=3)
    return xp.cast_like(xp.reshape(out, shape=(*query.shape[:3], value.shape[3])), query)


@scaled_dot_product_attention.grad
def _(xp, dout, out, query, key, value, mask, *, scale, causal, **_):
    given = None if mask is None else mask.shape
    # as distinct values, whose scores are computed again: those of forward would be kept until here
    query, key = (xp.slice(x, key=tuple((0, n, 1) for n in x.shape)) for x in (query, key))
    q, k, v, mask, scale = _operands(xp, query, key, value, mask, scale)
    queries, keys = query.shape[2], key.shape[2]
    head, result = (xp.reshape(xp.upcast(x), shape=(*q.shape[:4], value.shape[3])) for x in (dout, out))
    # of the softmax's gradient w · (d - sum(w · d)) the sum is that of the head and the result
    along = xp.sum(head * result, axis=4, keepdims=True)
    group, depth, width = q.shape[2], q.shape[4], value.shape[3]
    # one array for the three gradients, which each block updates in turn: so the blocks are computed one after the other
    found = xp.zeros((*q.shape[:2], group * queries + 2 * keys, max(depth, width)), q.dtype)
    dmask = []
    for block in _blocks(query.shape, keys, causal):
        start, stop, seen = block
        weights = _weights(xp, q, k, mask, block, queries, keys, causal)
        rows, own = xp.take_slice(head, start, stop, 3), xp.take_slice(k, 0, seen, 3)
        dweights = xp.matmul(rows, xp.matrix_transpose(xp.take_slice(v, 0, seen, 3)))
        dscores = weights * (dweights - xp.take_slice(along, start, stop, 3))
        if mask is not None and mask.dtype != "bool":
            dmask.append(_of_mask(xp, dscores, mask.shape, keys))
        dquery = xp.matmul(dscores, own) * scale
        for k_group in range(group):
            part = xp.reshape(xp.take_slice(dquery, k_group, k_group + 1, 2), shape=(*q.shape[:2], stop - start, depth))
            found = _added(xp, found, part, k_group * queries + start)
        dkey = xp.matmul(xp.matrix_transpose(dscores), xp.take_slice(q, start, stop, 3))
        found = _added(xp, found, xp.sum(dkey, axis=2), group * queries)
        found = _added(xp, found, xp.sum(xp.matmul(xp.matrix_transpose(weights), rows), axis=2), group * queries + keys)
    ends = (0, group * queries, group * queries + keys, group * queries + 2 * keys)
    parts = [xp.take_slice(found, start, stop, 2) for start, stop in pairwise(ends)]
    shapes = (query.shape, key.shape, value.shape)
    if mask is not None and dmask:
        added = xp.concat(*dmask, axis=3) if mask.shape[3] > 1 else xp.sum(xp.concat(*dmask, axis=3), axis=3, keepdims=True)
        dmask = [xp.reshape(added, shape=given)]
    return *(xp.reshape(xp.take_slice(x, 0, s[3], 3), shape=s) for x, s in zip(parts, shapes, strict=True)), *dmask


def _of_mask(xp, dscores, shape, keys):
    """The gradient of an added mask from a block of queries, of which one row is left if the mask has one."""
    unseen = keys - dscores.shape[4]
    if shape[4] > 1 and unseen:
        dscores = xp.pad(dscores, width=((0, 0),) * 4 + ((0, unseen),), value=0.0)
    axes = tuple(axis for axis, n in enumerate(shape) if n == 1 and dscores.shape[axis] > 1)
    return xp.sum(dscores, axis=axes, keepdims=True) if axes else dscores


def _added(xp, total, term, row):
    """``total`` with a term added to its rows from a certain one on."""
    whole = (None, None, None)
    key = (whole, whole, (row, row + term.shape[2], None), (0, term.shape[3], None))
    return xp.slice_update(total, xp.slice(total, key=key) + term, key=key)


@scaled_dot_product_attention.sample
def _(draw):
    return draw(draw.real((2, 4, 3, 2)), draw.real((2, 2, 5, 2)), draw.real((2, 2, 5, 3)), causal=True)


@scaled_dot_product_attention.sample
def _(draw):
    return draw(draw.real((1, 2, 3, 2)), draw.real((1, 2, 4, 2)), draw.real((1, 2, 4, 2)), draw.real((2, 1, 4)), scale=0.7, use_mask=True)


@op("_contrib_rotary_embedding", npx_name="rotary_embedding", real=True, keeps_shape=True)
def rotary_embedding(xp, data, positions: Positions, *, base: float = 10000.0):
    """Vectors (…, length, depth) with pairs of elements rotated by angles that grow with the positions (length,), or (…, length).

    Element k of the first half and element k of the second one are a pair, whose angle is position · base^(-2k / depth).
    Source: Su et al., "RoFormer: enhanced transformer with rotary position embedding", 2021, with the halves of GPT-NeoX.
    """
    length, depth = data.shape[-2:]
    if depth % 2 or positions.shape[-1:] != (length,):
        given = f"data {data.shape}, positions {positions.shape}"
        raise ShapeError("rotary_embedding: the shapes do not match", given, "pass (…, length, even depth) and (length,)")
    # in 16 bits neighbouring positions would be equal
    half, wide = depth // 2, "float64" if xp.dtype_of(data) == "float64" else "float32"
    rates = xp.exp(xp.cast(xp.iota(size=half, dtype="int64"), wide) * (-2 * math.log(base) / depth))
    angles = xp.expand_dims(xp.cast(positions, wide), len(positions.shape)) * rates
    cos, sin = (xp.cast_like(f(angles), xp.upcast(data)) for f in (xp.cos, xp.sin))
    a, b = (xp.upcast(xp.take_slice(data, start, start + half, -1)) for start in (0, half))
    return xp.cast_like(xp.concat(a * cos - b * sin, a * sin + b * cos, axis=-1), data)


@rotary_embedding.sample
def _(draw):
    return draw(draw.real((2, 3, 4)), draw.integer((3,), 0, 5))

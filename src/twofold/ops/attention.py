"""Products of multi-head attention on projections that interleave heads, as BERT in GluonNLP stores them.

The last axis of a projection (length, batch, heads · parts · depth) holds, for each head, its queries, keys and values one after the other.
Source: Vaswani et al., "Attention is all you need", NeurIPS 2017.
"""

import math

from ..errors import ParameterError, ShapeError
from ..opdef import op


def _parts(xp, name, data, heads, count):
    """The ``count`` parts (batch · heads, length, depth) of an interleaved projection."""
    if heads < 1:
        raise ParameterError(f"{name}: the number of heads must be positive", heads, "pass 1 or more")
    if len(data.shape) != 3 or data.shape[2] % (heads * count):
        given = f"{data.shape} for {heads} heads"
        raise ShapeError(f"{name}: the projection has the wrong shape", given, f"pass (length, batch, {count} · heads · depth)")
    length, batch, width = data.shape
    depth = width // (heads * count)
    # with the parts as the first axis, each of them is one block of memory and a batch of matrices for the product
    apart = xp.permute_dims(xp.reshape(data, shape=(length, batch * heads, count, depth)), axes=(2, 1, 0, 3))
    return [xp.reshape(part, shape=(batch * heads, length, depth)) for part in xp.split(apart, range(1, count), 0)]


def _scores(xp, queries, keys):
    """Scaled products (batch · heads, queries, keys)."""
    # the queries are scaled, as they are fewer than the products
    return xp.matmul(queries / math.sqrt(queries.shape[-1]), xp.matrix_transpose(keys))


def _mixed(xp, name, attention, values, heads):
    """The weighted values, as (length, batch, heads · depth)."""
    if len(attention.shape) != 3 or attention.shape[0] != values.shape[0] or attention.shape[2] != values.shape[1]:
        given = f"attention {attention.shape} for values {values.shape}"
        raise ShapeError(f"{name}: the attention has the wrong shape", given, "pass (batch · heads, queries, keys)")
    # (batch · heads, length, depth) back to (length, batch · heads, depth), whose last two axes are the heads' results side by side
    out = xp.permute_dims(xp.matmul(attention, values), axes=(1, 0, 2))
    length, rows, depth = out.shape
    return xp.reshape(out, shape=(length, rows // heads, heads * depth))


@op("_contrib_interleaved_matmul_selfatt_qk")
def selfatt_qk(xp, queries_keys_values, *, heads: int):
    """Scores queries · keysᵀ / sqrt(depth) of self-attention: (batch · heads, length, length).

    ``queries_keys_values`` is (length, batch, heads · 3 · depth).
    """
    queries, keys, _ = _parts(xp, "interleaved_matmul_selfatt_qk", queries_keys_values, heads, 3)
    return _scores(xp, queries, keys)


@op("_contrib_interleaved_matmul_selfatt_valatt", alike=True)
def selfatt_valatt(xp, queries_keys_values, attention, *, heads: int):
    """Values (length, batch, heads · 3 · depth) weighted by an attention (batch · heads, length, length).

    The result is (length, batch, heads · depth).
    """
    name = "interleaved_matmul_selfatt_valatt"
    values = _parts(xp, name, queries_keys_values, heads, 3)[2]
    return _mixed(xp, name, attention, values, heads)


@op("_contrib_interleaved_matmul_encdec_qk", alike=True)
def encdec_qk(xp, queries, keys_values, *, heads: int):
    """Scores queries · keysᵀ / sqrt(depth) of attention from a decoder to an encoder: (batch · heads, queries, keys).

    ``queries`` are (length, batch, heads · depth), ``keys_values`` (length, batch, heads · 2 · depth).
    """
    name = "interleaved_matmul_encdec_qk"
    (wanted,) = _parts(xp, name, queries, heads, 1)
    keys, _ = _parts(xp, name, keys_values, heads, 2)
    if wanted.shape[0] != keys.shape[0] or wanted.shape[2] != keys.shape[2]:
        given = f"queries {queries.shape}, keys and values {keys_values.shape}"
        raise ShapeError(f"{name}: batch or depth differ", given, "pass projections of one batch and depth")
    return _scores(xp, wanted, keys)


@op("_contrib_interleaved_matmul_encdec_valatt", alike=True)
def encdec_valatt(xp, keys_values, attention, *, heads: int):
    """Values (keys, batch, heads · 2 · depth) weighted by an attention (batch · heads, queries, keys).

    The result is (queries, batch, heads · depth).
    """
    name = "interleaved_matmul_encdec_valatt"
    values = _parts(xp, name, keys_values, heads, 2)[1]
    return _mixed(xp, name, attention, values, heads)


@op("_contrib_div_sqrt_dim", keeps_shape=True)
def div_sqrt_dim(xp, data):
    """The array divided by the square root of the size of its last axis."""
    return data / math.sqrt(data.shape[-1])


selfatt_qk.sample(lambda draw: draw(draw.real((3, 2, 12)), heads=2))
selfatt_valatt.sample(lambda draw: draw(draw.real((3, 2, 12)), draw.real((4, 3, 3)), heads=2))
encdec_qk.sample(lambda draw: draw(draw.real((2, 2, 4)), draw.real((3, 2, 8)), heads=2))
encdec_valatt.sample(lambda draw: draw(draw.real((3, 2, 8)), draw.real((4, 2, 3)), heads=2))
div_sqrt_dim.sample(lambda draw: draw(draw.real((2, 3))))

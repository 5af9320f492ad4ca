"""One element of each row replaced, arrays that take attributes of others, counts of non-zero elements and gradients of index_copy."""

from ..errors import ShapeError
from ..opdef import Index, Scalar, elementwise, op


@op("fill_element_0index", differentiable=False, keeps_shape=True)
def fill_element_0index(xp, lhs, mhs, rhs: Index):
    """``lhs`` (n, k) with element ``rhs[i]`` of row i replaced by ``mhs[i]``; ``rhs`` and ``mhs`` are (n,).

    Indices outside change nothing.
    """
    if len(lhs.shape) != 2 or mhs.shape != lhs.shape[:1] or rhs.shape != lhs.shape[:1]:
        given = f"{lhs.shape}, {mhs.shape}, {rhs.shape}"
        raise ShapeError("fill_element_0index: the shapes do not match", given, "pass (n, k), (n,), (n,)")
    there = xp.equal(xp.iota(size=lhs.shape[1], dtype="int64"), xp.expand_dims(xp.cast(rhs, "int64"), 1))
    return xp.where(there, xp.expand_dims(mhs, 1), lhs)


@fill_element_0index.infer
def _(shapes):
    lhs, mhs, rhs = shapes
    rows = None if lhs is None else lhs[:1]
    return [lhs, mhs or rows, rhs or rows]


fill_element_0index.sample(lambda draw: draw(draw.real((3, 4)), draw.real((3,)), draw.integer((3,), 0, 5), gradient=False))


@elementwise("_identity_with_attr_like_rhs", equal_shapes=True)
def identity_with_attr_like_rhs(xp, lhs, rhs):
    """``lhs``, whose shape, dtype and storage are inferred to be those of ``rhs``. The latter has a gradient of 0."""
    return xp.contiguous(lhs)


identity_with_attr_like_rhs.grad(lambda xp, dout, rhs: (dout, xp.zeros_like(rhs)))
identity_with_attr_like_rhs.sample(lambda draw: draw(draw.real((2, 3)), draw.real((2, 3))))


@elementwise("_contrib_backward_quadratic")
def backward_quadratic(xp, ograd, data, *, a: Scalar = 0.0, b: Scalar = 0.0, c: Scalar = 0.0):
    """``ograd · (2 · a · x + b)``: the gradient of ``quadratic`` for the head gradient ``ograd``. ``c`` has no effect."""
    return ograd * (2 * a * data + b)


backward_quadratic.sample(lambda draw: draw(draw.real((2, 3)), draw.real((2, 3)), a=0.5, b=-1.5))


@op("_contrib_backward_index_copy", outputs=2)
def backward_index_copy(xp, ograd, index_vector: Index):
    """The gradients of ``index_copy`` in its old and new arrays, for the head gradient ``ograd`` (n, …) and indices (k,)."""
    at = xp.checked_index(xp.cast(index_vector, "int64"), size=ograd.shape[0], negative=False)
    new = xp.take(ograd, at, axis=0)
    old = xp.index_update(ograd, xp.zeros_like(new), at, key=(0, *[None] * (len(ograd.shape) - 1)))
    return old, new


backward_index_copy.sample(lambda draw: draw(draw.real((4, 2)), draw.integer((2,), 0, 4, "int64"), gradient=False))

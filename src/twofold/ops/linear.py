"""Matrix products in MXNet's forms: dot, batch_dot, gemm, Khatri-Rao."""

import math
from typing import Literal

from ..errors import ShapeError, StorageError
from ..opdef import agreed, normalized_axis, op, stype_of
from .sparse_products import sparse_product

Storage = Literal["default", "csr", "row_sparse"]


def as_matrix(xp, x, inner_first):
    """An operand of `dot` as a matrix, without a copy: (k, n) if its first axis is contracted, else (n, k)."""
    n = math.prod(x.shape[1:] if inner_first else x.shape[:-1])
    return xp.reshape(x, shape=(x.shape[0], n) if inner_first else (n, x.shape[-1]))


def product_operands(xp, lhs, rhs, transpose_a, transpose_b):
    """Operands of `dot` as matrices (m, k) and (k, n), which may be transposed views."""
    a, b = as_matrix(xp, lhs, transpose_a), as_matrix(xp, rhs, not transpose_b)
    return (xp.matrix_transpose(a) if transpose_a else a), (xp.matrix_transpose(b) if transpose_b else b)


@op("dot", "_sparse_dot", method=True, symbol_method=False, alike=True, stored_as="forward_stype")
def dot(xp, lhs, rhs, *, transpose_a: bool = False, transpose_b: bool = False, forward_stype: Storage | None = None):
    """Contracts the last axis of ``lhs`` (the first if ``transpose_a``) with the first axis of ``rhs`` (the last if ``transpose_b``).

    The result has the other axes of ``lhs``, then those of ``rhs``. ``forward_stype`` is its storage type; if None, a csr matrix times a
    dense or row-sparse one gives a dense matrix, its transpose a row-sparse one, and a dense matrix times a csr one a csr matrix.
    """
    if forward_stype not in (None, "default"):
        raise StorageError("dot: the result of this operator is dense", f"forward_stype={forward_stype!r}", "call it on arrays")
    if not lhs.shape or not rhs.shape or lhs.shape[0 if transpose_a else -1] != rhs.shape[-1 if transpose_b else 0]:
        given = f"lhs {lhs.shape}, rhs {rhs.shape}, transpose_a={transpose_a}, transpose_b={transpose_b}"
        raise ShapeError("dot: lhs and rhs do not match", given, "make lhs.shape[-1] equal rhs.shape[0]")
    a, b = product_operands(xp, lhs, rhs, transpose_a, transpose_b)
    left = lhs.shape[1:] if transpose_a else lhs.shape[:-1]
    right = rhs.shape[:-1] if transpose_b else rhs.shape[1:]
    return xp.reshape(xp.matmul(a, b), shape=(*left, *right))


@dot.grad
def _(xp, dout, lhs, rhs, *, transpose_a, transpose_b):
    a, b = product_operands(xp, lhs, rhs, transpose_a, transpose_b)
    dlhs, drhs = product_gradients(xp, xp.reshape(dout, shape=(a.shape[0], b.shape[1])), a, b, transpose_a, transpose_b)
    return xp.reshape(dlhs, shape=lhs.shape), xp.reshape(drhs, shape=rhs.shape)


def product_gradients(xp, dout, a, b, transpose_a, transpose_b):
    """Gradients of a·b in the memory layout of the operands: those of transposed operands are computed transposed, without a copy."""
    t = xp.matrix_transpose
    da = xp.matmul(b, t(dout)) if transpose_a else xp.matmul(dout, t(b))
    db = xp.matmul(t(dout), a) if transpose_b else xp.matmul(t(a), dout)
    return da, db


@dot.sparse
def _(xp, dense, lhs, rhs, *, transpose_a, transpose_b, forward_stype):
    found = sparse_product(xp, lhs, rhs, transpose_a, transpose_b)
    # there is no product for these storage types, so the operands are made dense
    if found is None and forward_stype in (None, "default"):
        return None
    if found is None:
        found = dot(xp, xp.convert(lhs, "default"), xp.convert(rhs, "default"), transpose_a=transpose_a, transpose_b=transpose_b)
    return found if forward_stype in (None, stype_of(found)) else xp.convert(found, forward_stype)


# rows beyond the shape correspond to no column of the matrix
dot.spare_rows(lambda stypes, *, transpose_a, **_: stypes == ["csr", "row_sparse"] and not transpose_a)


@dot.gradient_stypes
def _(stypes, head, *, transpose_a, **_):
    if stypes[0] != "csr" or transpose_a:
        return ["default", "default"]
    # MXNet leaves zeros for the gradient of the matrix; here it has the places of the matrix
    return ["default" if stypes[1] == "csr" else "csr", "row_sparse"]


@dot.infer
def _(shapes, *, transpose_a, transpose_b, **_):
    lhs, rhs = shapes
    if lhs is None or rhs is None:
        return shapes
    # only the contracted axis is shared: its size may be known from either operand
    i, j = (0 if transpose_a else len(lhs) - 1), (len(rhs) - 1 if transpose_b else 0)
    inner = lhs[i] if lhs[i] is not None else rhs[j]
    return [(*lhs[:i], inner, *lhs[i + 1 :]), (*rhs[:j], inner, *rhs[j + 1 :])]


@dot.sample
def _(draw):
    a, b = draw.real((2, 3)), draw.real((3, 4))
    turned = [
        draw(draw.real((3, 2)), draw.real((4, 3)), transpose_a=True, transpose_b=True),
        draw(draw.real((2, 2, 3)), draw.real((3, 2, 2))),
    ]
    return [draw(a, b), *turned, draw(draw.real((3,)), draw.real((3,)))]


@op("batch_dot", "_npx_batch_dot", method=True, symbol_method=False, alike=True)
def batch_dot(xp, lhs, rhs, *, transpose_a: bool = False, transpose_b: bool = False, forward_stype: Storage | None = None):
    """Batched matrix products over the last two axes: (b…, m, k) and (b…, k, n) to (b…, m, n), dense whatever ``forward_stype`` is."""
    # the shapes are checked below, for operands without enough axes too
    a = xp.matrix_transpose(lhs) if transpose_a and len(lhs.shape) > 2 else lhs
    b = xp.matrix_transpose(rhs) if transpose_b and len(rhs.shape) > 2 else rhs
    if min(len(lhs.shape), len(rhs.shape)) < 3 or a.shape[:-2] != b.shape[:-2] or a.shape[-1] != b.shape[-2]:
        given = f"lhs {lhs.shape}, rhs {rhs.shape}, transpose_a={transpose_a}, transpose_b={transpose_b}"
        raise ShapeError("batch_dot: lhs and rhs do not match", given, "pass (b…, m, k) and (b…, k, n)")
    return xp.matmul(a, b)


@batch_dot.grad
def _(xp, dout, lhs, rhs, *, transpose_a, transpose_b):
    a = xp.matrix_transpose(lhs) if transpose_a else lhs
    b = xp.matrix_transpose(rhs) if transpose_b else rhs
    return product_gradients(xp, dout, a, b, transpose_a, transpose_b)


batch_dot.sample(lambda draw: draw(draw.real((2, 2, 3)), draw.real((2, 3, 4))))
batch_dot.sample(lambda draw: draw(draw.real((2, 3, 2)), draw.real((2, 4, 3)), transpose_a=True, transpose_b=True))


@op("_matrix_product", alone=True)
def matrix_product(xp, a, b, *, transpose_a: bool = False, transpose_b: bool = False):
    """Matrix product over the last two axes, which may be exchanged in either operand: BLAS reads it in place, without a copy."""
    return xp.matmul(xp.matrix_transpose(a) if transpose_a else a, xp.matrix_transpose(b) if transpose_b else b)


matrix_product.sample(lambda draw: draw(draw.real((3, 2)), draw.real((4, 3)), transpose_a=True, transpose_b=True))
matrix_product.sample(lambda draw: draw(draw.real((2, 3, 2)), draw.real((3, 4)), transpose_a=True))


@op("_linalg_gemm2", "linalg_gemm2", alike=True)
def gemm2(xp, A, B, *, transpose_a: bool = False, transpose_b: bool = False, alpha: float = 1.0, axis: int = -2):
    """``alpha`` · op(A) · op(B) over the last axis (columns) and ``axis`` (rows) of arrays whose other axes agree."""
    ndim = len(A.shape)
    if ndim < 2 or len(B.shape) != ndim:
        raise ShapeError(
            "linalg.gemm2: needs matrices with equal numbers of dimensions", f"{A.shape} and {B.shape}", "pass (…, m, k) and (…, k, n)"
        )
    rows = normalized_axis(axis, ndim, "linalg.gemm2: axis")
    a, b = xp.moveaxis(A, rows, -2), xp.moveaxis(B, rows, -2)
    a, b = (xp.matrix_transpose(a) if transpose_a else a), (xp.matrix_transpose(b) if transpose_b else b)
    if a.shape[:-2] != b.shape[:-2] or a.shape[-1] != b.shape[-2]:
        given = f"A {A.shape}, B {B.shape}, transpose_a={transpose_a}, transpose_b={transpose_b}, axis={axis}"
        raise ShapeError(
            "linalg.gemm2: A and B do not match", given, "make the columns of op(A) equal the rows of op(B), and the other axes equal"
        )
    product = xp.matmul(a, b)
    # a factor of 1 would be a step of the program
    return xp.moveaxis(product if alpha == 1 else product * alpha, -2, rows)


gemm2.sample(lambda draw: draw(draw.real((2, 3)), draw.real((3, 4)), alpha=-2.0))
gemm2.sample(lambda draw: draw(draw.real((3, 2, 2)), draw.real((2, 2, 3)), axis=0))


@op("_linalg_gemm", "linalg_gemm", alike=True)
def gemm(xp, A, B, C, *, transpose_a: bool = False, transpose_b: bool = False, alpha: float = 1.0, beta: float = 1.0, axis: int = -2):
    """``alpha`` · op(A) · op(B) + ``beta`` · C; see `gemm2`."""
    product = gemm2(xp, A, B, transpose_a=transpose_a, transpose_b=transpose_b, alpha=alpha, axis=axis)
    if C.shape != product.shape:
        raise ShapeError(
            "linalg.gemm: C and the product do not match", f"C {C.shape}, product {product.shape}", "give C the product's shape"
        )
    return product + (C if beta == 1 else C * beta)


@gemm.infer
def _(shapes, results, *, transpose_a, transpose_b, axis, **_):
    a, b, c = shapes
    if axis == -2 and a is not None and b is not None and min(len(a), len(b)) > 1:
        # the result's shape follows only where the rows are on the usual axis
        product = (*a[:-2], a[-1 if transpose_a else -2], b[-2 if transpose_b else -1])
    else:
        product = None
    whole = agreed(c, product, results[0])
    return [a, b, whole], [whole]


gemm.sample(lambda draw: draw(draw.real((2, 2, 3)), draw.real((2, 4, 3)), draw.real((2, 2, 4)), transpose_b=True, alpha=2.0, beta=-0.5))


@op("khatri_rao", count_param="num_args", alike=True)
def khatri_rao(xp, *args):
    """Column-wise Kronecker product of matrices (m1, k), (m2, k), … : (m1·m2·…, k)."""
    columns = args[0].shape[-1]
    if any(len(a.shape) != 2 or a.shape[1] != columns for a in args):
        raise ShapeError(
            "khatri_rao: needs matrices with equal numbers of columns", ", ".join(str(a.shape) for a in args), "pass (m1, k), (m2, k), …"
        )
    out = args[0]
    for a in args[1:]:
        # (m1, 1, k) times (1, m2, k): all pairs of rows, column by column
        pairs = xp.expand_dims(out, 1) * xp.expand_dims(a, 0)
        out = xp.reshape(pairs, shape=(out.shape[0] * a.shape[0], columns))
    return out


khatri_rao.sample(lambda draw: draw(draw.real((2, 3)), draw.real((4, 3)), draw.real((1, 3))))

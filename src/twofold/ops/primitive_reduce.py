"""Primitives that reduce or scan along axes, sort, or multiply matrices, with their gradients."""

import builtins
import math
import string

from ..dtype import promote
from ..errors import ShapeError
from ..opdef import Axis, broadcast_shapes, normalized_axes, primitive, reduced_shape
from .primitive_gather import put_along_axis


def reduction(dtype_of, **facts):
    """Declare a reduction over axes, whose result dtype is a function of the operand's."""

    def declare(rule):
        new = primitive(**facts)(rule)
        new.type(lambda data, *, axis, keepdims: (reduced_shape(data.shape, axis, keepdims), dtype_of(data.dtype)))
        new.apart(lambda few, flags, data, *, axis, keepdims: None if 0 in normalized_axes(axis, len(data.shape)) else {})
        return new

    return declare


def _same(dtype):
    return dtype


def _wide(dtype):
    """The dtype in which NumPy sums: small integers and bools are widened to 64 bits."""
    if dtype == "bool" or dtype.startswith("int"):
        return "int64"
    return "uint64" if dtype.startswith("uint") else dtype


def spread(xp, value, data, axis, keepdims):
    """The result of a reduction, or its gradient, broadcast back over the reduced axes."""
    if not keepdims:
        # the reduced axes come back with size 1, so that the broadcast knows where they were
        value = xp.reshape(value, shape=reduced_shape(data.shape, axis, True))
    return xp.broadcast_to(value, shape=data.shape)


@reduction(_wide, packed=True, row_reduction=True, symbol=("sum",), complex_gradient=True, linear="joint", batch="axis")
def sum(xp, data, *, axis: Axis = None, keepdims: bool = False):
    """Sum over axes (all if None), by the same tree of partial sums in every mode of execution."""


sum.grad(lambda xp, dout, data, *, axis, keepdims: spread(xp, dout, data, axis, keepdims))


@sum.logarithm
def _(xp, node):
    terms, axis = node.operands[0], node.bound_op.params["axis"]
    # log Σ exp(u) is computed with the largest u factored out
    found = xp.log_of(terms)
    return None if found is None else xp.log_sum_exp(found, normalized_axes(axis, len(terms.shape)), node.shape)


@reduction(_wide, symbol=("prod",), reference=lambda np, data, **params: np.prod(data, **params), complex_gradient=True, batch="axis")
def prod(xp, data, *, axis: Axis = None, keepdims: bool = False):
    """Product over axes."""


@prod.grad
def _(xp, dout, data, out, *, axis, keepdims):
    if 0 in data.shape:
        return xp.zeros_like(data)
    # out / data if no factor is 0. Else the product of the others is computed without a division, for derivatives of higher order, too
    zero = xp.equal(data, 0)
    has_zero = spread(xp, xp.max(zero, axis=axis, keepdims=keepdims), data, axis, keepdims)
    filled = xp.where(has_zero, 1, data)
    usual = spread(xp, xp.prod(filled, axis=axis, keepdims=keepdims), data, axis, keepdims) / filled
    others = _product_of_others(xp, xp.where(has_zero, data, 1), normalized_axes(axis, len(data.shape)))
    return spread(xp, dout, data, axis, keepdims) * xp.where(has_zero, others, usual)


def _product_of_others(xp, data, axes):
    """For each element the product over axes of all elements but itself."""
    kept = [k for k in builtins.range(len(data.shape)) if k not in axes]
    order = (*kept, *axes)
    moved = xp.permute_dims(data, axes=order)
    rows = xp.reshape(moved, shape=(*moved.shape[: len(kept)], math.prod(moved.shape[len(kept) :])))
    size = rows.shape[-1]
    if size < 2:
        return xp.ones_like(data)
    one = xp.ones_like(xp.take_slice(rows, 0, 1, -1))
    ahead = xp.concat(one, xp.take_slice(xp.cumulative_prod(rows, axis=-1), 0, size - 1, -1), axis=-1)
    behind = xp.cumulative_prod(xp.flip(rows, -1), axis=-1)
    behind = xp.flip(xp.concat(one, xp.take_slice(behind, 0, size - 1, -1), axis=-1), -1)
    back = tuple(order.index(k) for k in builtins.range(len(order)))
    return xp.permute_dims(xp.reshape(ahead * behind, shape=moved.shape), axes=back)


def _extremum_grad(xp, dout, data, out, *, axis, keepdims):
    # each element equal to the extremum gets the whole gradient, not a share of it, as in MXNet
    return spread(xp, dout, data, axis, keepdims) * xp.equal(data, spread(xp, out, data, axis, keepdims))


@reduction(
    _same, packed=True, row_reduction=True, symbol=("max",), reference=lambda np, data, **params: np.max(data, **params), batch="axis"
)
def max(xp, data, *, axis: Axis = None, keepdims: bool = False):
    """Maximum over axes."""


@reduction(
    _same, packed=True, row_reduction=True, symbol=("min",), reference=lambda np, data, **params: np.min(data, **params), batch="axis"
)
def min(xp, data, *, axis: Axis = None, keepdims: bool = False):
    """Minimum over axes."""


for _op in (max, min):
    _op.grad(_extremum_grad)


def _of_single_elements(xp, node):
    """The reduction of axes of size 1 is a reshape."""
    (data,) = node.operands
    return xp.simplified(xp.reshape(data, shape=node.shape)) if data.size == node.size and data.dtype == node.dtype else None


for _op in (sum, max, min):
    _op.simplify(_of_single_elements)


@reduction(lambda dtype: "bool", differentiable=False, reference=lambda np, data, **params: np.any(data, **params), batch="axis")
def any(xp, data, *, axis: Axis = None, keepdims: bool = False):
    """Whether any element along axes is nonzero."""


@reduction(lambda dtype: "bool", differentiable=False, reference=lambda np, data, **params: np.all(data, **params), batch="axis")
def all(xp, data, *, axis: Axis = None, keepdims: bool = False):
    """Whether all elements along axes are nonzero."""


def _reduction_cases(name):
    """The conformance cases of a reduction that NumPy has under a name."""

    def rule(make):
        want = getattr(make.np, name)
        for axis, keepdims in ((None, False), (None, True), (1, False), (-1, True), ((0, 2), False), ((2, 0), True)):
            yield make(make.numbers((2, 3, 2), "float32"), axis=axis, keepdims=keepdims, want=want)
        for dtype in ("bool", "int8", "int32", "uint8", "uint64", "float64"):
            yield make(make.numbers((2, 3), dtype), axis=0, keepdims=False, want=want)
        yield make(make.numbers((), "float32"), axis=None, keepdims=False, want=want)
        yield make(make.array([], "float32").reshape(0, 2), axis=1, keepdims=False, want=want)
        if name not in ("max", "min"):  # the extremum of no elements is undefined
            yield make(make.array([], "float32").reshape(0, 2), axis=0, keepdims=True, want=want)
        yield make(make.array([1, math.nan, 2], "float32"), axis=0, keepdims=False, want=want)

    return rule


for _op in (sum, prod, max, min, any, all):
    _op.cases(_reduction_cases(_op.name))


@reduction(lambda dtype: "int64", differentiable=False, reference=lambda np, data, **params: np.argmax(data, **params), batch="axis")
def argmax(xp, data, *, axis: Axis = None, keepdims: bool = False):
    """Index (int64) of the first maximum along an axis (flattened if None)."""


@reduction(lambda dtype: "int64", differentiable=False, reference=lambda np, data, **params: np.argmin(data, **params), batch="axis")
def argmin(xp, data, *, axis: Axis = None, keepdims: bool = False):
    """Index (int64) of the first minimum along an axis (flattened if None)."""


def _extremum_cases(name):
    """The conformance cases of the index of an extremum."""

    def rule(make):
        want = getattr(make.np, name)
        for axis, keepdims in ((None, False), (1, False), (-1, True), (None, True)):
            yield make(make.array([[1, 3, 3], [2, 0, 0]], "float32"), axis=axis, keepdims=keepdims, want=want)
        for dtype in ("bool", "int32"):
            yield make(make.numbers((5,), dtype), axis=0, keepdims=False, want=want)

    return rule


for _op in (argmax, argmin):
    _op.cases(_extremum_cases(_op.name))


@primitive(reference=lambda np, data, *, axis: np.cumsum(data, axis), complex_gradient=True, linear="joint", batch="axis")
def cumulative_sum(xp, data, *, axis: int):
    """Running sum along an axis."""


cumulative_sum.type(lambda data, *, axis: (data.shape, _wide(data.dtype)))
# the transpose of a sum from the front is one from the end
cumulative_sum.grad(lambda xp, dout, *, axis: xp.flip(xp.cumulative_sum(xp.flip(dout, axis), axis=axis), axis))


@primitive(reference=lambda np, data, *, axis: np.cumprod(data, axis), complex_gradient=True, batch="axis")
def cumulative_prod(xp, data, *, axis: int):
    """Running product along an axis."""


cumulative_prod.type(lambda data, *, axis: (data.shape, _wide(data.dtype)))


@cumulative_prod.grad
def _(xp, dout, data, out, *, axis):
    """The product of the elements before each one, times s[j] = dout[j] + data[j + 1] s[j + 1]; without divisions, so correct at zeros.

    The recurrence is evaluated by doubling: W. D. Hillis and G. L. Steele, "Data parallel algorithms", 1986.
    """
    size = data.shape[axis]
    if size == 0:
        return dout

    def later(x, step):
        """``x[j + step]``, with 0 beyond the end."""
        width = tuple((0, step) if k == axis % len(x.shape) else (0, 0) for k in range(len(x.shape)))
        return xp.pad(xp.take_slice(x, step, None, axis), width=width)

    # after each round `total` covers twice as many later elements, and `factor` is the product over them
    factor, total, step = later(data, 1), dout, 1
    while step < size:
        factor, total, step = factor * later(factor, step), total + factor * later(total, step), 2 * step
    before = xp.concat(xp.ones_like(xp.take_slice(out, 0, 1, axis)), xp.take_slice(out, 0, size - 1, axis), axis=axis)
    return before * total


def _scan_cases(name):
    """The conformance cases of a running sum or product."""

    def rule(make):
        want = getattr(make.np, name)
        for dtype in ("bool", "int8", "uint8", "float32"):
            yield make(make.numbers((2, 4), dtype), axis=1, want=want)
        yield make(make.numbers((2, 4), "float32"), axis=-2, want=want)

    return rule


cumulative_sum.cases(_scan_cases("cumsum"))
cumulative_prod.cases(_scan_cases("cumprod"))


def _sorting(np, data, *, axis, descending=False, first=None):
    if descending:
        # equal elements must stay in order: sort from the end, so that reversing the result restores their order
        order = np.flip(data.shape[axis] - 1 - np.argsort(np.flip(data, axis), axis, kind="stable"), axis)
    else:
        order = np.argsort(data, axis, kind="stable")
    return order if first is None else np.take(order, np.arange(first), axis)


@primitive(differentiable=False, host_only=True, reference=_sorting, batch="axis")
def argsort(xp, data, *, axis: int, descending: bool = False, first: int | None = None):
    """Indices (int64) that sort along an axis, or the first so many of them; the sort is stable, in descending order too."""


@argsort.type
def _(data, *, axis, descending, first):
    at = axis % len(data.shape)
    return (data.shape if first is None else (*data.shape[:at], first, *data.shape[at + 1 :])), "int64"


@argsort.cases
def _(make):
    def want(x, axis, descending, first=None):
        ranks = make.np.unique(x, return_inverse=True)[1].reshape(x.shape)
        order = make.np.argsort(-ranks if descending else ranks, axis, kind="stable")
        return order if first is None else make.np.take(order, make.np.arange(first), axis)

    for dtype in ("float32", "int32", "bool", "uint8"):
        x = make.array([[3, 1, 3, 2, 1], [0, 0, 5, 1, 5]], dtype)
        for axis, descending in ((1, False), (-1, True), (0, True)):
            yield make(x, axis=axis, descending=descending, want=want)
            yield make(x, axis=axis, descending=descending, first=1, want=want)


def _sorted(np, data, *, axis, descending):
    found = np.sort(data, axis)
    return np.flip(found, axis) if descending else found


@primitive(host_only=True, reference=_sorted, complex_gradient=True, batch="axis")
def sort(xp, data, *, axis: int, descending: bool = False):
    """The elements along an axis in order; equal ones, such as 0.0 and -0.0, in any order."""


sort.type(lambda data, *, axis, descending: (data.shape, data.dtype))


@sort.grad
def _(xp, dout, data, *, axis, descending):
    # the places are found here, by another sort: sorting values alone, as forward does, is several times as fast as an argsort
    return put_along_axis(xp, dout, xp.argsort(data, axis=axis, descending=descending), axis, data.shape[axis])


@sort.cases
def _(make):
    for dtype in ("float32", "int32", "bool", "uint8"):
        x = make.array([[3, 1, 3, 2, 1], [0, 0, 5, 1, 5]], dtype)
        for axis, descending in ((1, False), (-1, True), (0, True)):
            yield make(x, axis=axis, descending=descending)


@primitive(packed=True, complex_gradient=True, alone=True, symbol=("dot",), python="matmul", numpy_names=("matmul",), linear="each")
def matmul(xp, lhs, rhs):
    """Matrix product over the last two axes, broadcasting the others; vectors are treated as in NumPy."""


@matmul.type
def _(lhs, rhs):
    a, b = lhs.shape, rhs.shape
    if not a or not b or a[-1] != (b[-2] if len(b) > 1 else b[0]):
        raise ShapeError("matmul: inner sizes differ", f"{a} and {b}", "make lhs.shape[-1] equal rhs.shape[-2]")
    lead = broadcast_shapes("matmul", [a[:-2], b[:-2]])
    return (*lead, *(a[-2:-1] if len(a) > 1 else ()), *(b[-1:] if len(b) > 1 else ())), promote(lhs.dtype, rhs.dtype)


matmul.cost(lambda result, lhs, rhs: result.size * lhs.shape[-1])


@matmul.batched
def _(xp, size, flags, lhs, rhs):
    a, b = len(lhs.shape) - flags[0], len(rhs.shape) - flags[1]
    # a matrix that all examples share: the rows of all examples are those of one product
    if not flags[1] and b < 3:
        rows = xp.matmul(xp.reshape(lhs, shape=(math.prod(lhs.shape[:-1]), lhs.shape[-1])), rhs)
        return xp.reshape(rows, shape=(*lhs.shape[:-1], *rhs.shape[1:]))
    if not flags[0] and a < 3 and b == 1:
        return xp.matmul(rhs, lhs if a == 1 else xp.matrix_transpose(lhs))
    # vectors become a row and a column; the batch comes before as many axes as the other operand has
    lhs = xp.expand_dims(lhs, -2) if a == 1 else lhs
    rhs = xp.expand_dims(rhs, -1) if b == 1 else rhs
    most = builtins.max(a, b, 2) + 1
    wide = [
        xp.reshape(x, shape=(size, *[1] * (most - len(x.shape)), *x.shape[1:])) if f else x for x, f in zip((lhs, rhs), flags, strict=True)
    ]
    found = xp.matmul(*wide)
    found = xp.squeeze(found, -1) if b == 1 else found
    return xp.squeeze(found, -1 if b == 1 else -2) if a == 1 else found


@matmul.grad
def _(xp, dout, lhs, rhs):
    # vectors become a row and a column, as in NumPy's matmul, and lose that axis again in _fit
    a = lhs if len(lhs.shape) > 1 else xp.reshape(lhs, shape=(1, *lhs.shape))
    b = rhs if len(rhs.shape) > 1 else xp.reshape(rhs, shape=(*rhs.shape, 1))
    lead = broadcast_shapes("matmul", [a.shape[:-2], b.shape[:-2]])
    d = xp.reshape(dout, shape=(*lead, a.shape[-2], b.shape[-1]))
    da, db = xp.matmul(d, xp.matrix_transpose(b)), xp.matmul(xp.matrix_transpose(a), d)
    return _fit(xp, da, a, lhs), _fit(xp, db, b, rhs)


@matmul.cases
def _(make):
    shapes = (((2, 3), (3, 4)), ((3,), (3,)), ((3,), (3, 2)), ((2, 3), (3,)), ((2, 1, 3, 4), (5, 4, 2)), ((2, 0), (0, 3)), ((0, 2), (2, 2)))
    for a, b in shapes:
        yield make(make.distinct(a), make.distinct(b) + 1, want=make.np.matmul)
    for a, b in (("int32", "int32"), ("float32", "float64"), ("bool", "bool"), ("float16", "float16")):
        yield make(make.numbers((2, 3), a), make.numbers((3, 2), b), want=make.np.matmul)


def _fit(xp, grad, matrix, operand):
    """The gradient of a broadcast operand, reduced to the operand's shape."""
    lead = len(grad.shape) - len(matrix.shape)
    axes = (*range(lead), *(k + lead for k, n in enumerate(matrix.shape[:-2]) if n == 1 and grad.shape[k + lead] != 1))
    return xp.reshape(xp.sum(grad, axis=axes) if axes else grad, shape=operand.shape)


@primitive(complex_gradient=True, linear="each")
def einsum(xp, *arrays, subscripts: str):
    """Einstein summation; ``subscripts`` are explicit, without ellipses, and repeat no index within an operand."""


def _terms(subscripts):
    left, right = subscripts.split("->")
    return left.split(","), right


def _sizes(operands, subscripts):
    """The size of each index. A size of 1 broadcasts, as in NumPy."""
    sizes: dict[str, int] = {}
    for term, a in operands:
        for letter, n in zip(term, a.shape, strict=True):
            if sizes.setdefault(letter, n) not in (n, 1) and n != 1:
                raise ShapeError("einsum: an index has two sizes", f"{letter}: {sizes[letter]} and {n} in {subscripts}", "make them equal")
            sizes[letter] = n if sizes[letter] == 1 else sizes[letter]
    return sizes


@einsum.type
def _(*arrays, subscripts):
    terms, right = _terms(subscripts)
    sizes = _sizes(zip(terms, arrays, strict=True), subscripts)
    return tuple(sizes[letter] for letter in right), promote(*[a.dtype for a in arrays])


@einsum.batched
def _(xp, size, flags, *arrays, subscripts):
    terms, right = _terms(subscripts)
    letter = next(c for c in string.ascii_letters if c not in subscripts)
    lead = [letter + t if f else t for t, f in zip(terms, flags, strict=True)]
    return xp.einsum(*arrays, subscripts=",".join(lead) + "->" + letter + right)


@einsum.grad
def _(xp, dout, arrays, *, subscripts):
    terms, right = _terms(subscripts)
    grads = []
    for k, term in enumerate(terms):
        others = [(t, a) for j, (t, a) in enumerate(zip(terms, arrays, strict=True)) if j != k]
        # a letter that only one operand has was summed over: the gradient is constant along its axis, and is broadcast
        known = _sizes([(right, dout), *others], subscripts)
        # along an axis of size 1 that was broadcast, the gradient is a sum
        summed = {letter for letter, n in zip(term, arrays[k].shape, strict=True) if known.get(letter, 1) != n == 1}
        kept = "".join(letter for letter in term if letter in known and letter not in summed)
        g = xp.einsum(dout, *[a for _, a in others], subscripts=",".join([right, *[t for t, _ in others]]) + "->" + kept)
        shape = tuple(known[letter] if letter in kept else 1 for letter in term)
        grads.append(xp.broadcast_to(xp.reshape(g, shape=shape), shape=arrays[k].shape))
    return tuple(grads)


@einsum.cases
def _(make):
    for subscripts, shapes in (
        ("ij,jk->ik", ((2, 3), (3, 4))),
        ("ij->ji", ((2, 3),)),
        ("bij,bjk->bik", ((2, 2, 3), (2, 3, 2))),
        ("i,j->ij", ((2,), (3,))),
        ("ij->", ((2, 3),)),
        ("ij,ij->i", ((2, 3), (2, 3))),
        ("ijk,kl,l->ij", ((2, 3, 2), (2, 4), (4,))),
    ):
        operands = [make.distinct(shape) - 2 for shape in shapes]
        yield make(*operands, subscripts=subscripts, want=lambda *a, subscripts: make.np.einsum(subscripts, *a))


def count_of(shape, axis):
    """The number of elements that a reduction over axes combines."""
    return math.prod(shape[a] for a in normalized_axes(axis, len(shape)))

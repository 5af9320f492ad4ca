"""Rare operators: scattered arithmetic, histograms, windows of an even number of channels, quotients of sparse arrays, inferred dtypes."""

import numpy as np


def _matrix(mx):
    return mx.nd.array([[1, 0, 2], [0, 0, 0], [0, 3, 0]])


def _by_storage(mx, function):
    found = [function(_matrix(mx).tostype(stype)) for stype in ("default", "row_sparse", "csr")]
    return [[f.stype, f.asnumpy()] for f in found]


def scalars_are_added_to_what_is_stored(mx):
    return _by_storage(mx, lambda x: mx.nd._internal._scatter_plus_scalar(x, scalar=2.5))


def scalars_are_subtracted_from_what_is_stored(mx):
    return _by_storage(mx, lambda x: mx.nd._internal._scatter_minus_scalar(x, scalar=2.5))


def scattered_quotients(mx):
    divisors = [_matrix(mx) + 1, _matrix(mx).tostype("row_sparse") * 2]
    found = _by_storage(mx, lambda x: mx.nd._internal._scatter_elemwise_div(x, divisors[0]))
    rows = mx.nd._internal._scatter_elemwise_div(_matrix(mx).tostype("row_sparse"), divisors[1])
    return [*found, [rows.stype, rows.asnumpy()]]


def scattered_sums_of_symbols(mx):
    found = []
    for stype in ("default", "row_sparse", "csr"):
        symbol = mx.sym._internal._scatter_plus_scalar(mx.sym.Variable("x", stype=stype), scalar=2.0)
        out = symbol.bind(mx.current_context(), {"x": _matrix(mx).tostype(stype)}).forward()[0]
        found.append([out.stype, out.asnumpy()])
    return found


def histograms(mx):
    values = mx.nd.array([0, 1, 1, 2, 3, 9])
    found = [
        mx.nd.histogram(values, bins=3),
        mx.nd.histogram(values.astype("int32"), bins=np.int64(3)),
        mx.nd.histogram(values, bins=3, range=(0, 6)),
        mx.nd.histogram(values.astype("int32"), bins=3, range=(0, 6)),
        mx.nd.histogram(values, bins=mx.nd.array([0, 1, 2, 4])),
    ]
    return [[type(f).__name__, *f] for f in found]


def histograms_of_the_dialect(mx):
    found = mx.np.histogram(mx.np.array([1.0, 2.0, 3.0]), bins=2, range=(0, 4))
    return [type(found).__name__, *found]


def factors_are_plain_tuples(mx):
    return type(mx.np.linalg.qr(mx.np.array([[1.0, 2.0], [3.0, 4.0]]))).__name__


def the_norm_of_clipped_arrays(mx):
    norm = mx.gluon.utils.clip_global_norm([mx.nd.ones((2, 2)), mx.nd.ones(3)], 1.0)
    return [type(norm).__name__, norm]


def responses_over_even_numbers_of_channels(mx):
    found = []
    for nsize in (2, 4, 6):
        x = mx.nd.array([[1, 2, 3, 4, 5]])
        x.attach_grad()
        with mx.autograd.record():
            y = mx.nd.LRN(x, nsize=nsize, alpha=1.0, beta=0.75, knorm=2.0)
        y.backward()
        found += [y, x.grad]
    return found


def quotients_of_sparse_arrays(mx):
    dense = mx.nd.array([[1, 2, 4], [0, 5, 6], [7, 0, 9]])
    found = [mx.nd.sparse.divide(_matrix(mx).tostype(stype), dense) for stype in ("default", "row_sparse", "csr")]
    return [[f.stype, f.asnumpy()] for f in found]


def zero_added_from_the_left(mx):
    return _by_storage(mx, lambda x: mx.nd.sparse.add(0, x))


def dtypes_that_old_layers_assume(mx):
    data = mx.sym.Variable("x")
    symbols = [mx.sym.InstanceNorm(data), mx.sym.IdentityAttachKLSparseReg(data), mx.sym.Crop(data, mx.sym.Variable("y"), num_args=2)]
    return [[[t.__name__ for t in types] for types in symbol.infer_type()] for symbol in symbols]


def sizes_are_reshaped_to_before_the_keyword(mx):
    return mx.nd.arange(6).reshape((3, 2), shape=(6,))

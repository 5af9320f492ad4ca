"""Gradients from results that have none, and from sparse results."""


def _gradient(mx, x, function, head=None):
    x.attach_grad()
    x.grad[:] = 7
    with mx.autograd.record():
        y = function(x)
    y.backward(*([] if head is None else [head]))
    return x.grad


def of_results_that_are_integers(mx):
    nd = mx.nd
    functions = [
        lambda x: x.shape_array(),
        lambda x: x.size_array(),
        lambda x: x.argsort(dtype="int32"),
        lambda x: x.topk(dtype="int32"),
        lambda x: nd.one_hot(x[0], 4, dtype="int32"),
        lambda x: nd.contrib.index_array(x),
        lambda x: nd.random.multinomial(nd.softmax(x)),
        lambda x: nd.contrib.quantize_v2(x)[0],
    ]
    return [_gradient(mx, nd.array([[1.0, -2.0], [0.0, 3.0]]), f) for f in functions]


def of_results_of_the_dialect_that_are_integers_or_bools(mx):
    np, npx = mx.np, mx.npx
    functions = [
        lambda x: np.argmax(x),
        lambda x: np.argmin(x, axis=1),
        lambda x: np.argsort(x),
        lambda x: np.isnan(x),
        lambda x: np.isfinite(x),
        lambda x: np.logical_not(x),
        lambda x: np.any(x),
        lambda x: npx.shape_array(x),
        lambda x: np.where(x, 1, 0),
    ]
    mx.npx.set_np()
    try:
        return [_gradient(mx, np.array([[1.0, -2.0], [0.0, 3.0]]), f) for f in functions]
    finally:
        mx.npx.reset_np()


def of_sparse_results(mx):
    found = []
    for function in (mx.nd.relu, mx.nd.square):
        for stype in ("row_sparse", "csr"):
            for head in (None, mx.nd.array([[1, 2, 3], [4, 5, 6], [7, 8, 9]])):
                x = mx.nd.array([[1, 0, 2], [0, 0, 0], [0, 3, 0]]).tostype(stype)
                x.attach_grad()
                with mx.autograd.record():
                    y = function(x)
                y.backward(*([] if head is None else [head]))
                found.append([x.grad.stype, x.grad.asnumpy()])
    return found

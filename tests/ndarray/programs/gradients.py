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


def of_labels_with_fractions(mx):
    """Labels and lengths that are no whole numbers are truncated, those of `ctc_loss` rounded."""
    nd = mx.nd
    x = nd.sin(nd.arange(12)).reshape((4, 3))
    labels = nd.array([0, 1.9, 0.84, 1.2])
    functions = [
        lambda x: nd.SoftmaxOutput(x, labels),
        lambda x: nd.SoftmaxOutput(x, labels, use_ignore=True, ignore_label=1.5, normalization="valid"),
        lambda x: nd.SoftmaxOutput(x, labels, smooth_alpha=0.1),
        lambda x: nd.SoftmaxOutput(x.reshape((2, 3, 2)), nd.array([[0, 1.7], [0.3, 2.2]]), multi_output=True),
        lambda x: nd.SVMOutput(x, labels),
        lambda x: nd.SequenceMask(x.reshape((4, 3, 1)), nd.array([1.9, 2.5, 3]), use_sequence_length=True),
        lambda x: nd.SequenceLast(x.reshape((4, 3, 1)), nd.array([1.9, 2.5, 3]), use_sequence_length=True),
        lambda x: nd.SequenceReverse(x.reshape((4, 3, 1)), nd.array([1.9, 2.5, 3]), use_sequence_length=True),
        lambda x: nd.ctc_loss(x.reshape((4, 1, 3)), nd.array([[1.6, 0.7]])),
        lambda x: nd.pick(x, labels),
        lambda x: nd.take(x, labels),
    ]
    return [_gradient(mx, x, f) for f in functions]

"""What gives another result on purpose; rows of docs/reference/compatibility.md say why."""

from tests.oracle_programs import fails


def where_with_a_scalar(mx):
    found = []
    for chosen_where in (True, False):
        x = mx.np.array([1.0, 2.0, 3.0])
        condition = mx.np.array([1, 0, 1], dtype="bool")
        x.attach_grad()
        with mx.autograd.record():
            y = mx.np.where(condition, x, 0) if chosen_where else mx.np.where(condition, 0, x)
        y.backward()
        found.append(x.grad)
    return found


def nesterovs_momentum(mx):
    found = []
    for in_place in (False, True):
        weight, gradient, momentum = mx.nd.array([1.0, 2.0]), mx.nd.array([0.5, -1.0]), mx.nd.array([0.3, 0.2])
        out = {"out": weight} if in_place else {}
        new = mx.nd.nag_mom_update(weight, gradient, momentum, lr=0.1, momentum=0.9, wd=0.5, **out)
        found.append([new, momentum])
    return found


def bools_with_true(mx):
    mask = mx.nd.array([1, 0, 1], dtype="bool")
    return [mask == True, mask * True, mask + True, mx.nd.arange(3)[mask == True]]  # noqa: E712


def bools_as_indices_of_writes(mx):
    found = []
    for index in (True, False):
        x = mx.nd.arange(3)
        x[index] = 9
        found.append(x)
    return found


def numbers_on_the_left_of_sparse_arrays(mx):
    x = mx.nd.array([[1, 0, 2], [0, 0, 4]]).tostype("csr")
    return [mx.nd.sparse.subtract(2, x).asnumpy(), mx.nd.sparse.divide(2, x + 0).asnumpy()[:, 2]]


def gradients_of_what_is_not_stored(mx):
    found = []
    for stype in ("row_sparse", "csr"):
        x = mx.nd.array([[1, 0], [0, 0]]).tostype(stype)
        x.attach_grad()
        with mx.autograd.record():
            y = x * 2
        y.backward()
        found.append(x.grad.asnumpy())
    return found


def shapes_of_volumes(mx):
    data = mx.sym.Variable("x")
    symbols = [
        mx.sym.contrib.AdaptiveAvgPooling2D(data, output_size=(2, 2)),
        mx.sym.contrib.BilinearResize2D(data, height=3, width=7),
    ]
    inferred = [fails(lambda s=symbol: s.infer_shape(x=(2, 3, 4, 5, 6))) for symbol in symbols]
    run = [fails(lambda s=symbol: s.eval(mx.current_context(), x=mx.nd.ones((2, 3, 4, 5, 6)))[0].asnumpy()) for symbol in symbols]
    penalty = mx.sym.IdentityAttachKLSparseReg(data)
    return [inferred, run, penalty.infer_shape(x=(2, 3, 4))[2]]


def heads_given_twice(mx):
    x = mx.nd.array([1, 2, 3])
    x.attach_grad()
    found = []
    for heads in (None, [mx.nd.array([1, 2, 3]), mx.nd.array([10, 10, 10])]):
        with mx.autograd.record():
            y = x * x
        mx.autograd.backward([y, y], heads)
        found.append(x.grad.asnumpy())
    return found


def weights_after_a_prediction(mx):
    """An executor predicts, and its weight is written to."""
    x, weight = mx.nd.array([[1, 2], [3, 4]]), mx.nd.array([[1, 1]])
    dense = mx.sym.FullyConnected(mx.sym.var("x"), mx.sym.var("weight"), num_hidden=1, no_bias=True)
    executor = dense.bind(mx.cpu(), {"x": x, "weight": weight})
    first = executor.forward()[0].asnumpy()
    weight[:] = 2
    return [first, executor.forward()[0].asnumpy()]

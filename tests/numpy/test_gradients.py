"""Gradients flow through every function with operators, through views and writes in place; NumPy's own functions have none."""

import numpy
import pytest

import twofold as mx
import twofold.numpy as np
from twofold import npx
from twofold.config import SETTINGS
from twofold.errors import AutogradError

from tests.numpy.expressions import listed

#: Functions of a (2, 3, 4) array of distinct values in (0.5, 1.5), and of a (3, 3) one.
FUNCTIONS = [
    *listed("""
        x.sum(); x.mean(axis=1); x.var(axis=(0, 2)); x.std(); x.prod(axis=0); x.max(1); x.min(); np.ptp(x, 0); np.average(x, 0, [1, 3])
        np.average(x, weights=x * x); np.cumsum(x, 1); np.cumprod(x, 1); np.cumprod(x - x[:, :1], 2)
        np.cumprod(x); np.nansum(x); np.nanmean(x, 1); np.sum(x, where=x > 1)
        np.mean(x, axis=0, where=x > 0.7); np.max(x, axis=2, initial=1.2); np.diff(x, 2); np.clip(x, 0.7, 1.3)
        np.where(x > 1, x * x, x); np.sort(x, 1); np.take(x, [[0, 2], [1, 1]], 1); np.take_along_axis(x, np.argsort(x, 1), 1)
        np.compress([True, False], x, 0); np.extract(x > 1, x); np.nan_to_num(x); np.maximum(x, 1.0); np.logaddexp(x, x[0])
        np.logaddexp2(x, 1.0); np.exp2(x); np.float_power(x, 1.5); np.reciprocal(x); np.hypot(x, x[:, :1]); np.arctan2(x, 2)
        np.fmax(x, x[::-1]); np.degrees(x); np.deg2rad(x); x ** x; 2 ** x; x ** 2; 1 / x; x // 0.4 + x % 0.4; abs(x - 1); np.square(x)
        np.cbrt(x); x.T; np.moveaxis(x, 0, -1); x.reshape(6, 4); x.T.reshape(-1); x.reshape(4, 6, order='F'); x[..., ::-1]; x[1, :, 2]
        x[[1, 0, 1]]; x[x > 1]; x[:, [0, 2], 1:]; x[0, [1, 2]]; np.flip(x, 0); np.rot90(x); np.roll(x, (1, 2), (0, 2))
        np.split(x, 2, 2)[1]; np.concatenate([x, x[:1]]); np.stack([x, x * x], 1); np.hstack([x, x]); np.dstack([x, x])
        np.tile(x, (2, 1, 1)); np.repeat(x, 2, 1); np.repeat(x, [1, 2], 0); np.pad(x, 1); np.pad(x, 1, 'reflect'); np.delete(x, 1, 1)
        np.resize(x, (3, 5)); np.broadcast_to(x[0], (2, 3, 4)); np.broadcast_arrays(x, x[0])[1]; np.diagonal(m); np.diag(m, 1)
        np.diag(m[0]); np.tril(m); np.triu(m, 1); np.trace(m); m @ m.T; np.dot(x, m[0] @ m[:, :1] * x[0].T)
        np.tensordot(x, x, ([0, 1], [0, 1])); np.einsum('ijk,jl->ikl', x, m); np.inner(m, m); np.outer(m[0], m[1]); np.kron(m, m[:2])
        np.vdot(m, m); np.vecdot(m, m); np.linalg.norm(m); np.linalg.norm(m, axis=0); np.linalg.norm(m, 3, 1)
        np.linalg.norm(m, np.inf, 1); np.linalg.vector_norm(m); np.add(m, m, where=m > 1.03); np.multiply.outer(m, m[0])
        np.linalg.inv(n); np.linalg.det(n); np.linalg.slogdet(n)[1]; np.linalg.solve(n, m); np.linalg.solve(n, m[0])
        np.linalg.pinv(m[:2]); np.linalg.pinv(m[:, :2]); np.linalg.pinv(n + n.T, hermitian=True); np.linalg.lstsq(n[:, :2], m)[0]
        np.linalg.lstsq(n[:, :2], m[0])[1]; np.linalg.lstsq(n, m[0])[3]; np.linalg.cholesky(n @ n.T)
        np.linalg.cholesky(n @ n.T, upper=True); np.linalg.qr(n[:, :2])[0]; np.linalg.qr(n[:, :2])[1]; np.linalg.qr(n[:2])[1]
        np.linalg.qr(n[:2])[0]; np.linalg.qr(n, 'r'); np.linalg.svd(n, compute_uv=False)
        np.abs(np.linalg.svd(n[:, :2], full_matrices=False)[0]); np.abs(np.linalg.svd(n[:2], full_matrices=False)[2])
        np.abs(np.linalg.svd(n @ n.T, hermitian=True)[0]); np.linalg.svdvals(n[:2]); np.linalg.eigvalsh(n + n.T)
        np.linalg.eigh(n + n.T)[0]; np.abs(np.linalg.eigh(n + n.T, 'U')[1]); np.sort(np.linalg.eigvals(n).real); np.abs(np.linalg.eig(n)[1])
        np.linalg.matrix_power(n, -3); np.linalg.matrix_power(n, 5); np.linalg.multi_dot([n, m, m[0]]); np.linalg.norm(n, 2)
        np.linalg.norm(n, -2); np.linalg.norm(n, 'nuc'); np.linalg.norm(n, 1); np.linalg.norm(n, -np.inf, keepdims=True)
        np.linalg.cond(n); np.linalg.cond(n, 'fro'); np.linalg.matrix_norm(x); np.linalg.norm(x, 'nuc', (0, 2))
        np.linalg.tensorinv(x.reshape(2, 2, 6)[:, :, :4] + np.eye(4).reshape(2, 2, 4))
        np.linalg.tensorsolve(x.reshape(6, 4)[:4].reshape(2, 2, 4) + np.eye(4).reshape(2, 2, 4), m[:2, :2]); np.linalg.trace(x)
        np.add.reduce(m); np.multiply.reduce(m, 1); np.add.accumulate(m); npx.softmax(m); npx.log_softmax(m); npx.relu(m - 1.03)
        npx.sigmoid(m); npx.gammaln(m); npx.pick(m, np.array([0, 1, 2])); npx.topk(m, k=2, ret_typ='value')
        m.astype('float32').astype('float64') * m; np.meshgrid(m[0], m[1])[0]; np.atleast_3d(m); np.squeeze(m[None])
        np.append(m, m[:1], 0); m.copy(); np.ascontiguousarray(m.T); m.flatten(); np.round(m * 3) * m
    """),
]


def operands():
    draw = numpy.random.default_rng(3)
    return [(draw.permutation(n) + 0.5) / n + 0.5 for n in (24, 9)]


def value(text, x, m, module):
    square = m.reshape(3, 3)
    names = {"x": x.reshape(2, 3, 4), "m": square, "n": square + module.diag(module.arange(1.0, 4)), "np": module, "npx": npx}
    got = eval(text, names)
    weights = numpy.cos(numpy.arange(got.size)).reshape(got.shape)
    return (got * np.array(weights)).sum()


@pytest.mark.parametrize("text", FUNCTIONS)
def test_the_gradient_matches_finite_differences(text):
    xs = [np.array(v) for v in operands()]
    for x in xs:
        x.attach_grad()
    with mx.autograd.record():
        loss = value(text, *xs, np)
    loss.backward()
    direction = [numpy.sin(numpy.arange(v.size) * 1.7) for v in operands()]
    step = 1e-5 if "float32" not in text else 1e-2
    ahead, behind = (
        float(value(text, *[np.array(v + s * step * d) for v, d in zip(operands(), direction, strict=True)], np)) for s in (1, -1)
    )
    have = sum(float((x.grad.asnumpy() * d).sum()) for x, d in zip(xs, direction, strict=True))
    assert have == pytest.approx((ahead - behind) / (2 * step), rel=1e-5 if step < 1e-3 else 1e-3, abs=1e-6)


#: Statements that write into ``y`` (9,), computed from ``x``, and are recorded as moves or products.
WRITES = listed("""
    np.copyto(y, x[::-1], where=y > 1); np.put(y, [0, 2, 0], w); y.put([1, -1], w[0]); np.putmask(y, y > 1, w)
    np.place(y, y > 1.2, w[:2]); np.fill_diagonal(y.reshape(3, 3), w)
    np.put_along_axis(y.reshape(3, 3), np.array([[0], [2], [0]]), 2 * w[0], 1)
    np.random.default_rng(3).shuffle(y); np.random.default_rng(3).shuffle(y.reshape(3, 3), axis=1); np.random.RandomState(4).shuffle(y)
    np.multiply.at(y, [0, 1, 0], w); np.subtract.at(y, [0, 1, 0], w); np.square.at(y, [0, 0, 1]); np.maximum.at(y, slice(0, 2), w[0])
    y[:] = np.array([x[0], x[1] * 2, 1, *x[3:]]); y[:3] = np.array([[w[0], 2], [x[1], w[2]]])[:, 1].sum(); y[:] = np.polyval(w, y)
""")


@pytest.mark.parametrize("text", WRITES)
@pytest.mark.parametrize("defer", [1, 1 << 40])
def test_a_recorded_writes_gradient_matches_finite_differences(monkeypatch, text, defer):
    monkeypatch.setattr(SETTINGS, "defer_elements", defer)
    draw = numpy.random.default_rng(0)
    xs = [draw.uniform(0.5, 1.5, n) for n in (9, 3)]

    def written(module, x, w):
        y = x * 1.5
        exec(text, {"np": module, "x": x, "y": y, "w": w})
        return y, (y * y * module.array(numpy.arange(1.0, 10))).sum()

    ours = [np.array(v) for v in xs]
    for v in ours:
        v.attach_grad()
    with mx.autograd.record():
        y, loss = written(np, *ours)
    loss.backward()
    numpy.testing.assert_allclose(y.asnumpy(), written(numpy, *xs)[0])
    direction, step = [draw.normal(size=v.size) for v in xs], 1e-6
    ahead, behind = (written(numpy, *[v + s * step * d for v, d in zip(xs, direction, strict=True)])[1] for s in (1, -1))
    have = sum(float((v.grad.asnumpy() * d).sum()) for v, d in zip(ours, direction, strict=True))
    assert have == pytest.approx((ahead - behind) / (2 * step), rel=1e-5, abs=1e-6)


def test_an_array_built_from_recorded_ones_keeps_device_and_gradients():
    x = np.array([1.0, 2.0])
    x.attach_grad()
    with mx.autograd.record():
        y = np.array([[x[0], 2], [3, x[1]]], device=mx.cpu(1))
        z = np.array([x * 2, [1, 2]], dtype="float32", ndmin=3)
        loss = y.as_in_ctx(x.context).sum() * 3 + z.sum()
    loss.backward()
    assert (y.context, z.shape, z.dtype) == (mx.cpu(1), (1, 2, 2), numpy.float32)
    assert x.grad.tolist() == [5, 5]


@pytest.mark.parametrize("index", [slice(None), [1, 0]])
def test_an_assigned_list_of_recorded_elements_has_their_gradient(index):
    x = np.array([1.0, 2.0])
    x.attach_grad()
    with mx.autograd.record():
        y = np.zeros(2)
        y[index] = [x[0] * 5, x[1] * 5]
        loss = (x * x).sum() + y.sum()
    loss.backward()
    assert x.grad.tolist() == [7, 9]


@pytest.mark.parametrize(
    "text",
    [
        "np.quantile(np.ones(3), y[0] / 10)",
        "np.median(y.astype(complex))",
        "np.unwrap(np.ones(3), period=y[0])",
        "np.pad(np.ones(3), 1, constant_values=(y[0], y[1]))",
        "np.polyfit(y, y, 1, full=True)",
        "np.spacing(y)",
        "np.nextafter(y, 0.0)",
        "np.histogram(y)",
        "np.power.reduce(y)",
        "np.vectorize(abs)(y)",
        "np.arange(y[0], dtype=float)",
        "np.r_[0 : y[0]]",
        "np.mgrid[0 : y[0]]",
        "np.frompyfunc(abs, 1, 1)(y)",
        "np.polynomial.Polynomial(y)",
        "np.polynomial.chebyshev.Chebyshev([y[0], 1.0])",
        "np.polynomial.polynomial.polyroots(y)",
        "np.polynomial.polynomial.polyfromroots(y)",
        "npx.softmax(np.ones(2), temperature=y[0])",
        "npx.leaky_relu(-np.ones(2), slope=y[0])",
        "npx.one_hot(np.array([0, 1]), 2, on_value=y[0])",
        "mx.nd.clip(mx.nd.ones(2), y[0:1].as_nd_ndarray(), 9.0)",
        "mx.nd.ones(2).clip(0.0, y[0:1].as_nd_ndarray())",
        "mx.nd.arange(0.0, y[0:1].as_nd_ndarray())",
    ],
)
def test_a_numpy_function_raises_instead_of_cutting_a_gradient(text):
    x = np.array([3.0, 1.0, 2.0])
    x.attach_grad()
    names = {"np": np, "numpy": numpy, "mx": mx, "npx": npx, "x": x}
    eval(text, names | {"y": x * 2})  # a table of parameters may know the number from now on
    with mx.autograd.record():
        y = x * 2
        with pytest.raises(AutogradError, match="no gradient"):
            eval(text, names | {"y": y})
        eval(text, names | {"y": y.detach()})
        y = x * np.median(x.detach()) * np.searchsorted(np.sort(y), 3.0)
    y.backward()
    assert x.grad.tolist() == [2, 2, 2]


@pytest.mark.parametrize(
    ("text", "want"),
    [
        ("np.sum(np.ones(2), initial=x[0] * 2)", [2, 0]),
        ("np.prod(x, initial=x[0])", [40, 16]),
        ("np.max(np.ones(2), initial=x[1])", [0, 1]),
        ("np.min(x * 3, initial=x[0], where=x > 9)", [1, 0]),
    ],
)
def test_the_initial_value_of_a_reduction_has_a_gradient(text, want):
    x = np.array([4.0, 5.0])
    x.attach_grad()
    with mx.autograd.record():
        y = eval(text, {"np": np, "x": x})
    y.backward()
    assert x.grad.tolist() == want


def test_a_recorded_scalar_is_not_hashable():
    x = np.array(2.0)
    x.attach_grad()
    with mx.autograd.record():
        y = x * 2
        with pytest.raises(TypeError, match=r"x\.item\(\)"):
            hash(y)
    assert hash(y) == hash(4.0)


@pytest.mark.parametrize("make", ["w.reshape(2, 3)", "w.reshape(3, 2).T", "w[:]", "w[::-1].reshape(3, 2)", "w.as_nd_ndarray()"])
def test_a_view_can_have_its_own_gradient(make):
    w = np.arange(6.0)
    view = eval(make, {"w": w})
    view.attach_grad()
    with mx.autograd.record():
        loss = (view * view).sum()
    loss.backward()
    numpy.testing.assert_array_equal(view.grad.asnumpy(), 2 * view.asnumpy())
    w *= 2
    with mx.autograd.record():
        loss = (view * 3).sum() + (view * view).sum()
    loss.backward()
    numpy.testing.assert_array_equal(view.grad.asnumpy(), 3 + 2 * view.asnumpy())


def test_a_view_with_a_gradient_is_trained_in_place():
    w = np.ones(6).reshape(2, 3)
    w.attach_grad()
    for _ in range(4):
        with mx.autograd.record():
            loss = ((w - 3) ** 2).sum()
        loss.backward()
        w -= 0.25 * w.grad
    numpy.testing.assert_allclose(w.asnumpy(), 3 - 2 * 0.5**4)
    numpy.testing.assert_allclose(w.base.asnumpy(), 3 - 2 * 0.5**4)


def test_a_write_through_a_view_while_recording_is_part_of_the_graph():
    w = np.array([[1.0, 2.0], [3.0, 4.0]])
    w.attach_grad()
    with mx.autograd.record():
        y = w * 2
        y.T[0] *= w[0]
        y[1, ::-1] += 1
        y[y > 7] = 0
        np.add.at(y, [0, 0], w[1])
        loss = (y * y).sum()
    loss.backward()
    host = numpy.array([[1.0, 2.0], [3.0, 4.0]])

    def loss_of(v):
        y = v * 2
        y.T[0] *= v[0]
        y[1, ::-1] += 1
        y[y > 7] = 0
        numpy.add.at(y, [0, 0], v[1])
        return (y * y).sum()

    step = 1e-6
    for k in numpy.ndindex(2, 2):
        ahead, behind = host.copy(), host.copy()
        ahead[k] += step
        behind[k] -= step
        assert float(w.grad[k]) == pytest.approx((loss_of(ahead) - loss_of(behind)) / (2 * step), abs=1e-6)


@pytest.mark.parametrize("defer", [1, 1 << 40])
def test_only_the_last_of_several_writes_to_an_element_has_a_gradient(monkeypatch, defer):
    monkeypatch.setattr(SETTINGS, "defer_elements", defer)
    w, u = np.array([[1.0, 2.0], [3.0, 4.0]]), np.ones((3, 2))
    w.attach_grad()
    u.attach_grad()
    with mx.autograd.record():
        z = u * 1
        z[np.array([1, 1])] = w
        z[[0, 0]] += 1
        z[[2, 2], :1] *= w[0, 1]
        loss = (z * z).sum()
    loss.backward()
    # z is [[2, 2], [w10, w11], [w01, 1]], and the loss the sum of its squares
    assert w.grad.tolist() == [[0, 4], [6, 8]]
    assert u.grad.tolist() == [[4, 4], [0, 0], [8, 2]]


@pytest.mark.parametrize("defer", [1, 1 << 40])
def test_second_gradients(monkeypatch, defer):
    monkeypatch.setattr(SETTINGS, "defer_elements", defer)
    x = np.array([1.0, 2.0, 3.0])
    x.attach_grad()
    with mx.autograd.record():
        y = (np.sin(x) * x.reshape(3, 1).T[0]).sum()
        first = mx.autograd.grad(y, x, create_graph=True)[0]
        total = first.sum()
    total.backward()
    h = x.asnumpy()
    assert isinstance(first, np.ndarray)
    numpy.testing.assert_allclose(x.grad.asnumpy(), 2 * numpy.cos(h) - h * numpy.sin(h))


def test_gradients_of_npx_operators_update_their_states():
    x, mean, var = np.random.default_rng(0).normal(size=(4, 3)), np.zeros(3), np.ones(3)
    with mx.autograd.record():
        gamma = np.ones(3)
        gamma.attach_grad()
        y = npx.batch_norm(x, gamma, np.zeros(3), mean, var, fix_gamma=False, momentum=0.5)
    y.backward()
    numpy.testing.assert_allclose(mean.asnumpy(), 0.5 * x.asnumpy().mean(0))
    numpy.testing.assert_allclose(var.asnumpy(), 0.5 + 0.5 * x.asnumpy().var(0))


@pytest.mark.parametrize("sizes", [2, 2.0, [True, False, True], [1, -2, 4]], ids=["int", "float", "bools", "integers"])
def test_signs_of_recorded_arrays_may_be_put_on_any_numbers(sizes):
    x = np.array([1.5, -2.0, 3.0])
    x.attach_grad()
    with mx.autograd.record():
        y = np.copysign(np.array(sizes) if isinstance(sizes, list) else sizes, x)
        z = np.copysign(x, np.array(sizes) if isinstance(sizes, list) else sizes)
    z.backward()
    numpy.testing.assert_array_equal(y.asnumpy(), numpy.copysign(sizes, x.asnumpy()))
    numpy.testing.assert_array_equal(x.grad.asnumpy(), numpy.sign(x.asnumpy()) * numpy.copysign(1, sizes))


def test_the_recorded_fraction_of_infinity_is_0():
    x = np.array([numpy.inf, -numpy.inf, 1.5, -2.25])
    x.attach_grad()
    with mx.autograd.record():
        fraction, whole = np.modf(x)
    fraction.backward()
    assert fraction.tolist() == [0, 0, 0.5, -0.25]
    assert whole.tolist() == [numpy.inf, -numpy.inf, 1, -2]
    assert x.grad.tolist() == [0, 0, 1, 1]

"""Contributed operators that MXNet runs on GPUs only, against NumPy; what MXNet cannot express; bad input."""

from __future__ import annotations

import numpy as np
import pytest

import twofold as mx

RANDOM = np.random.default_rng(3)


def differentiated(function, *arrays):
    """The result, and the gradients of its sum weighted by 1, 2, 3 and so on."""
    for x in arrays:
        x.attach_grad()
    with mx.autograd.record():
        y = function(*arrays)
    y.backward(mx.nd.array(np.arange(1, y.size + 1).reshape(y.shape)))
    return y.asnumpy(), [x.grad.asnumpy() for x in arrays]


@pytest.mark.parametrize("shape", [(3, 5), (2, 1, 3, 8)])
def test_fourier_transforms_interleave_real_and_imaginary_parts(shape):
    x = RANDOM.normal(size=shape).astype("float32")
    y, (grad,) = differentiated(mx.nd.contrib.fft, mx.nd.array(x))
    spectrum = np.fft.fft(x)
    np.testing.assert_allclose(y, np.stack([spectrum.real, spectrum.imag], -1).reshape(*shape[:-1], -1), rtol=1e-5, atol=1e-5)
    heads = np.arange(1, y.size + 1).reshape(*shape, 2)
    np.testing.assert_allclose(grad, np.fft.ifft(heads[..., 0] + 1j * heads[..., 1]).real * shape[-1], rtol=1e-5, atol=1e-3)


def test_the_inverse_transform_is_not_scaled():
    x = RANDOM.normal(size=(3, 8)).astype("float32")
    back = mx.nd.contrib.ifft(mx.nd.contrib.fft(mx.nd.array(x)))
    np.testing.assert_allclose(back.asnumpy(), 8 * x, rtol=1e-5, atol=1e-5)


def test_convolutions_are_products_of_transforms():
    """A program as in the tutorials: a circular convolution by the Fourier transform."""
    a, b = (mx.nd.array(RANDOM.normal(size=(1, 6))) for _ in range(2))
    fa, fb = (mx.nd.contrib.fft(x).reshape((6, 2)) for x in (a, b))
    real = fa[:, 0] * fb[:, 0] - fa[:, 1] * fb[:, 1]
    imaginary = fa[:, 0] * fb[:, 1] + fa[:, 1] * fb[:, 0]
    found = mx.nd.contrib.ifft(mx.nd.stack(real, imaginary, axis=1).reshape((1, 12))) / 6
    want = [sum(a.asnumpy()[0, j] * b.asnumpy()[0, (k - j) % 6] for j in range(6)) for k in range(6)]
    np.testing.assert_allclose(found.asnumpy()[0], want, rtol=1e-4, atol=1e-5)


def test_count_sketches_add_signed_features():
    x, h, s = RANDOM.normal(size=(4, 6)), np.array([[0, 2, 0, 1, 2, 2]]), np.array([[1, -1, -1, 1, 1, -1]])
    place = np.zeros((6, 3))
    place[np.arange(6), h[0]] = s[0]
    y, (grad, _) = differentiated(lambda d, t: mx.nd.contrib.count_sketch(d, mx.nd.array(h), t, out_dim=3), mx.nd.array(x), mx.nd.array(s))
    np.testing.assert_allclose(y, x @ place, rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(grad, np.arange(1, 13).reshape(4, 3) @ place.T, rtol=1e-5)


def test_gradients_of_the_hawkes_process_are_those_of_its_likelihood():
    rates = [RANDOM.uniform(0.5, 1.5, (2, 3)), RANDOM.uniform(0.1, 0.6, 3), RANDOM.uniform(0.5, 2, 3)]
    rest = [mx.nd.array(RANDOM.uniform(0.1, 1, s), dtype="float64") for s in ((2, 3), (2, 5))]
    rest += [mx.nd.array(RANDOM.integers(0, 3, (2, 5)), dtype="int32")]
    rest += [mx.nd.array(x, dtype="float64") for x in ([4, 5], [6, 7])]

    def likelihood(*values):
        return mx.nd.contrib.hawkesll(*[mx.nd.array(v, dtype="float64") for v in values], *rest)[0].asnumpy()

    inputs = [mx.nd.array(v, dtype="float64") for v in rates]
    for x in inputs:
        x.attach_grad()
    with mx.autograd.record():
        out = mx.nd.contrib.hawkesll(*inputs, *rest)[0]
    head = np.array([1.0, 2.0])
    out.backward(mx.nd.array(head, dtype="float64"))
    explicit = mx.nd.contrib.backward_hawkesll(mx.nd.array(head, dtype="float64"), *inputs, *rest)
    for k, value in enumerate(rates):
        direction = RANDOM.normal(size=value.shape)
        ends = [likelihood(*rates[:k], value + sign * 1e-6 * direction, *rates[k + 1 :]) for sign in (1, -1)]
        want = head @ (ends[0] - ends[1]) / 2e-6
        assert np.isclose((inputs[k].grad.asnumpy() * direction).sum(), want, rtol=1e-6)
        np.testing.assert_array_equal(explicit[k].asnumpy(), inputs[k].grad.asnumpy())


def test_gradients_of_copied_rows_and_of_the_quadratic():
    head = mx.nd.array([[1, 2], [3, 4], [5, 6]])
    old, new = mx.nd.contrib.backward_index_copy(head, mx.nd.array([2, 0], dtype="int32"))
    assert old.asnumpy().tolist() == [[0, 0], [3, 4], [0, 0]]
    assert new.asnumpy().tolist() == [[5, 6], [1, 2]]
    assert mx.nd.contrib.backward_quadratic(mx.nd.array([1, 2]), mx.nd.array([3, 4]), a=1, b=2).asnumpy().tolist() == [8, 20]


def test_masks_select_along_any_axis():
    x = mx.nd.array([[1, 2, 3], [4, 5, 6]])
    assert mx.nd.contrib.boolean_mask(x, mx.nd.array([1, 0, 2]), axis=1).asnumpy().tolist() == [[1, 3], [4, 6]]


def test_zipfian_samples_follow_their_distribution():
    mx.random.seed(1)
    samples, true, sampled = mx.nd.contrib.rand_zipfian(mx.nd.array([0, 9]), 20_000, 10)
    counts = np.bincount(samples.asnumpy(), minlength=10)
    expected = np.log(np.arange(2, 12) / np.arange(1, 11)) / np.log(11) * 20_000
    assert (samples.dtype, true.dtype, sampled.dtype) == (np.int64, np.float64, np.float64)
    np.testing.assert_allclose(true.asnumpy(), expected[[0, 9]], rtol=1e-9)
    np.testing.assert_allclose(sampled.asnumpy(), expected[samples.asnumpy()], rtol=1e-9)
    assert np.all(np.abs(counts - expected) < 5 * np.sqrt(expected))


def test_symbols_sample_and_select_as_arrays_do():
    samples, true, _ = mx.sym.contrib.rand_zipfian(mx.sym.Variable("t"), 5, 4)
    found = mx.sym.Group([samples, true]).bind(mx.current_context(), {"t": mx.nd.array([0, 3])}).forward()
    assert found[0].shape == (5,)
    assert found[0].asnumpy().max() < 4
    np.testing.assert_allclose(found[1].asnumpy(), 5 * np.log([2, 5 / 4]) / np.log(5), rtol=1e-9)


@pytest.mark.parametrize(
    ("call", "says"),
    [
        (lambda nd: nd.random_pdf_normal(nd.ones((2, 3)), nd.ones((3,)), nd.ones((3,))), "do not match the samples"),
        (lambda nd: nd.contrib.interleaved_matmul_selfatt_qk(nd.ones((2, 3, 5)), heads=2), "wrong shape"),
        (lambda nd: nd.contrib.interleaved_matmul_selfatt_valatt(nd.ones((2, 1, 6)), nd.ones((2, 3, 3)), heads=2), "wrong shape"),
        (lambda nd: nd.contrib.interleaved_matmul_encdec_qk(nd.ones((2, 1, 4)), nd.ones((2, 3, 8)), heads=2), "batch or depth"),
        (lambda nd: nd.contrib.count_sketch(nd.ones((2, 3)), nd.ones((1, 2)), nd.ones((1, 3)), out_dim=2), "one number for each feature"),
        (lambda nd: nd.contrib.ifft(nd.ones((2, 3))), "pairs of numbers"),
        (lambda nd: nd.contrib.boolean_mask(nd.ones((2, 3)), nd.ones((3,))), "one number for each slice"),
        (lambda nd: nd.fill_element_0index(nd.ones((2, 3)), nd.ones((3,)), nd.ones((2,))), "do not match"),
        (lambda nd: nd.contrib.hawkesll(*[nd.ones((2, 2))] * 6, nd.ones((2,)), nd.ones((2,))), "do not match"),
    ],
)
def test_bad_input_is_explained(call, says):
    with pytest.raises(mx.MXNetError, match=says):
        call(mx.nd)


def test_places_outside_a_sketch_raise():
    with pytest.raises((mx.MXNetError, IndexError)):
        mx.nd.contrib.count_sketch(mx.nd.ones((1, 2)), mx.nd.array([[0, 5]]), mx.nd.ones((1, 2)), out_dim=3).asnumpy()


def test_stored_elements_of_csr_matrices_are_counted_and_found():
    matrix = mx.nd.sparse.csr_matrix(([1.0, 2.0, 3.0, 4.0], [1, 2, 2, 0], [0, 2, 3, 4]), shape=(3, 3))
    count = mx.nd.contrib.getnnz
    assert count(matrix).asnumpy().tolist() == [4]
    assert count(matrix, axis=1).asnumpy().tolist() == [2, 1, 1]
    assert count(matrix, axis=0).asnumpy().tolist() == [1, 1, 2]
    assert count(matrix).dtype == np.int64
    u, v = mx.nd.array([0, 0, 1, 2, 2]), mx.nd.array([0, 1, 2, 0, 2])
    for adjacency in (matrix, matrix.tostype("default")):
        assert mx.nd.contrib.edge_id(adjacency, u, v).asnumpy().tolist() == [-1, 1, 3, 4, -1]

"""What NumPy writes through is written through here, or raises an error that says what to do; no write goes to a copy unnoticed."""

import re

import numpy
import pytest

import twofold as mx
import twofold.numpy as np
from twofold.config import SETTINGS
from twofold.errors import AutogradError, DTypeError, ParameterError

WRITTEN = {
    "real parts as a whole": ("c", "c.real = 4"),
    "imaginary parts as a whole": ("c", "c.imag = [5, 6, 7]"),
    "real parts of a part": ("c", "c[1:].real = 9"),
    "real parts of another array's": ("c", "c.imag = np.arange(3.0)"),
    "real numbers": ("x", "x.real = 3"),
    "parts of real numbers": ("x", "x.real[1:] = 3"),
    "all elements": ("A", "A.flat = 7"),
    "elements that are repeated": ("A", "A.flat = [1, 2.5, 3]"),
    "elements of a transpose": ("A", "A.T[1:].flat = np.arange(20)"),
    "einsum's diagonal": ("A", "np.einsum('ii->i', A)[:] = 0"),
    "einsum's diagonal of a part": ("A", "np.einsum('ii->i', A[1:3, 1:3].T[:1, :1])[:] = 0"),
    "einsum's transpose": ("A", "np.einsum('ij->ji', A)[0, 1] = 5"),
    "einsum's order of the alphabet": ("A", "np.einsum('ba', A)[0, 1] = 5"),
    "einsum's ellipsis": ("A", "np.einsum('i...->...i', A)[0] *= 2"),
    "asanyarray": ("A", "np.asanyarray(A)[0] = 5"),
    "asanyarray of a part": ("A", "np.asanyarray(A[:, 1], float)[0] = 5"),
    "asarray_chkfinite": ("A", "np.asarray_chkfinite(A[1:])[0] = 5"),
    "real_if_close": ("x", "np.real_if_close(x)[0] = 5"),
    "astype of the same dtype": ("A", "np.astype(A, float, copy=False)[0] = 5"),
    "require": ("A", "np.require(A, float, 'CW')[0] = 5"),
    "require of a transpose": ("A", "np.require(A.T, requirements=['F_CONTIGUOUS', 'WRITEABLE'])[0] = 5"),
    "asfortranarray of a transpose": ("A", "np.asfortranarray(A.T)[0] = 5"),
    "asarray in the order of a transpose": ("A", "np.asarray(A.T, order='F')[0] = 5"),
}
COPIED = {
    "asarray in row-major order": "np.asarray(A[:, 0], order='C')",
    "asanyarray in row-major order": "np.asanyarray(A.T, order='C')",
    "asarray in column-major order": "np.asarray(A, order='F')",
    "asfortranarray": "np.asfortranarray(A)",
    "require in row-major order": "np.require(A[:, 0], float, 'C')",
    "require of memory of its own": "np.require(A[1:], float, ['OWNDATA'])",
    "require of another dtype": "np.require(A, 'float32', 'W')",
}
OUT = {
    "median": "np.median(A, 0, x[:3])",
    "median of all": "np.median(A, None, s)",
    "percentile": "np.percentile(A, 50, 1, x[:3], False, 'lower')",
    "nanquantile": "np.nanquantile(A, 0.3, 0, x[1:])",
    "nanmax": "np.nanmax(A, 0, x[:3])",
    "nancumsum": "np.nancumsum(A, 1, None, A)",
    "fix": "np.fix(A / 2, A)",
    "isneginf": "np.isneginf(A, A)",
    "choose": "np.choose([0, 1, 0], [A[0], A[1]], x[1:], 'clip')",
    "fft": "np.fft.fft(c, None, -1, None, c)",
}
REFUSED = {
    "real": ("c", "c.real[:] = 4"),
    "imag": ("c", "np.imag(c)[1] = 7"),
    "real in place": ("c", "c.real += 1"),
    "windows": ("x", "np.lib.stride_tricks.sliding_window_view(x, 2, writeable=True)[0, 0] = 9"),
    "NumPy's windows": ("x", "numpy.lib.stride_tricks.sliding_window_view(x, 2, writeable=True)[0, 0] = 9"),
    "strides": ("x", "np.lib.stride_tricks.as_strided(x, (2, 2), (8, 8))[1, 1] = 55"),
    "einsum's diagonals": ("B", "np.einsum('iij->ij', B)[:] = 0"),
    "diagonal": ("A", "np.diagonal(A)[0] = 1"),
    "the method diagonal": ("A", "A.diagonal(1)[0] = 1"),
    "diagonals": ("B", "np.linalg.diagonal(B)[0] = 1"),
    "diag": ("A", "np.diag(A)[:] = 1"),
    "iterator": ("x", "for e in np.nditer(x, op_flags=['readwrite']): e[...] = 5"),
    "iterator over two": ("x", "for e, f in np.nditer([x, x + 1], op_flags=[['readonly'], ['writeonly']]): f[...] = e"),
}


def arrays(np):
    return {
        "np": np,
        "numpy": numpy,
        "c": np.array([1 + 2j, 3 + 4j, 5j]),
        "x": np.arange(4.0),
        "A": np.arange(9.0).reshape(3, 3),
        "B": np.arange(12.0).reshape(2, 2, 3),
    }


@pytest.fixture(params=[1 << 40, 1], ids=["inline", "deferred"])
def _each_way(request, monkeypatch):
    monkeypatch.setattr(SETTINGS, "defer_elements", request.param)


@pytest.mark.usefixtures("_each_way")
@pytest.mark.parametrize(("name", "text"), WRITTEN.values(), ids=WRITTEN)
def test_writes_reach_the_array(name, text):
    ours, theirs = arrays(np), arrays(numpy)
    exec(text, ours)
    exec(text, theirs)
    assert ours[name].tolist() == theirs[name].tolist() != arrays(numpy)[name].tolist()


@pytest.mark.usefixtures("_each_way")
@pytest.mark.parametrize("text", COPIED.values(), ids=COPIED)
def test_writes_to_what_numpy_copies_do_not_reach_the_array(text):
    for module in (np, numpy):
        given = arrays(module)
        made = eval(text, given)
        assert made.flags.writeable
        made[...] = -1
        assert given["A"].tolist() == arrays(numpy)["A"].tolist(), module


@pytest.mark.filterwarnings("ignore:numpy.fix:DeprecationWarning")  # from NumPy 2.5 on
@pytest.mark.usefixtures("_each_way")
@pytest.mark.parametrize("text", OUT.values(), ids=OUT)
def test_results_are_written_to_arrays_that_are_given_by_position(text):
    found = []
    for module in (np, numpy):
        given = arrays(module) | {"s": module.zeros(())}
        result = eval(text, given)
        found.append([given[name].tolist() for name in "Acxs"] + [result.tolist()])
    numpy.testing.assert_allclose(numpy.hstack([numpy.ravel(v) for v in found[0]]), numpy.hstack([numpy.ravel(v) for v in found[1]]))


@pytest.mark.usefixtures("_each_way")
@pytest.mark.parametrize(
    "text", ["np.median(A, 0, None, True)", "np.percentile(x, 30, overwrite_input=True)", "np.nanmedian(A.T, 1, overwrite_input=True)"]
)
def test_functions_that_may_overwrite_their_input_give_numpys_results(text):
    given = arrays(np)
    assert eval(text, given).tolist() == eval(text, arrays(numpy)).tolist()


@pytest.mark.usefixtures("_each_way")
@pytest.mark.parametrize(("name", "text"), REFUSED.values(), ids=REFUSED)
def test_writes_that_cannot_reach_the_array_raise(name, text):
    given = arrays(np)
    before = given[name].tolist()
    with pytest.raises(ParameterError, match=r"(read-only|iterator).*write to"):
        exec(text, given)
    assert given[name].tolist() == before


def test_read_only_results_say_so():
    given = arrays(np)
    for text in ("c.real", "np.imag(c)", "x.imag", "np.diagonal(A)", "np.diagonal(B)", "np.diag(A)", "A.T.diagonal()"):
        assert eval(text, given).flags.writeable is False, text
    assert np.einsum("ii->i", given["A"]).flags.writeable
    with pytest.raises(DTypeError, match="imaginary"):
        given["x"].imag = 3


def test_diagonals_show_later_writes_as_numpys_do():
    for k in range(-4, 5):
        ours, theirs = np.arange(12).reshape(3, 4), numpy.arange(12).reshape(3, 4)
        found = [np.diagonal(ours, k), np.diag(ours, k), ours.T.diagonal(k), np.diagonal(ours, k, 1, 0)]
        wanted = [numpy.diagonal(theirs, k), numpy.diag(theirs, k), theirs.T.diagonal(k), numpy.diagonal(theirs, k, 1, 0)]
        assert [f.tolist() for f in found] == [w.tolist() for w in wanted]
        ours *= 2
        theirs *= 2
        assert [f.tolist() for f in found[:2]] == [w.tolist() for w in wanted[:2]]
    with pytest.raises(ValueError, match="axis"):
        np.diagonal(np.eye(3), 0, 4, 1)


def test_diagonals_and_windows_of_all_layouts_show_later_writes():
    for scale in (1, 2):  # memory that is ready, and an array that is not computed yet
        x, host = np.arange(9000.0).reshape(3, 50, 60) * scale, numpy.arange(9000.0).reshape(3, 50, 60) * scale
        looks = [
            lambda np, x: np.diagonal(x, 2, 1, 2),
            lambda np, x: x[1, ::-1].diagonal(),
            lambda np, x: np.diagonal(x[0, :, ::2].T, -1),
            lambda np, x: np.linalg.diagonal(x),
            lambda np, x: np.diagonal(x[0], 100),
            lambda np, x: np.lib.stride_tricks.sliding_window_view(x[0], (2, 3), (0, 0)),
            lambda np, x: np.einsum("kii->ki", x[:, :50, :50]),
            lambda np, x: np.einsum("iij->ji", x[:, :3]),
        ]
        seen, wanted = [look(np, x) for look in looks], [look(numpy, host) for look in looks]
        x[:, 1] = host[:, 1] = 7
        x += 1
        host += 1
        assert [(s.shape, s.tolist()) for s in seen] == [(w.shape, w.tolist()) for w in wanted]
        with pytest.raises(ValueError, match="read-only"):
            seen[0][:] = 1
    x.attach_grad()
    with mx.autograd.record():
        y = (np.diagonal(x, 0, 1, 2) * 3).sum()
    y.backward()
    assert x.grad.tolist() == numpy.broadcast_to(3 * numpy.eye(50, 60), (3, 50, 60)).tolist()


def test_arrangements_of_memory_are_numpys():
    tricks, numpys = np.lib.stride_tricks, numpy.lib.stride_tricks
    x, host = np.arange(24.0).reshape(4, 6), numpy.arange(24.0).reshape(4, 6)
    for shape, strides in (((3, 2), (8, 8)), ((2, 3, 2), (48, 8, 16)), ((4,), (0,)), ((0, 2), (8, 8)), (None, None), ((2, 3), None)):
        assert tricks.as_strided(x, shape, strides).tolist() == numpys.as_strided(host, shape, strides).tolist()
    assert tricks.as_strided(x[1:, ::2], (2, 2), (16, -48)).tolist() == numpys.as_strided(host[1:, ::2], (2, 2), (16, -48)).tolist()
    assert tricks.sliding_window_view(x.T, (2, 3)).tolist() == numpys.sliding_window_view(host.T, (2, 3)).tolist()
    assert tricks.sliding_window_view(x, 2, axis=1).tolist() == numpys.sliding_window_view(host, 2, axis=1).tolist()
    for shape, strides in (((30,), (8,)), ((2,), (-8,)), ((2,), (4,)), ((2, 2), (8,)), ((-1,), (8,))):
        with pytest.raises(ParameterError, match="as_strided"):
            tricks.as_strided(x, shape, strides)


def test_arrangements_of_memory_show_later_writes():
    tricks, numpys = np.lib.stride_tricks, numpy.lib.stride_tricks
    layouts = ((3, 2), (8, 8)), ((2, 3, 2), (-16, 0, 24)), ((2, 1, 3), (8, 24, -16)), ((), ()), ((2, 2), (0, 0))
    for size in (24, 9000):  # memory of a small array, and an array that is not computed yet
        x, host = np.arange(float(size)) * 2, numpy.arange(float(size)) * 2
        seen = [tricks.as_strided(x[6:], *layout) for layout in layouts]
        wanted = [numpys.as_strided(host[6:], *layout) for layout in layouts]
        assert [(s.tolist(), s.strides) for s in seen] == [(w.tolist(), w.strides) for w in wanted]
        x[6] = host[6] = 70
        assert [s.tolist() for s in seen] == [w.tolist() for w in wanted]
        x += 1
        host += 1
        assert [(s * s).tolist() for s in seen] == [(w * w).tolist() for w in wanted]
        assert all(s.base is x for s in seen)
        for s in seen:
            with pytest.raises(ValueError, match="read-only"):
                s[...] = 0


def test_a_slice_of_many_windows_copies_what_it_selects():
    windows = np.lib.stride_tricks.sliding_window_view(np.arange(1_000_000.0), 10_000)  # a copy would take 80 GB
    assert windows[::100_000, :2].tolist() == [[k, k + 1.0] for k in range(0, 990_001, 100_000)]


def test_windows_are_views():
    windows, numpys = np.lib.stride_tricks.sliding_window_view, numpy.lib.stride_tricks.sliding_window_view
    x, host = np.arange(60.0).reshape(3, 4, 5), numpy.arange(60.0).reshape(3, 4, 5)
    for size, axis in ((2, 0), ((2,), (-1,)), ((2, 3), (2, 0)), ((1, 2, 3), None), ((2, 2), (1, 1)), (0, 1)):
        ours, wanted = windows(x, size, axis), numpys(host, size, axis)
        assert ours.tolist() == wanted.tolist()
        assert ours[::-1].T.tolist() == wanted[::-1].T.tolist()
    ours, wanted = windows(x, (2, 3), (2, 0)), numpys(host, (2, 3), (2, 0))
    x[1, 2] = host[1, 2] = 7
    assert (ours.tolist(), ours.strides) == (wanted.tolist(), wanted.strides)
    with pytest.raises(ParameterError, match=r"read-only.*\(1, 4, 4, 2, 3\)"):
        ours += 1
    for size, axis, error in ((9, 0, "window shape"), (2, 5, "axis 5"), ((2, 2), 0, "length"), (-1, 0, "negative")):
        with pytest.raises(ValueError, match=error) as theirs:
            numpys(host, size, axis)
        with pytest.raises(ValueError, match=re.escape(str(theirs.value))):
            windows(x, size, axis)
    x.attach_grad()
    with mx.autograd.record(), pytest.raises(ParameterError, match=r"read-only.*\(1, 4, 4, 2, 3\)"):
        windows(x, (2, 3), (2, 0))[:] = 1


def test_gradients_flow_through_views_and_copies_of_parts():
    x = np.arange(9.0).reshape(3, 3)
    x.attach_grad()
    with mx.autograd.record():
        y = (np.einsum("ii->i", x) ** 2).sum() + (3 * np.diagonal(x, 1)).sum() + (5 * np.diag(x, -1)).sum()
    y.backward()
    assert x.grad.tolist() == [[0, 3, 0], [5, 8, 3], [0, 5, 16]]
    v = np.arange(4.0)
    v.attach_grad()
    with mx.autograd.record():
        y = (np.lib.stride_tricks.sliding_window_view(v, 2) ** 2).sum() + np.lib.stride_tricks.as_strided(v, (2, 2), (8, 8)).sum()
    y.backward()
    assert v.grad.tolist() == [1, 6, 9, 6]
    with mx.autograd.record(), pytest.raises(AutogradError, match="nditer"):
        np.nditer(v)


def test_gradients_flow_through_windows_of_complex_numbers():
    z = np.array([3 + 4j, 1j, 2.0])
    z.attach_grad()
    with mx.autograd.record():
        y = abs(np.lib.stride_tricks.sliding_window_view(z, 2)).sum()
    y.backward()
    assert numpy.allclose(z.grad, [0.6 + 0.8j, 2j, 1])
    v = np.arange(4.0)
    v.attach_grad()
    with mx.autograd.record(), pytest.raises(AutogradError, match="real"):
        exec("c.real = v", {"c": np.zeros(4, "complex128"), "v": v})


def test_iterators_read():
    x = np.arange(6).reshape(2, 3).T
    assert [int(e) for e in np.nditer(x, order="C")] == [0, 3, 1, 4, 2, 5]
    found = np.nditer([x, None])
    for e, f in found:
        f[...] = e * 2
    assert found.operands[1].tolist() == (x * 2).tolist()


#: Programs that write to the parts of an array of complex numbers that is gone by then.
PARTS_OF_NOBODYS = [
    "np.fft.ifft(np.fft.fft(v)).real",
    "np.imag(v * 1j)",
    "np.real(v + 1j).reshape(2, -1)",
    "(v + 1j).real[1:]",
    "(v + 1j).reshape(-1, 2).T.real",
]
WRITES = ["r += 1", "r[0] = 5", "r[r > 2] = 0", "r.fill(3)", "np.multiply(r, 2, out=r)", "r[[0, 1]] = r[[1, 0]]", "r.sort()"]


@pytest.mark.parametrize("size", [8, 300_000])
@pytest.mark.parametrize("write", WRITES)
@pytest.mark.parametrize("part", PARTS_OF_NOBODYS)
def test_parts_of_an_array_that_is_gone_can_be_written(part, write, size):
    def run(xp):
        names = {"np": xp, "v": xp.arange(float(size))}
        exec(f"r = {part}\n{write}", names)
        return names["r"]

    numpy.testing.assert_allclose(run(np).asnumpy(), run(numpy), rtol=1e-12, atol=1e-6)


def test_parts_of_an_array_of_which_a_view_exists_cannot_be_written():
    c = np.arange(4.0) * 1j
    half, r = c[:2], c.imag
    del c
    with pytest.raises(ValueError, match="read-only"):
        r[0] = 1
    assert not r.flags.writeable
    del half
    r[0] = 1
    assert r.flags.writeable
    assert r.tolist() == [1.0, 1.0, 2.0, 3.0]


def test_an_array_broadcast_from_parts_of_an_array_that_is_gone_cannot_be_written():
    wide = np.broadcast_to((np.arange(4.0) * 1j).imag, (2, 4))
    with pytest.raises(ValueError, match="read-only"):
        wide[0] = 1


@pytest.mark.parametrize("way", ["np.add.at(r, [0, 0], 1)", "np.multiply.at(r, [1], 2)", "np.negative.at(r, [0])"])
def test_updates_at_indices_do_not_write_to_a_copy_of_a_part(way):
    c = np.array([1 + 2j, 3 + 4j])
    r = c.real
    with pytest.raises(ParameterError, match="read-only"):
        exec(way, {"np": np, "r": r})
    assert (r.tolist(), c.tolist()) == ([1, 3], [1 + 2j, 3 + 4j])

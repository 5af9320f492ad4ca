"""Properties and methods of `NDArray`, and the functions that are not operators."""

import math
import operator

import numpy as np
import pytest

import twofold as mx
from twofold import autograd, nd
from twofold.errors import DTypeError, ParameterError, ShapeError

HOST = np.array([[4.0, 1.0, 3.0], [2.0, 5.0, 0.0]])


def x():
    return nd.array(HOST)


def same(array, expected, dtype="float32"):
    assert isinstance(array, nd.NDArray)
    assert array.asnumpy().dtype == dtype
    assert array.shape == np.shape(expected)
    np.testing.assert_allclose(array.asnumpy(), expected, rtol=1e-6)


def test_properties():
    a = nd.ones((2, 3), dtype="int32", ctx=mx.cpu(1))
    assert (a.shape, a.ndim, a.size, a.stype, a.grad) == ((2, 3), 2, 6, "default", None)
    assert a.dtype is np.int32
    assert a.context == a.ctx == mx.cpu(1)
    assert len(a) == 2
    assert a.T.shape == (3, 2)
    assert a[0].T.shape == (3,)
    vector = nd.array([1, 2])
    assert vector.T is vector


#: MXNet's fluent methods of a single array, with the parameters of the function of the same name.
FLUENT = (  # noqa: SIM905  (a list would take seventy lines)
    "abs arccos arccosh arcsin arcsinh arctan arctanh argmax argmax_channel argmin argsort broadcast_axes cbrt ceil clip cos cosh "
    "degrees depth_to_space diag exp expm1 fix flip floor log log10 log1p log2 log_softmax max mean min nanprod nansum norm one_hot "
    "ones_like pad pick prod radians rcbrt reciprocal relu repeat reshape_like rint round rsqrt shape_array sigmoid sign sin sinh "
    "size_array slice slice_axis slice_like softmax softmin sort space_to_depth split sqrt square sum swapaxes take tan tanh tile "
    "topk transpose trunc zeros_like"
).split()


@pytest.mark.parametrize("name", FLUENT)
def test_a_fluent_method_matches_the_function_of_that_name(name):
    arguments = {
        "broadcast_axes": {"axis": 0, "size": 2},
        "clip": {"a_min": 1, "a_max": 3},
        "depth_to_space": {"block_size": 2},
        "flip": {"axis": 1},
        "one_hot": {"depth": 6},
        "pad": {"mode": "constant", "pad_width": (0, 0, 0, 0, 1, 1, 1, 1)},
        "pick": {"index": nd.array([1, 0])},
        "repeat": {"repeats": 2},
        "reshape_like": {"rhs": nd.ones((3, 2))},
        "slice": {"begin": (0, 1), "end": (2, 3)},
        "slice_axis": {"axis": 1, "begin": 0, "end": 2},
        "slice_like": {"shape_like": nd.ones((1, 2))},
        "space_to_depth": {"block_size": 2},
        "split": {"num_outputs": 3},
        "swapaxes": {"dim1": 0, "dim2": 1},
        "take": {"indices": nd.array([1, 0])},
        "tile": {"reps": (2, 1)},
    }.get(name, {})
    a = x()
    if name in ("depth_to_space", "space_to_depth", "pad"):
        a = nd.arange(16).reshape((1, 4, 2, 2))
    elif name == "broadcast_axes":
        a = nd.arange(3).reshape((1, 3))
    elif name in ("arccos", "arcsin", "arctanh"):
        a = x() / 10
    elif name == "arccosh":
        a = x() + 1
    got, expected = getattr(a, name)(**arguments), getattr(nd, name)(a, **arguments)
    for g, e in zip(got, expected, strict=True) if isinstance(got, list) else [(got, expected)]:
        np.testing.assert_array_equal(g.asnumpy(), e.asnumpy())
        assert g.dtype is e.dtype


def test_methods_write_into_out():
    out = nd.zeros((2, 3))
    assert x().exp(out=out) is out
    same(out, np.exp(HOST))
    row = nd.zeros((3,))
    x().sum(axis=0, out=row)
    same(row, HOST.sum(0))


def test_out_must_have_shape_and_dtype_of_the_result():
    with pytest.raises(ShapeError, match="out"):
        nd.exp(x(), out=nd.zeros((3,)))
    with pytest.raises(DTypeError, match="out"):
        nd.exp(x(), out=nd.zeros((2, 3), dtype="float64"))


def test_out_can_be_a_view_or_an_operand():
    target = nd.zeros((2, 2, 3))
    nd.sqrt(x(), out=target[1])
    same(target, np.stack([HOST * 0, np.sqrt(HOST)]))
    a = x()
    view = a[0]
    nd.sqrt(a, out=a)
    same(view, np.sqrt(HOST[0]))


def test_several_outputs_are_written_into_a_list():
    parts = [nd.zeros((2, 1)) for _ in range(3)]
    nd.split(x(), num_outputs=3, out=parts)
    for k, part in enumerate(parts):
        same(part, HOST[:, k : k + 1])


def test_identity_operators_return_their_own_memory():
    for make in (
        nd.identity,
        nd.BlockGrad,
        lambda a: nd.Reshape(a, shape=(-1, 2)),
        lambda a: a.astype("float32"),
        nd.flatten,
        nd.NDArray.copy,
    ):
        for a in (x(), nd.ones((400, 500))):
            make(a)[0] = 99
            assert a.max().asscalar() < 99


@pytest.mark.parametrize("codes", [(6,), (3, 2), (-1,), (0, -1), (-2,), (-3,), (-1, 2), (1, -1), (-4, 1, 2, 0)])
def test_reshape_accepts_codes(codes):
    expected = {(0, -1): (2, 3), (-2,): (2, 3), (-3,): (6,), (-4, 1, 2, 0): (1, 2, 3)}.get(codes)
    expected = HOST.reshape(codes if expected is None else expected)
    same(x().reshape(codes), expected)
    same(x().reshape(*codes), expected)
    same(x().reshape(list(codes)), expected)
    same(x().reshape(shape=codes), expected)


@pytest.mark.parametrize(
    ("arguments", "options"), [((5, 5), {}), ((-1, 4), {}), ((-1, -1), {}), ((2, 2), {}), ((), {}), (("6",), {}), ((6,), {"foo": 1})]
)
def test_reshape_rejects_shapes_that_do_not_fit(arguments, options):
    with pytest.raises((ShapeError, ParameterError, DTypeError), match=r"[Rr]eshape"):
        x().reshape(*arguments, **options)


@pytest.mark.parametrize("codes", [(3, 2), (0, -1), (-3,)])
def test_reshape_rejects_floats_whatever_came_before(codes):
    x().reshape(tuple(map(np.int64, codes)))  # equal to the floats
    for _ in range(2):
        with pytest.raises(DTypeError, match="must consist of integers"):
            x().reshape(tuple(map(float, codes)))


@pytest.mark.parametrize(("axis", "shape"), [(0, (1, 2, 3)), (1, (2, 1, 3)), (-1, (2, 3, 1))])
def test_expand_dims(axis, shape):
    a = x()
    same(a.expand_dims(axis), HOST.reshape(shape))
    a.expand_dims(axis)[:] = 0
    same(a, HOST)
    a.expand_dims(axis, inplace=True)[:] = 0
    same(a, HOST * 0)
    with pytest.raises(ShapeError, match="axis"):
        a.expand_dims(4)


def test_flatten_and_squeeze_share_memory_in_place_only():
    for change in (lambda a, **k: a.flatten(**k), lambda a, **k: a.squeeze(**k), lambda a, **k: a.squeeze(axis=(0, 2), **k)):
        a = nd.array(HOST.reshape(1, 2, 1, 3))
        change(a)[:] = 0
        same(a, HOST.reshape(1, 2, 1, 3))
        change(a, inplace=True)[:] = 0
        assert a.sum().asscalar() == 0
    assert nd.ones((2, 3, 4)).flatten().shape == (2, 12)
    with pytest.raises(ShapeError, match="size 1"):
        nd.ones((1, 2)).squeeze(axis=1)


def test_reshapes_are_recorded():
    a = x()
    a.attach_grad()
    with autograd.record():
        y = a.reshape((3, 2)).expand_dims(0).squeeze(0).flatten()[0] * nd.array([1, 2])
    y.backward()
    same(a.grad, [[1, 2, 0], [0, 0, 0]])


def test_broadcast_to_and_like():
    row = nd.array([[1, 2, 3]])
    same(row.broadcast_to((2, 3)), [[1, 2, 3], [1, 2, 3]])
    same(nd.array([1, 2, 3]).broadcast_to((2, 3)), [[1, 2, 3], [1, 2, 3]])
    same(row.broadcast_like(x()), [[1, 2, 3], [1, 2, 3]])
    target = row.broadcast_to((2, 3))
    target[0] = 0
    same(target, [[0, 0, 0], [1, 2, 3]])
    with pytest.raises(ShapeError, match="broadcast_to"):
        x().broadcast_to((4, 3))


def test_slice_assign_writes_in_place():
    a = x()
    assert a.slice_assign(nd.zeros((1, 2)), (0, 0), (1, 2), (1, 1)) is a
    assert a.slice_assign_scalar(7, (None, 2), (None, None), (None, None)) is a
    same(a, [[0, 0, 7], [2, 5, 7]])


def test_astype():
    same(x().astype("int8"), HOST, "int8")
    same(nd.array([1.7, -1.7]).astype(np.int64), [1, -1], "int64")
    same(x().astype(None), HOST)
    a = x()
    assert a.astype("float32", copy=False) is a
    with pytest.raises(DTypeError, match="foo"):
        a.astype("foo")


def test_copyto_casts_and_checks():
    target = nd.zeros((2, 3), dtype="int32")
    assert x().copyto(target) is target
    same(target, HOST, "int32")
    with pytest.raises(ShapeError, match="copyto"):
        x().copyto(nd.zeros((3, 2)))
    with pytest.raises(DTypeError, match="copyto"):
        x().copyto(np.zeros((2, 3)))
    a = x()
    with pytest.warns(RuntimeWarning, match="itself"):
        assert a.copyto(a) is False


def test_copies_are_recorded():
    a = x()
    a.attach_grad()
    with autograd.record():
        target = nd.zeros((2, 3))
        a.copyto(target)
        y = target * a.copy()
    y.backward()
    same(a.grad, 2 * HOST)


def test_conversion_to_python():
    a = nd.array([2.5])
    assert (float(a), int(a), complex(a), bool(a), a.asscalar(), a.item()) == (2.5, 2, 2.5 + 0j, True, 2.5, 2.5)
    assert [10, 20][nd.array([1], dtype="int32")] == 20
    with pytest.raises(DTypeError, match="index"):
        [10, 20][a]
    with pytest.raises(ParameterError, match="ambiguous"):
        bool(x())
    with pytest.raises(ParameterError, match="not a scalar"):
        x().asscalar()
    with pytest.raises(DTypeError, match="length"):
        len(nd.array(3))


def test_printing_matches_numpy_plus_a_summary_line():
    for dtype in ("float32", "int32", "bool"):
        a = nd.array(HOST, dtype=dtype, ctx=mx.cpu(1))
        assert repr(a) == str(a) == f"\n{HOST.astype(dtype)}\n<NDArray 2x3 @cpu(1)>"
    here = mx.current_context()
    assert repr(x()[0]) == f"\n[4. 1. 3.]\n<NDArray 3 @{here}>"
    assert repr(nd.array(5)) == f"\n5.0\n<NDArray  @{here}>"


def test_sets_and_dictionaries_distinguish_arrays_by_identity():
    a, b = x(), x()
    assert len({a, b}) == 2
    assert {a: 1}[a] == 1


# functions


@pytest.mark.parametrize("name", ["add", "subtract", "multiply", "divide", "true_divide", "modulo", "power", "maximum", "minimum"])
def test_arithmetic_of_arrays_and_numbers(name):
    function = getattr(nd, name)
    numpys = {"modulo": np.mod}.get(name) or getattr(np, name)
    a, b = nd.array([1, 2, 3]), nd.array([[3], [2]])
    same(function(a, b), numpys(np.array([1.0, 2, 3]), np.array([[3.0], [2]])))
    same(function(a, 2), numpys(np.array([1.0, 2, 3]), 2))
    same(function(2, a), numpys(2, np.array([1.0, 2, 3])))
    assert function(5, 2) == numpys(5, 2)
    with pytest.raises(DTypeError, match=name):
        function(a, "b")


@pytest.mark.parametrize("name", ["equal", "not_equal", "greater", "greater_equal", "lesser", "lesser_equal"])
def test_comparison_of_arrays_and_numbers(name):
    function, numpys = getattr(nd, name), getattr(np, name.replace("lesser", "less"))
    a = nd.array([1, 2, 3])
    same(function(a, nd.array([3, 2, 1])), numpys([1, 2, 3], [3, 2, 1]))
    same(function(a, 2), numpys([1, 2, 3], 2))
    same(function(2, a), numpys(2, [1, 2, 3]))
    assert function(1, 2) == int(numpys(1, 2))


@pytest.mark.parametrize("name", ["logical_and", "logical_or", "logical_xor"])
def test_logic_of_arrays_and_numbers(name):
    function, numpys = getattr(nd, name), getattr(np, name)
    same(function(nd.array([0, 1, 2]), nd.array([2, 0, 3])), numpys([0, 1, 2], [2, 0, 3]))
    same(function(nd.array([0, 1]), 1), numpys([0, 1], 1))
    assert function(2, 0) == int(numpys(2, 0))


def test_remainders_and_powers_match_mxnet():
    same(nd.array([5, -5]) % 0, [0, 0])
    same(nd.array([5, -5]) % -3, [-1, -2])
    same(nd.array([1, 2], dtype="int32") ** -1, [1, 0], "int32")
    a = nd.array([5, 7])
    a %= 0
    same(a, [0, 0])


def test_concatenate():
    a, b = x(), nd.zeros((1, 3))
    same(nd.concatenate([a, b]), np.concatenate([HOST, np.zeros((1, 3))]))
    same(nd.concatenate([a, a], axis=-1), np.concatenate([HOST, HOST], 1))
    assert nd.concatenate([a], always_copy=False) is a
    assert nd.concatenate([a]) is not a
    for wrong in ([], a, [a, 3]):
        with pytest.raises(ParameterError, match="list"):
            nd.concatenate(wrong)
    with pytest.raises(DTypeError, match="dtype"):
        nd.concatenate([a, nd.zeros((1, 3), dtype="int32")])
    with pytest.raises(ShapeError):
        nd.concatenate([a, nd.zeros((1, 2))])


@pytest.mark.parametrize(("source", "destination"), [(0, 2), (-1, 0), ((0, 1), (-1, -2)), ([2, 0], [0, 1])])
def test_moveaxis(source, destination):
    host = np.arange(24.0).reshape(2, 3, 4)
    same(nd.moveaxis(nd.array(host), source, destination), np.moveaxis(host, source, destination))


@pytest.mark.parametrize(("source", "destination"), [(5, 0), ((0, 0), (1, 2)), ((0, 1), (1,))])
def test_moveaxis_refuses_wrong_axes(source, destination):
    with pytest.raises(ValueError, match="moveaxis"):
        nd.moveaxis(nd.ones((2, 3, 4)), source, destination)


@pytest.mark.parametrize(("parts", "axis"), [(3, 1), ((1,), 1), ((1, 2), 1), (2, 0), ((), 0), ((0, 2), 1)])
def test_split_v2(parts, axis):
    got = nd.split_v2(x(), parts, axis)
    expected = np.split(HOST, parts if isinstance(parts, int) else list(parts), axis)
    for g, e in zip(got if isinstance(got, list) else [got], expected, strict=True):
        same(g, e)


def test_split_v2_squeezes_and_checks():
    assert [p.shape for p in nd.split_v2(x(), 3, axis=1, squeeze_axis=True)] == [(2,)] * 3
    for wrong in (2, 0, 2.5, "a"):
        with pytest.raises(ParameterError, match="split_v2"):
            nd.split_v2(x(), wrong, axis=1)


def test_onehot_encode_writes_rows():
    out = nd.zeros((2, 3))
    assert nd.onehot_encode(nd.array([2, 0]), out) is out
    same(out, [[0, 0, 1], [1, 0, 0]])


def test_histogram():
    a = nd.array([0, 1, 2, 1])
    for bins, limits, dtype in [(3, None, "float32"), (2, (0, 4), "int64")]:
        counts, edges = nd.histogram(a, bins, limits)
        expected = np.histogram([0, 1, 2, 1], bins, limits)
        same(counts, expected[0], dtype)
        same(edges, expected[1])
    counts, edges = nd.histogram(a, nd.array([0, 1, 3]))
    same(counts, [1, 3], "int64")
    same(edges, [0, 1, 3])


def test_waitall_waits():
    a = nd.ones((100_000,)) * 2
    nd.waitall()
    a.wait_to_read()
    a.wait_to_write()
    assert a[0].asscalar() == 2


def test_head_gradients_are_checked():
    a = x()
    a.attach_grad()
    with autograd.record():
        y = a * 2
    with pytest.raises(ShapeError, match="head gradient"):
        y.backward(nd.ones((3,)))
    with pytest.raises(DTypeError, match="head gradient"):
        y.backward(3)
    with pytest.raises(ParameterError, match="numbers of heads and head_grads differ"):
        autograd.backward([y, y], [nd.ones((2, 3))])
    y.backward(nd.ones((2, 3), dtype="int32"))
    same(a.grad, np.full((2, 3), 2))


def test_a_gradient_is_fresh_until_told_otherwise():
    a = x()
    assert not a._fresh_grad
    a.attach_grad()
    with autograd.record():
        y = a * 2
    y.backward()
    assert a._fresh_grad
    a._fresh_grad = False
    assert not a._fresh_grad


@pytest.mark.parametrize("dtype", ["uint8", "int8", "int32", "int64"])
@pytest.mark.parametrize("limits", [(-2, 3), (-300, 300), (0, 1e10), (0.5, 2.5), (-math.inf, 3), (-(2**40), 2**40), (-1e30, 1e30)])
@pytest.mark.parametrize("count", [5, 70_000])
def test_clip_limits_beyond_the_dtype_have_no_effect(dtype, limits, count):
    host = np.resize(np.array([0, 1, 5, 100, 127], dtype), count)
    want = np.clip(host.astype(np.float64), *np.trunc(limits)).astype(dtype)
    x = nd.array(host, dtype=dtype)
    symbol = mx.sym.clip(mx.sym.var("x", dtype=dtype), *limits).bind(mx.cpu(), {"x": x}, grad_req="null")
    for got in (nd.clip(x, *limits), x.clip(*limits), symbol.forward()[0]):
        assert np.dtype(got.dtype) == dtype
        np.testing.assert_array_equal(got.asnumpy(), want)


@pytest.mark.parametrize("number", [math.inf, -math.inf, math.nan])
def test_a_number_without_an_integer_value_is_rejected(number):
    x = nd.array([1, 2], dtype="int32")
    with pytest.raises(ParameterError, match="is not a valid int32"):
        x + number
    with pytest.raises(ParameterError, match="is not a valid int32"):
        x[:] = number


def test_complex_numbers_are_no_elements_of_real_arrays():
    """In MXNet NumPy raises; of NumPy's own complex arrays both take the real parts."""
    x = nd.ones(2)
    for given in (1j, [1j, 2]):
        with pytest.raises(TypeError):
            x[:] = given
        with pytest.raises(TypeError):
            nd.array(given)
    with pytest.warns(np.exceptions.ComplexWarning):
        x[:] = np.array([1j, 2])
    assert x.asnumpy().tolist() == [0, 2]


def test_flatten_keeps_the_sizes_of_empty_arrays():
    for shape, expected in (((0, 3), (0, 3)), ((0, 3, 2), (0, 6)), ((2, 0, 3), (2, 0)), ((), (1, 1))):
        assert nd.ones(shape).flatten().shape == expected


def test_arrays_without_axes_are_written_as_a_whole_and_shown_in_few_digits():
    # as MXNet 1.9.1 under `np_shape`
    a = nd.ones(())
    a[:] = 1.1
    assert a.shape == ()
    assert repr(a) == f"\n1.1\n<NDArray  @{a.context}>"


@pytest.mark.parametrize("convert", [float, int, complex, operator.index, lambda x: [1, 2, 3][x]])
def test_numbers_of_several_elements_raise_the_errors_of_python_and_of_mxnet(convert):
    with pytest.raises(TypeError):
        convert(nd.array([1, 2], dtype="int32"))
    with pytest.raises(ValueError, match="not a scalar"):
        nd.array([1, 2]).asscalar()


@pytest.mark.parametrize("axis", [np.int64(1), np.array(1), (np.int32(1),)])
def test_squeeze_takes_numpys_integers(axis):
    assert nd.ones((2, 1, 1)).squeeze(axis=axis).shape == (2, 1)

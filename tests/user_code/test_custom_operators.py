"""`mx.operator.CustomOp` and `autograd.Function`: forward, gradient, state, errors; on arrays, in symbols, from JSON."""

import subprocess
import sys

import numpy as np
import pytest

import twofold as mx
from twofold.errors import DTypeError, MXNetError, OperatorError, ParameterError, ShapeError

nd = mx.nd


class Logistic(mx.operator.CustomOp):
    def forward(self, is_train, req, in_data, out_data, aux):
        self.assign(out_data[0], req[0], 1 / (1 + nd.exp(-in_data[0])))

    def backward(self, req, out_grad, in_data, out_data, in_grad, aux):
        y = out_data[0]
        self.assign(in_grad[0], req[0], out_grad[0] * y * (1 - y))


@mx.operator.register("tests_logistic")
class LogisticProp(mx.operator.CustomOpProp):
    def create_operator(self, ctx, in_shapes, in_dtypes):
        return Logistic()


class Counting(mx.operator.CustomOp):
    def forward(self, is_train, req, in_data, out_data, aux):
        self.assign(out_data[0], req[0], in_data[0] + in_data[1])
        self.assign(out_data[1], req[1], in_data[0] * aux[0])
        aux[0][:] = aux[0] + 1

    def backward(self, req, out_grad, in_data, out_data, in_grad, aux):
        self.assign(in_grad[0], req[0], out_grad[0])
        self.assign(in_grad[1], req[1], out_grad[0] * 2)


@mx.operator.register("tests_counting")
class CountingProp(mx.operator.CustomOpProp):
    def __init__(self, scale="1"):
        super().__init__()
        assert isinstance(scale, str)

    def list_arguments(self):
        return ["a", "b"]

    def list_outputs(self):
        return ["sum", "scaled"]

    def list_auxiliary_states(self):
        return ["count"]

    def infer_shape(self, in_shape):
        return in_shape, [in_shape[0], in_shape[0]], [[1]]

    def create_operator(self, ctx, in_shapes, in_dtypes):
        return Counting()


X = np.array([0.0, 1.0, -2.0], "f4")
LOGISTIC = 1 / (1 + np.exp(-X))


def test_a_custom_operator_computes_and_differentiates():
    x = nd.array(X)
    x.attach_grad()
    with mx.autograd.record():
        y = nd.Custom(x, op_type="tests_logistic")
    y.backward()
    np.testing.assert_allclose(y.asnumpy(), LOGISTIC, rtol=1e-6)
    np.testing.assert_allclose(x.grad.asnumpy(), LOGISTIC * (1 - LOGISTIC), rtol=1e-6)


def test_several_results_and_a_state_that_forward_changes():
    a, b, count = nd.array(X), nd.array(X), nd.array([3.0])
    b.attach_grad()
    with mx.autograd.record():
        total, scaled = nd.Custom(a, b, count, op_type="tests_counting", scale=2)
    total.backward()
    np.testing.assert_allclose(total.asnumpy(), 2 * X)
    np.testing.assert_allclose(scaled.asnumpy(), 3 * X)
    assert count.asscalar() == 4
    np.testing.assert_allclose(b.grad.asnumpy(), np.full(3, 2.0))


def test_a_custom_operator_in_a_symbol_and_from_its_json():
    symbol = mx.sym.Custom(mx.sym.var("x") * 2, op_type="tests_logistic", name="own")
    assert symbol.list_outputs() == ["own_output"]
    again = mx.sym.load_json(symbol.tojson())
    for s in (symbol, again):
        executor = s.simple_bind(mx.current_context(), x=(3,))
        executor.arg_dict["x"][:] = X / 2
        np.testing.assert_allclose(executor.forward(is_train=True)[0].asnumpy(), LOGISTIC, rtol=1e-6)
        executor.backward(nd.ones(3))
        np.testing.assert_allclose(executor.grad_dict["x"].asnumpy(), 2 * LOGISTIC * (1 - LOGISTIC), rtol=1e-6)


def test_variables_are_created_for_omitted_arguments():
    assert mx.sym.Custom(op_type="tests_logistic", name="own").list_arguments() == ["own_data"]


def test_an_unknown_type_is_named():
    with pytest.raises(OperatorError, match="no_such_type"):
        nd.Custom(nd.ones(1), op_type="no_such_type")


@pytest.mark.parametrize("call", [lambda: nd.Custom(nd.ones(1)), lambda: mx.sym.Custom(mx.sym.var("x"))])
def test_the_type_is_required(call):
    with pytest.raises(MXNetError, match="Required argument op_type is missing"):
        call()


class Product(mx.autograd.Function):
    def forward(self, x, y):
        self.save_for_backward(x, y)
        return x * y, x + y

    def backward(self, dproduct, dsum):
        x, y = self.saved_tensors
        return dproduct * y + dsum, dproduct * x + dsum


def test_a_function_with_several_results():
    x, y = nd.array(X), nd.array(X + 1)
    x.attach_grad()
    y.attach_grad()
    with mx.autograd.record():
        product, total = Product()(x, y)
        z = product * product + total
    z.backward()
    np.testing.assert_allclose(x.grad.asnumpy(), 2 * X * (X + 1) * (X + 1) + 1, rtol=1e-6)
    np.testing.assert_allclose(y.grad.asnumpy(), 2 * X * (X + 1) * X + 1, rtol=1e-6)


def test_two_calls_keep_their_own_state():
    x = nd.array(X)
    x.attach_grad()
    with mx.autograd.record():
        first, _ = Product()(x, nd.array([2.0, 2, 2]))
        second, _ = Product()(x, nd.array([5.0, 5, 5]))
        z = first + second
    z.backward()
    np.testing.assert_allclose(x.grad.asnumpy(), [7, 7, 7])


def test_an_exception_of_user_code_is_the_cause():
    class Broken(mx.autograd.Function):
        def forward(self, x):
            return x * 1

        def backward(self, dy):
            raise ZeroDivisionError("mine")

    x = nd.array(X)
    x.attach_grad()
    with mx.autograd.record():
        y = Broken()(x)
    with pytest.raises(mx.MXNetError, match="Broken") as caught:
        y.backward()
    assert isinstance(caught.value.__cause__, ZeroDivisionError)
    assert (nd.ones(2) + 1).asnumpy().tolist() == [2, 2]


class Visits(mx.operator.CustomOp):
    """x + visits; forward adds one visit, backward ten."""

    def forward(self, is_train, req, in_data, out_data, aux):
        self.assign(out_data[0], req[0], in_data[0] + aux[0])
        aux[0][:] = aux[0] + 1

    def backward(self, req, out_grad, in_data, out_data, in_grad, aux):
        self.assign(in_grad[0], req[0], out_grad[0] * aux[0])
        aux[0][:] = aux[0] + 10


@mx.operator.register("tests_visits")
class VisitsProp(mx.operator.CustomOpProp):
    def list_auxiliary_states(self):
        return ["cnt"]

    def infer_shape(self, in_shape):
        return in_shape, [in_shape[0]], [(1,)]

    def create_operator(self, ctx, in_shapes, in_dtypes):
        return Visits()


#: Two training steps on ones: output, state after forward, gradient, state after backward; MXNet 1.9.1's values.
VISITS = [([1, 1], [1], [1, 1], [11]), ([12, 12], [12], [12, 12], [22])]


def visits(name="t"):
    return mx.sym.Custom(mx.sym.var("x"), op_type="tests_visits", name=name)


def steps(run, state, gradient):
    """Forward and backward twice: what `VISITS` lists."""
    found = []
    for _ in VISITS:
        y = run(forward=True).asnumpy().tolist()
        between = state().asnumpy().tolist()
        run(forward=False)
        found.append((y, between, gradient().asnumpy().tolist(), state().asnumpy().tolist()))
    return found


@pytest.mark.parametrize("again", [False, True])
def test_a_symbol_lists_and_infers_auxiliary_states(again):
    s = mx.sym.load_json(visits().tojson()) if again else visits()
    assert (s.list_arguments(), s.list_auxiliary_states(), s.list_outputs()) == (["x"], ["t_cnt"], ["t_output"])
    assert s.infer_shape(x=(2,)) == ([(2,)], [(2,)], [(1,)])
    assert s.infer_type(x="float64") == ([np.float64], [np.float64], [np.float64])
    assert s.attr_dict() == {"t": {"op_type": "tests_visits"}, "t_cnt": {"op_type": "tests_visits"}}


@pytest.mark.parametrize("again", [False, True])
def test_an_executor_updates_auxiliary_states_forward_and_backward(again):
    s = mx.sym.load_json(visits().tojson()) if again else visits()
    e = s.simple_bind(mx.current_context(), x=(2,))
    e.arg_dict["x"][:] = 1

    def run(forward):
        return e.forward(is_train=True)[0] if forward else e.backward(nd.ones((2,)))

    assert steps(run, lambda: e.aux_dict["t_cnt"], lambda: e.grad_dict["x"]) == VISITS
    assert e.forward()[0].asnumpy().tolist() == [23, 23]


def test_bound_states_are_the_arrays_that_were_given():
    state = nd.array([5])
    e = visits().bind(mx.current_context(), {"x": nd.ones((2,))}, aux_states={"t_cnt": state})
    assert e.forward()[0].asnumpy().tolist() == [6, 6]
    assert state.asscalar() == 6


def test_a_state_is_given_by_position_or_name_and_shared():
    x, c = mx.sym.var("x"), mx.sym.var("c")
    assert mx.sym.Custom(x, c, op_type="tests_visits").list_auxiliary_states() == ["c"]
    twice = mx.sym.Custom(mx.sym.Custom(data=x, cnt=c, op_type="tests_visits"), c, op_type="tests_visits")
    state = nd.array([5])
    e = twice.bind(mx.current_context(), {"x": nd.ones((2,))}, aux_states=[state])
    assert e.forward()[0].asnumpy().tolist() == [12, 12]  # 1 + 5 + 6
    assert state.asscalar() == 7


def test_a_computed_state_is_rejected():
    with pytest.raises(ParameterError, match="an auxiliary state must be a variable"):
        mx.sym.Custom(mx.sym.var("x"), mx.sym.var("c") * 2, op_type="tests_visits")


def test_a_monitor_does_not_count():
    e = visits().simple_bind(mx.current_context(), x=(2,))
    seen = []
    e.set_monitor_callback(lambda name, value: seen.append(name))
    e.forward()
    assert "t_output" in seen
    assert e.aux_dict["t_cnt"].asscalar() == 1


class Visited(mx.gluon.HybridBlock):
    """`Visits` with a parameter as its state."""

    def __init__(self):
        super().__init__()
        with self.name_scope():
            self.cnt = self.params.get("cnt", shape=(1,), init="zeros", grad_req="null", differentiable=False)

    def hybrid_forward(self, F, x, cnt):
        return F.Custom(x, cnt, op_type="tests_visits")


@pytest.mark.parametrize("options", [None, {}, {"mirror": True}])
def test_a_block_updates_a_parameter_that_is_a_state(options):
    block = Visited()
    block.initialize()
    if options is not None:
        block.hybridize(**options)
    x, kept = nd.ones((2,)), []
    x.attach_grad()

    def run(forward):
        if not forward:
            return kept.pop().backward()
        with mx.autograd.record():
            kept.append(block(x))
        return kept[-1]

    assert steps(run, block.cnt.data, lambda: x.grad) == VISITS


def test_arrays_update_states_forward_and_backward():
    x, state, kept = nd.ones((2,)), nd.array([0]), []
    x.attach_grad()

    def run(forward):
        if not forward:
            return kept.pop().backward()
        with mx.autograd.record():
            kept.append(nd.Custom(x, state, op_type="tests_visits"))
        return kept[-1]

    assert steps(run, lambda: state, lambda: x.grad) == VISITS


def test_a_compiled_symbol_updates_states():
    f, state = mx.compile(visits()), nd.array([5])
    assert [f(x=nd.ones((2,)), t_cnt=state).asnumpy().tolist() for _ in range(2)] == [[6, 6], [7, 7]]
    assert state.asscalar() == 7


def test_custom_operators_within_loops():
    def body(row, state):
        new = mx.sym.Custom(row, op_type="tests_logistic") + state
        return new, new

    out, _ = mx.sym.contrib.foreach(body, mx.sym.var("x"), mx.sym.var("s"))
    e = out.bind(
        mx.current_context(),
        {"x": nd.array([[0.0], [0.0]]), "s": nd.array([0])},
        args_grad={"x": nd.zeros((2, 1))},
        grad_req={"x": "write"},
    )
    assert e.forward(is_train=True)[0].asnumpy().tolist() == [[0.5], [1]]  # the logistic function of 0 is 1/2, its slope 1/4
    e.backward(nd.ones((2, 1)))
    assert e.grad_dict["x"].asnumpy().tolist() == [[0.5], [0.25]]


def test_states_within_loops_are_rejected():
    out, _ = mx.sym.contrib.foreach(
        lambda row, state: (mx.sym.Custom(row, mx.sym.var("c"), op_type="tests_visits"), state), mx.sym.var("x"), mx.sym.var("s")
    )
    with pytest.raises(ParameterError, match="updates a state"):
        out.simple_bind(mx.current_context(), x=(2, 1), s=(1,), c=(1,)).forward()


class Square(mx.autograd.Function):
    def forward(self, x):
        self.save_for_backward(x)
        return x * x

    def backward(self, dy):
        (x,) = self.saved_tensors
        return 2 * dy * x


def test_the_gradient_of_a_functions_gradient():
    x = nd.ones(3) * 2
    x.attach_grad()
    with mx.autograd.record():
        (g,) = mx.autograd.grad(Square()(x), [x], create_graph=True)
        q = g * g + x
    q.backward()
    np.testing.assert_allclose(x.grad.asnumpy(), np.full(3, 17.0))


def test_second_order_gradients_of_a_custom_operator_are_rejected():
    x = nd.array(X)
    x.attach_grad()
    with mx.autograd.record():
        y = nd.Custom(x, op_type="tests_logistic")
        with pytest.raises(mx.errors.AutogradError, match="cannot be differentiated"):
            mx.autograd.grad(y, [x], create_graph=True)


def test_errors_of_forward_and_of_a_property_are_wrapped():
    class Broken(mx.autograd.Function):
        def forward(self, x):
            raise ZeroDivisionError("mine")

    with pytest.raises(mx.MXNetError, match="Broken: forward") as caught:
        Broken()(nd.ones(2))
    assert isinstance(caught.value.__cause__, ZeroDivisionError)

    @mx.operator.register("tests_bad_shapes")
    class BadProp(mx.operator.CustomOpProp):
        def infer_shape(self, in_shape):
            raise KeyError("mine")

    with pytest.raises(mx.MXNetError, match="infer_shape") as caught:
        nd.Custom(nd.ones(2), op_type="tests_bad_shapes")
    assert isinstance(caught.value.__cause__, KeyError)


def test_a_scalar_among_a_functions_inputs_is_rejected():
    with pytest.raises(mx.errors.DTypeError, match="is not an array"):
        Square()(3)


def test_the_front_ends_have_custom_before_anything_is_registered():
    program = "from twofold.ndarray import Custom; from twofold.symbol import Custom as S; import twofold as mx; "
    program += "assert (mx.nd.Custom, mx.sym.Custom) == (Custom, S) and 'Custom' in dir(mx.nd) and 'Custom' in dir(mx.sym)"
    subprocess.run([sys.executable, "-c", program], check=True)


def test_dtypes_reach_create_operator_as_mxnets_codes():
    seen = []

    @mx.operator.register("tests_dtypes")
    class Dtypes(LogisticProp):
        def create_operator(self, ctx, in_shapes, in_dtypes):
            seen.append(in_dtypes)
            return Logistic()

    for dtype in ("float32", "float64", "float16", "int32"):
        nd.Custom(nd.ones(2, dtype=dtype), op_type="tests_dtypes")
    assert seen == [[0], [1], [2], [4]]


def gradients(returned, inputs=1, shape=(2,)):
    """Gradients of a function's inputs when its backward returns ``returned()``."""

    class Given(mx.autograd.Function):
        def forward(self, *arrays):
            return arrays[0] * 1

        def backward(self, dy):
            return returned()

    arrays = [nd.ones(shape) for _ in range(inputs)]
    for array in arrays:
        array.attach_grad()
    with mx.autograd.record():
        y = Given()(*arrays)
    y.backward()
    return [a.grad for a in arrays]


@pytest.mark.parametrize(
    ("returned", "shape", "expected"),
    [
        (lambda: nd.ones((1,)) * 3, (2,), [3, 3]),
        (lambda: nd.ones((1, 2)) * 3, (2,), [3, 3]),
        (lambda: nd.ones((2,), dtype="float64") * 3, (2,), [3, 3]),
        (lambda: nd.array([1, 2]), (2, 2), [[1, 2], [1, 2]]),
    ],
)
def test_a_functions_gradient_is_broadcast_and_cast_to_its_input(returned, shape, expected):
    # as MXNet 1.9.1 does
    (grad,) = gradients(returned, shape=shape)
    assert (grad.shape, grad.dtype, grad.asnumpy().tolist()) == (shape, np.float32, expected)


@pytest.mark.parametrize(
    ("returned", "inputs", "error", "message"),
    [
        (lambda: nd.ones((7,)), 1, ShapeError, r"Given: backward: array 0 has a different shape: given \(7,\) for \(2,\)"),
        (lambda: nd.ones((2, 1)), 1, ShapeError, "different shape"),
        (lambda: nd.ones((2,)), 2, ParameterError, "must return 2 arrays: given 1"),
        (lambda: [nd.ones((2,))] * 2, 1, ParameterError, "must return 1 arrays: given 2"),
        (lambda: None, 1, DTypeError, "array 0 is not an array: given NoneType"),
        (lambda: (nd.ones((2,)), None), 2, DTypeError, "array 1 is not an array: given NoneType"),
        (lambda: 3.0, 1, DTypeError, "array 0 is not an array: given float"),
    ],
)
def test_what_a_functions_backward_returns_is_checked(returned, inputs, error, message):
    with pytest.raises(error, match=message):
        gradients(returned, inputs)


def test_what_a_functions_forward_returns_is_checked():
    class Nothing(mx.autograd.Function):
        def forward(self, x):
            return None

    with pytest.raises(DTypeError, match="Nothing: forward must return arrays: given NoneType"):
        Nothing()(nd.ones((2,)))


def test_gradients_that_are_differentiated_in_turn_are_cast_too():
    class Doubled(mx.autograd.Function):
        def forward(self, x):
            self.save_for_backward(x)
            return x * x

        def backward(self, dy):
            (x,) = self.saved_tensors
            return (2 * dy * x).astype("float64")

    x = nd.ones(3) * 2
    x.attach_grad()
    with mx.autograd.record():
        (g,) = mx.autograd.grad(Doubled()(x), [x], create_graph=True)
        q = g * g
    assert g.dtype == np.float32
    q.backward()
    np.testing.assert_allclose(x.grad.asnumpy(), np.full(3, 16.0))  # (2x)^2 has the slope 8x


def test_a_custom_operator_that_raises_is_named_by_its_type():
    class Failing(mx.operator.CustomOp):
        def forward(self, is_train, req, in_data, out_data, aux):
            raise ZeroDivisionError("mine")

    @mx.operator.register("tests_failing")
    class FailingProp(mx.operator.CustomOpProp):
        def create_operator(self, ctx, in_shapes, in_dtypes):
            return Failing()

    with pytest.raises(mx.MXNetError, match=r"Custom\(tests_failing\): forward raised ZeroDivisionError: mine"):
        nd.Custom(nd.ones(2), op_type="tests_failing")


def test_a_property_that_omits_an_output_is_reported():
    @mx.operator.register("tests_forgetful")
    class ForgetfulProp(mx.operator.CustomOpProp):
        def infer_shape(self, in_shape):
            return in_shape, []

    with pytest.raises(ParameterError, match="infer_shape must return one entry for each argument, output and auxiliary state"):
        nd.Custom(nd.ones(2), op_type="tests_forgetful")


def test_hybridized_custom_operators_run_where_their_operands_are():
    places = []

    class Placed(mx.operator.CustomOp):
        def forward(self, is_train, req, in_data, out_data, aux):
            places.append((in_data[0].context, out_data[0].context))
            self.assign(out_data[0], req[0], in_data[0] * 2)

    @mx.operator.register("tests_placed")
    class PlacedProp(mx.operator.CustomOpProp):
        def create_operator(self, ctx, in_shapes, in_dtypes):
            places.append(ctx)
            return Placed()

    class Block(mx.gluon.HybridBlock):
        def hybrid_forward(self, F, x):
            return F.Custom(x, op_type="tests_placed")

    block = Block()
    block.hybridize()
    for place in (mx.cpu(0), mx.Context("cpu_pinned", 0)):
        places.clear()
        assert block(nd.ones((2,), ctx=place)).asnumpy().tolist() == [2, 2]
        assert places == [place, (place, place)]


def test_recomputation_does_not_rerun_user_code(monkeypatch):
    calls = []

    class Counted(mx.operator.CustomOp):
        def forward(self, is_train, req, in_data, out_data, aux):
            calls.append(1)
            self.assign(out_data[0], req[0], in_data[0] * 2)

        def backward(self, req, out_grad, in_data, out_data, in_grad, aux):
            self.assign(in_grad[0], req[0], out_grad[0] * 2)

    @mx.operator.register("tests_counted")
    class CountedProp(mx.operator.CustomOpProp):
        def create_operator(self, ctx, in_shapes, in_dtypes):
            return Counted()

    class Chain(mx.gluon.HybridBlock):
        def hybrid_forward(self, F, x):
            for _ in range(6):
                x = F.tanh(F.Custom(x, op_type="tests_counted"))
            return x

    monkeypatch.setenv("MXNET_BACKWARD_DO_MIRROR", "1")
    block, x = Chain(), nd.ones((100,))
    executor = block(mx.sym.var("x")).simple_bind(mx.current_context(), x=(100,))
    executor.forward(is_train=True)
    executor.backward()
    assert len(calls) == 6
    block.hybridize(mirror=True)
    x.attach_grad()
    with mx.autograd.record():
        y = block(x)
    y.backward()
    assert len(calls) == 12


def test_the_results_of_a_node_have_the_propertys_names():
    node = mx.sym.Custom(mx.sym.var("a"), mx.sym.var("b"), op_type="tests_counting", name="c")
    listed = [f"c_{name}" for name in CountingProp().list_outputs()]
    assert node.list_outputs() == mx.sym.load_json(node.tojson()).list_outputs() == listed
    assert mx.sym.Custom(mx.sym.var("a"), op_type="tests_logistic", name="l").list_outputs() == ["l_output"]

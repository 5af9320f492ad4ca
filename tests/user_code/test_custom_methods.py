"""What MXNet does with the methods that users define: custom operators' by keyword, and those of base classes."""

import pytest

import twofold as mx
from twofold.errors import OperatorError


def test_methods_are_called_by_keyword():
    """As in MXNet, where operators may name their parameters in any order."""

    class Doubled(mx.operator.CustomOp):
        def forward(self, aux, req, out_data, in_data, **rest):
            assert list(rest) == ["is_train"]
            self.assign(out_data[0], req[0], in_data[0] * 2)

        def backward(self, in_grad, req, out_grad, **rest):
            assert sorted(rest) == ["aux", "in_data", "out_data"]
            self.assign(in_grad[0], req[0], out_grad[0] * 2)

    @mx.operator.register("doubled_by_keyword")
    class DoubledProp(mx.operator.CustomOpProp):
        def create_operator(self, ctx, shapes, dtypes):
            return Doubled()

    x = mx.nd.ones(2)
    x.attach_grad()
    with mx.autograd.record():
        y = mx.nd.Custom(x, op_type="doubled_by_keyword")
    y.backward()
    assert y.asnumpy().tolist() == x.grad.asnumpy().tolist() == [2, 2]


def test_a_method_that_is_not_defined_is_named_though_the_base_class_has_it():
    class Half(mx.operator.CustomOp):
        def forward(self, is_train, req, in_data, out_data, aux):
            super().forward(is_train, req, in_data, out_data, aux)  # does nothing
            self.assign(out_data[0], req[0], in_data[0] / 2)

    @mx.operator.register("half_without_backward")
    class HalfProp(mx.operator.CustomOpProp):
        def create_operator(self, ctx, shapes, dtypes):
            return Half()

    x = mx.nd.ones(2)
    x.attach_grad()
    with mx.autograd.record():
        y = mx.nd.Custom(x, op_type="half_without_backward")
    with pytest.raises(OperatorError, match="Half does not define backward"):
        y.backward()


@pytest.mark.parametrize(
    "call",
    [
        lambda: mx.gluon.rnn.RecurrentCell().state_info(),
        lambda: type("Cell", (mx.gluon.rnn.HybridRecurrentCell,), {})().begin_state(2),
        lambda: mx.image.Augmenter()(mx.nd.ones(1)),
        lambda: mx.image.DetAugmenter()(mx.nd.ones(1), mx.nd.ones(1)),
    ],
    ids=["states", "first states", "augmenter", "augmenter of boxes"],
)
def test_what_a_subclass_must_define_is_not_implemented(call):
    with pytest.raises(NotImplementedError, match="define"):
        call()


def test_an_executor_has_one_object_in_both_modes():
    """As in MXNet: what an operator keeps in training is there in prediction, and the other way round."""

    class Calls(mx.operator.CustomOp):
        count = 0

        def forward(self, is_train, req, in_data, out_data, aux):
            self.count += 1
            self.assign(out_data[0], req[0], in_data[0] + self.count)

        def backward(self, req, out_grad, in_data, out_data, in_grad, aux):
            self.assign(in_grad[0], req[0], out_grad[0] * self.count)

    made = []

    @mx.operator.register("calls_of_both_modes")
    class CallsProp(mx.operator.CustomOpProp):
        def create_operator(self, ctx, shapes, dtypes):
            made.append(Calls())
            return made[-1]

    executor = mx.sym.Custom(mx.sym.var("x"), op_type="calls_of_both_modes").simple_bind(mx.cpu(), x=(1,))
    seen = [executor.forward(is_train=training)[0].asscalar() for training in (False, True, False, True, True)]
    executor.backward([mx.nd.ones(1)])
    assert seen == [1, 2, 3, 4, 5]
    assert executor.grad_dict["x"].asscalar() == 5
    assert len(made) == 1


def test_a_node_has_one_property():
    made = []

    class Doubled(mx.operator.CustomOp):
        def forward(self, is_train, req, in_data, out_data, aux):
            self.assign(out_data[0], req[0], in_data[0] * 2)

    @mx.operator.register("tests_counted_property")
    class CountedProp(mx.operator.CustomOpProp):
        def __init__(self, scale="1"):
            super().__init__()
            made.append(scale)

        def create_operator(self, ctx, in_shapes, in_dtypes):
            return Doubled()

    node = mx.sym.Custom(mx.sym.var("x"), scale=2, op_type="tests_counted_property")
    node.infer_shape(x=(2, 2))
    for training in (False, True):
        node.bind(mx.cpu(), {"x": mx.nd.ones((2, 2))}).forward(is_train=training)[0].wait_to_read()
    assert made == ["2"]

    node._set_attr(scale="3")
    node.infer_shape(x=(2, 2))
    assert made == ["2", "3"]  # it follows from the attributes
    mx.sym.load_json(node.tojson()).list_outputs()
    assert made == ["2", "3", "3"]


def test_a_property_is_asked_for_types_as_often_as_by_mxnet():
    """Once by ``infer_type`` and once for an executor, whatever it runs afterwards."""
    asked = []

    class Same(mx.operator.CustomOp):
        def forward(self, is_train, req, in_data, out_data, aux):
            self.assign(out_data[0], req[0], in_data[0])

        def backward(self, req, out_grad, in_data, out_data, in_grad, aux):
            self.assign(in_grad[0], req[0], out_grad[0])

    @mx.operator.register("asked_for_types")
    class SameProp(mx.operator.CustomOpProp):
        def infer_shape(self, shapes):
            asked.append(shapes)
            return shapes, shapes, []

        def infer_type(self, types):
            asked.append(types)
            return types, types, []

        def create_operator(self, ctx, shapes, dtypes):
            return Same()

    net = mx.sym.Custom(mx.sym.var("x"), op_type="asked_for_types")
    net.infer_type(x="float64")
    assert asked == [[mx.np.float64]]
    asked.clear()
    executor = net.simple_bind(mx.cpu(), x=(2, 3))
    executor.forward()
    executor.forward(is_train=True, x=mx.nd.ones((2, 3)))
    executor.backward(mx.nd.ones((2, 3)))
    assert asked == [[[2, 3]], [mx.np.float32]]
    asked.clear()
    other = net.simple_bind(mx.cpu(), x=(4, 3))
    net.infer_shape_partial()
    other.forward()
    assert [[4, 3]] in asked


@pytest.mark.parametrize("options", [{}, {"static_alloc": True, "static_shape": True}])
def test_an_operator_of_a_hybridized_block_takes_arrays_of_each_shape_and_dtype(options):
    """As in MXNet, which creates one for each. The result of one row must not be broadcast to the rows of the batch before."""

    class Flat(mx.operator.CustomOp):
        def __init__(self, given):
            self.given = given

        def forward(self, is_train, req, in_data, out_data, aux):
            assert [a.shape for a in (*in_data, *out_data)] == self.given
            self.assign(out_data[0], req[0], 3 * in_data[0].reshape((-1,)))

        def backward(self, req, out_grad, in_data, out_data, in_grad, aux):
            assert [a.shape for a in (*in_grad, *out_grad)] == self.given
            self.assign(in_grad[0], req[0], 3 * out_grad[0].reshape(in_grad[0].shape))

    @mx.operator.register("flat_of_each_shape")
    class FlatProp(mx.operator.CustomOpProp):
        def infer_shape(self, in_shape):
            rows, columns = in_shape[0]
            self.result = (rows * columns,)
            return in_shape, [self.result], []

        def create_operator(self, ctx, shapes, dtypes):
            return Flat([tuple(shapes[0]), self.result])

    class Layer(mx.gluon.HybridBlock):
        def hybrid_forward(self, F, x):
            return F.Custom(x + 1, op_type="flat_of_each_shape") * 2

    layer = Layer()
    layer.hybridize(**options)
    for dtype in ("float32", "float64"):
        for shape in [(4, 3), (1, 3), (4, 3), (2, 5)]:
            x = mx.nd.arange(shape[0] * shape[1], dtype=dtype).reshape(shape)
            x.attach_grad()
            expected = [6 * (k + 1) for k in range(x.size)]
            assert layer(x).asnumpy().tolist() == expected
            with mx.autograd.record():
                y = layer(x)
            y.backward()
            assert y.asnumpy().tolist() == expected
            assert y.dtype == x.dtype
            assert (x.grad.asnumpy() == 6).all()

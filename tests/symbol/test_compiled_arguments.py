"""What `mx.compile` does with arguments that share memory, and with arrays in different memories."""

import numpy as np
import pytest

import twofold as mx
from twofold.errors import DeviceError

S = mx.sym


def test_an_array_that_is_also_another_argument_is_not_overwritten():
    compute = mx.compile(S.var("b") * S.var("a") + 1, donate=["b"])
    a = mx.nd.ones(10) * 2
    np.testing.assert_array_equal(compute(a=a, b=a).asnumpy(), np.full(10, 5.0))
    np.testing.assert_array_equal(a.asnumpy(), np.full(10, 2.0))


def test_arrays_in_different_memories_are_rejected(gpus):
    compute = mx.compile(S.var("a") + S.var("b"))
    with pytest.raises(DeviceError, match="different devices"):
        compute(a=mx.nd.ones(3), b=mx.nd.ones(3, ctx=gpus[1]))


def test_a_custom_operator_gets_the_device_of_the_graph(gpus):
    seen = []

    class Probe(mx.operator.CustomOp):
        def forward(self, is_train, req, in_data, out_data, aux):
            seen.append(in_data[0].context)
            self.assign(out_data[0], req[0], in_data[0] * 2)

    @mx.operator.register("tests_probe")
    class ProbeProp(mx.operator.CustomOpProp):
        def create_operator(self, ctx, in_shapes, in_dtypes):
            seen.append(ctx)
            return Probe()

    executor = S.Custom(S.var("x"), op_type="tests_probe").simple_bind(gpus[1], x=(3,))
    executor.arg_dict["x"][:] = 1
    assert executor.forward()[0].asnumpy().tolist() == [2, 2, 2]
    assert set(seen) == {gpus[1]}

"""BatchNorm under its other names: the figures of MXNet 1.9.1 for a symbol with states, which its arrays cannot be given."""

import numpy as np

import twofold as mx

DATA = np.arange(24, dtype="float32").reshape(4, 3, 2, 1) ** 2 / 100


def bound(name):
    symbol = getattr(mx.sym, name)(mx.sym.Variable("d"), name="bn", fix_gamma=False, eps=0.01, momentum=0.7)
    executor = symbol.simple_bind(mx.current_context(), d=DATA.shape)
    executor.arg_dict["d"][:] = DATA
    executor.arg_dict["bn_gamma"][:] = [1, 2, 0.5]
    executor.arg_dict["bn_beta"][:] = [0.1, 0.2, 0.3]
    executor.aux_dict["bn_moving_mean"][:] = 0.5
    executor.aux_dict["bn_moving_var"][:] = 2
    return executor


def test_batch_norm_v1_is_batch_norm():
    former, present = bound("BatchNorm_v1"), bound("BatchNorm")
    for executor in (former, present):
        executor.forward(is_train=True)
        executor.backward(mx.nd.array(DATA))
    np.testing.assert_array_equal(former.outputs[0].asnumpy(), present.outputs[0].asnumpy())
    for name in ("d", "bn_gamma", "bn_beta"):
        np.testing.assert_array_equal(former.grad_dict[name].asnumpy(), present.grad_dict[name].asnumpy())
    assert former.output_dict.keys() == present.output_dict.keys()


def test_moving_averages_of_batch_norm_v1():
    executor = bound("BatchNorm_v1")
    executor.forward(is_train=True)
    executor.backward(mx.nd.array(DATA))
    mean, var = DATA.mean((0, 2, 3)), DATA.var((0, 2, 3))
    np.testing.assert_allclose(executor.aux_dict["bn_moving_mean"].asnumpy(), 0.7 * 0.5 + 0.3 * mean, rtol=1e-5)
    np.testing.assert_allclose(executor.aux_dict["bn_moving_var"].asnumpy(), 0.7 * 2 + 0.3 * var, rtol=1e-5)


def test_a_parameter_may_be_called_key():
    data, one = mx.nd.array(DATA), mx.nd.ones((3,))
    results = [mx.nd.contrib.SyncBatchNorm(data, one, one, one, one, key=key).asnumpy() for key in ("first", "second", "first")]
    np.testing.assert_array_equal(results[0], mx.nd.BatchNorm(data, one, one, one, one).asnumpy())
    np.testing.assert_array_equal(results[0], results[2])

"""Sloppy calls on arrays: surplus keywords, sizes given as floats, gradients of what has none."""

from __future__ import annotations

from typing import Any

import numpy as np


def _x(mx: Any) -> Any:
    return mx.nd.array([[1, 4], [9, 16]])


def unknown_keyword_of_a_unary(mx: Any) -> Any:
    return mx.nd.sqrt(data=_x(mx), foo=1)


def unknown_keyword_after_positional(mx: Any) -> Any:
    return mx.nd.exp(mx.nd.zeros((2,)), alpha="0.5")


def unknown_keyword_of_a_layer(mx: Any) -> Any:
    return mx.nd.FullyConnected(_x(mx), mx.nd.ones((3, 2)), no_bias=True, num_hidden=3, use_bias=False)


def unknown_keyword_of_a_convolution(mx: Any) -> Any:
    data, weight = mx.nd.ones((1, 1, 3, 3)), mx.nd.ones((1, 1, 2, 2))
    return mx.nd.Convolution(data, weight, kernel=(2, 2), num_filter=1, no_bias=True, activation="relu")


def unknown_keyword_of_an_old_spelling(mx: Any) -> Any:
    return mx.nd.sum(_x(mx), axis=1, keepdim=True)


def unknown_keyword_of_dropout(mx: Any) -> Any:
    return mx.nd.Dropout(_x(mx), p=0.5, training=False)


def unknown_keyword_of_a_method(mx: Any) -> Any:
    return _x(mx).sum(axis=0, foo=2)


def unknown_keyword_of_reshape(mx: Any) -> Any:
    return _x(mx).reshape((4,), foo=2)


def unknown_keyword_of_a_sampler(mx: Any) -> Any:
    return mx.nd.random.uniform(0, 1, shape=(2, 3), foo=3).shape


def unknown_keyword_of_random_uniform(mx: Any) -> Any:
    return mx.nd.random_uniform(low=0, high=1, shape=(2, 3), foo=3).shape


def unknown_keyword_of_random_randint(mx: Any) -> Any:
    return mx.nd.random.randint(0, 5, shape=(2,), seed=3).shape


def unknown_keyword_of_zeros(mx: Any) -> Any:
    return mx.nd.zeros((2,), name="state")


def unknown_keyword_of_ones(mx: Any) -> Any:
    return mx.nd.ones((2,), foo="bar")


def unknown_keyword_of_full(mx: Any) -> Any:
    return mx.nd.full((2,), 3, foo="bar")


def unknown_keyword_of_arange(mx: Any) -> Any:
    return mx.nd.arange(3, foo="bar")


def unknown_keyword_of_eye(mx: Any) -> Any:
    return mx.nd.eye(2, foo="bar")


def unknown_keyword_of_concat(mx: Any) -> Any:
    return mx.nd.concat(_x(mx), _x(mx), dim=0, axis=1)


def unknown_keyword_of_stack(mx: Any) -> Any:
    return mx.nd.stack(_x(mx), _x(mx), axis=0, dim=1)


def unknown_keyword_of_an_update(mx: Any) -> Any:
    return mx.nd.sgd_update(mx.nd.ones((2,)), mx.nd.ones((2,)), lr=0.5, momentum=0.9)


def unknown_keyword_of_one_hot(mx: Any) -> Any:
    return mx.nd.one_hot(mx.nd.array([0, 1]), 3, foo=1)


def unknown_array_keyword(mx: Any) -> Any:
    return mx.nd.relu(mx.nd.array([-1, 1]), weight=mx.nd.ones((2,)))


def unknown_keyword_of_a_broadcast(mx: Any) -> Any:
    return mx.nd.broadcast_add(_x(mx), mx.nd.ones((1, 2)), foo=None)


def unknown_keyword_of_custom_dot(mx: Any) -> Any:
    return mx.nd.dot(_x(mx), _x(mx), transpose=True)


def unknown_keyword_of_array(mx: Any) -> Any:
    return mx.nd.array([1, 2], foo=1)


def unknown_keyword_of_contrib(mx: Any) -> Any:
    return mx.nd.contrib.box_iou(mx.nd.array([[0, 0, 1, 1]]), mx.nd.array([[0, 0, 1, 2]]), format="corner", foo=2)


def unknown_keyword_of_linalg(mx: Any) -> Any:
    return mx.nd.linalg.gemm2(_x(mx), _x(mx), foo=2)


def unknown_keyword_of_clip(mx: Any) -> Any:
    return mx.nd.clip(_x(mx), 2, 10, foo=2)


def name_keyword_of_an_operator(mx: Any) -> Any:
    return mx.nd.relu(_x(mx), name="relu1")


def float_shape_of_zeros(mx: Any) -> Any:
    return mx.nd.zeros((2.0, 3.0))


def float_size_of_zeros(mx: Any) -> Any:
    return mx.nd.zeros(4 / 2)


def float_shape_of_reshape(mx: Any) -> Any:
    return _x(mx).reshape((4 / 2, 2))


def float_shape_of_ones(mx: Any) -> Any:
    return mx.nd.ones((4 / 2, 1))


def fractional_shape_of_zeros(mx: Any) -> Any:
    return mx.nd.zeros((2.5, 3))


def fractional_num_hidden(mx: Any) -> Any:
    return mx.nd.FullyConnected(_x(mx), mx.nd.ones((3, 2)), no_bias=True, num_hidden=3.5)


def float_num_hidden(mx: Any) -> Any:
    return mx.nd.FullyConnected(_x(mx), mx.nd.ones((3, 2)), no_bias=True, num_hidden=6 / 2)


def float_kernel(mx: Any) -> Any:
    return mx.nd.Pooling(mx.nd.ones((1, 1, 4, 4)), kernel=(4 / 2, 2), stride=(2, 2), pool_type="avg")


def float_axis(mx: Any) -> Any:
    return mx.nd.sum(_x(mx), axis=1.0)


def float_shape_of_uniform(mx: Any) -> Any:
    return mx.nd.random.uniform(shape=(4 / 2, 2)).shape


def float_shape_of_a_normal(mx: Any) -> Any:
    return mx.nd.random.normal(shape=4 / 2).shape


def float_repeats(mx: Any) -> Any:
    return mx.nd.repeat(mx.nd.array([1, 2]), repeats=4 / 2)


def float_begin_of_slice(mx: Any) -> Any:
    return mx.nd.slice_axis(_x(mx), axis=0, begin=0, end=2 / 2)


def float_depth_of_one_hot(mx: Any) -> Any:
    return mx.nd.one_hot(mx.nd.array([0, 1]), 6 / 2)


def float_bool(mx: Any) -> Any:
    return mx.nd.sum(_x(mx), axis=1, keepdims=1)


def float_index(mx: Any) -> Any:
    return _x(mx)[1.0]


def numpy_shape(mx: Any) -> Any:
    return mx.nd.zeros(np.array([2, 3]))


def string_parameters(mx: Any) -> Any:
    return mx.nd.Pooling(mx.nd.ones((1, 1, 4, 4)), kernel="(2, 2)", stride="(2,2)", pool_type="max", global_pool="False")


def bool_as_a_number(mx: Any) -> Any:
    return [mx.nd.array([1, 2]) + True, mx.nd.clip(_x(mx), False, True)]


def none_as_a_parameter(mx: Any) -> Any:
    return mx.nd.sum(_x(mx), axis=None, keepdims=None)


def unknown_activation(mx: Any) -> Any:
    return mx.nd.Activation(_x(mx), act_type="swish")


def missing_parameter(mx: Any) -> Any:
    return mx.nd.Activation(_x(mx))


def wrong_number_of_arrays(mx: Any) -> Any:
    return mx.nd.broadcast_add(_x(mx))


def operand_of_another_dtype(mx: Any) -> Any:
    return mx.nd.array([1, 2]) + mx.nd.array([1, 2], dtype="int32")


def operand_of_another_shape(mx: Any) -> Any:
    return mx.nd.array([1, 2]) + mx.nd.array([1, 2, 3])


def list_as_an_operand(mx: Any) -> Any:
    return mx.nd.array([1, 2]) + [1, 2]  # noqa: RUF005


def text_as_an_operand(mx: Any) -> Any:
    return mx.nd.array([1, 2]) + "a"


def integer_of_a_method(mx: Any) -> Any:
    return mx.nd.array([1, 2]).reshape(2.0, 1)


def row_out_of_range(mx: Any) -> Any:
    return mx.nd.array([1, 2])[5]


def truth_of_several(mx: Any) -> Any:
    return bool(mx.nd.array([1, 2]))


def scalar_of_several(mx: Any) -> Any:
    return mx.nd.array([1, 2]).asscalar()


def unknown_function(mx: Any) -> Any:
    return mx.nd.no_such_operator(_x(mx))


def unknown_dtype(mx: Any) -> Any:
    return mx.nd.zeros((2,), dtype="float31")


def unknown_keyword_beside_out(mx: Any) -> Any:
    out = mx.nd.zeros((2, 2))
    mx.nd.sqrt(_x(mx), out=out, foo=1)
    return out


def number_of_a_scalar_operator(mx: Any) -> Any:
    return mx.nd.maximum(_x(mx), 5)


def broadcast_of_a_number(mx: Any) -> Any:
    return mx.nd.broadcast_maximum(_x(mx), 5)


def concat_of_one_list(mx: Any) -> Any:
    return mx.nd.concat(*[_x(mx)], dim=1)


def num_args_given(mx: Any) -> Any:
    return mx.nd.Concat(_x(mx), _x(mx), num_args=2, dim=1)


def wrong_num_args(mx: Any) -> Any:
    return mx.nd.Concat(_x(mx), _x(mx), num_args=3, dim=1)


def duplicated_array(mx: Any) -> Any:
    return mx.nd.sqrt(_x(mx), data=_x(mx))


def foreign_context(mx: Any) -> Any:
    return mx.nd.sqrt(_x(mx), ctx=mx.cpu())


def upper_factors(mx: Any) -> Any:
    a = mx.nd.array([[4, 2], [2, 3]])
    return [[f(a, lower=lower) for lower in (True, False)] for f in (mx.nd.linalg.potrf, mx.nd.linalg.potri)]


def unknown_keyword_of_a_regression_output(mx: Any) -> Any:
    return mx.nd.LinearRegressionOutput(_x(mx), _x(mx), foo=1)


def numpy_number_before_an_operator(mx: Any) -> Any:
    found = []
    for number in (np.float64(1.5), np.int32(3)):
        for dtype in ("int32", "uint8", "float16", "float32"):
            x = mx.nd.array([1, 2, 3], dtype=dtype)
            found += [number == x, number != x, number < x, number <= x, number > x, number >= x]
            found += [number + x, number - x, number * x, number / x, number % x, number**x]
    negative = mx.nd.array([-1, 2], dtype="int32")
    return [*found, np.float64(1.5) ** negative, np.int32(3) ** negative]

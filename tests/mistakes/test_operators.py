"""Mistakes with operators: arrays that are missing, numbers of which there must be one."""

from __future__ import annotations

import pytest

from twofold import nd

from .table import Mistakes, message_of

mistake = Mistakes()


@mistake("FullyConnected: the array weight is missing; pass data, weight (optional: bias)")
def a_product_without_a_weight():
    nd.FullyConnected(nd.ones((2, 3)), num_hidden=4)


@mistake("concat: there are no inputs; pass at least one array")
def no_arrays_to_join():
    nd.concat(*[])


@mistake("Concat: one of the arrays is missing; pass an array in its place, or leave it out")
def none_among_the_arrays_to_join():
    nd.concat(nd.ones((2, 3)), None, dim=0)


@mistake(
    "Custom: op_type is not registered: given 'no_such_operator'; write @mx.operator.register('no_such_operator') above its CustomOpProp, "
    "before it is called"
)
def an_operator_that_is_not_registered():
    nd.Custom(nd.ones(3), op_type="no_such_operator")


@mistake("add_n: one of the arrays is missing; pass an array in its place, or leave it out")
def none_among_the_arrays_to_add_after_a_call_that_is_right():
    nd.add_n(nd.ones(3), nd.ones(3))
    nd.add_n(nd.ones(3), None)


@mistake("LeakyReLU: the array gamma is missing; pass the slopes of prelu, or another act_type")
def no_slopes():
    nd.LeakyReLU(nd.ones((2, 3)), act_type="prelu")


@mistake("SequenceLast: there is no step: given (0, 2, 3); pass sequences of at least one step")
def the_last_of_no_steps():
    nd.SequenceLast(nd.ones((0, 2, 3))).asnumpy()


@mistake("take: the axis has no elements: given 2 indices; pass none, or a larger array")
def elements_of_an_empty_array():
    nd.take(nd.ones((0, 3)), nd.array([0, 1])).asnumpy()


@mistake("pick: the axis has no elements: given 2 indices; pass none, or a larger array")
def elements_along_an_empty_axis():
    nd.pick(nd.ones((2, 0)), nd.array([0, 1])).asnumpy()


@mistake("softmax_cross_entropy: the shapes do not match: given data (1, 3, 4), label (3,); pass data (n, k) and a label (n,)")
def the_cross_entropy_of_three_axes():
    nd.softmax_cross_entropy(nd.ones((1, 3, 4)), nd.ones(3))


@mistake("contrib.interleaved_matmul_selfatt_qk: the number of heads must be positive: given 0; pass 1 or more")
def no_heads():
    nd.contrib.interleaved_matmul_selfatt_qk(nd.ones((2, 1, 6)), heads=0)


@mistake(
    "Correlation: kernel_size must be odd, and strides positive: given kernel_size 1, stride1 0, stride2 1; pass such numbers",
)
def no_stride():
    nd.Correlation(nd.ones((1, 1, 3, 3)), nd.ones((1, 1, 3, 3)), stride1=0)


@mistake("contrib.arange_like: repeat is not positive: given repeat=0; pass 1 or more")
def numbers_repeated_no_times():
    nd.contrib.arange_like(nd.ones((2, 3)), repeat=0)


@pytest.mark.parametrize(("program", "message"), mistake.rows)
def test_the_message_says_what_to_do(program, message):
    assert message_of(program) == message

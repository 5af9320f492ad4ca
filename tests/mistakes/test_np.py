"""Mistakes with arrays: `mx.np`, and `mx.nd` where it differs."""

from __future__ import annotations

import numpy
import pytest

import twofold as mx
from twofold import autograd, nd, np

from .table import Mistakes, message_of

mistake = Mistakes()


@mistake("module 'twofold.numpy' has no attribute 'softmax'; use mx.npx.softmax")
def a_function_of_another_namespace():
    np.softmax(np.ones(3))


@mistake(
    "grad: the function must return an array: given a number; compute with functions of mx.np up to the end: float(x), "
    "x.item(), asnumpy() and the module math leave the arrays"
)
def a_gradient_of_a_number():
    mx.func.grad(lambda x: float(x.sum()))(np.ones(2))


@mistake("module 'twofold.numpy.fft' has no attribute 'rftt'; did you mean 'rfft'?")
def a_misspelt_transform():
    np.fft.rftt(np.ones(4))


@mistake("module 'twofold.numpy.linalg' has no attribute 'solv'; did you mean 'solve'?")
def a_misspelt_function_of_linear_algebra():
    np.linalg.solv(np.ones((2, 2)), np.ones(2))


@mistake("Generator has no attribute 'nrmal'; did you mean 'normal'?")
def a_misspelt_method_of_a_generator():
    np.random.default_rng(1).nrmal(3)


@mistake("axis is no integer: given 'a'; pass an integer, a tuple of integers, or None for all axes")
def an_axis_that_is_a_name():
    np.ones((2, 3)).sum(axis="a")


@mistake("axis is no integer: given 1.5; pass an integer, a tuple of integers, or None for all axes")
def an_axis_that_is_a_fraction():
    np.mean(np.ones((2, 3)), axis=1.5)


@mistake("module 'twofold.numpy' has no attribute 'trapz'; use trapezoid")
def a_name_that_numpy_has_removed():
    np.trapz(np.ones(3))


@mistake("module 'twofold' has no attribute 'manual_seed'; use mx.random.seed")
def torchs_seed():
    mx.manual_seed(1)


@mistake("module 'twofold' has no attribute 'vmap'; use mx.func.vmap")
def a_transform_where_it_does_not_stand():
    mx.vmap(np.sin)


@mistake("module 'twofold' has no attribute 'value_and_grad'; use mx.func.value_and_grad")
def another_transform_where_it_does_not_stand():
    mx.value_and_grad(np.sin)


@mistake("module 'twofold' has no attribute 'lax'; use mx.func for its loops, and mx.np")
def jaxs_module_of_loops():
    mx.lax.scan(lambda c, x: (c, x), np.zeros(2), np.ones((3, 2)))


@mistake(
    "module 'twofold.numpy.random' has no attribute 'PRNGKey'; use mx.random.seed, or np.random.seed for NumPy's own stream: a stream has "
    "a state, and needs no keys"
)
def jaxs_key():
    np.random.PRNGKey(0)


@mistake("jvp: primals must be a tuple, an item for each argument: given ndarray; pass (x,) for x")
def an_argument_of_jvp_without_its_tuple():
    mx.func.jvp(np.sin, np.ones(2), np.ones(2))


@mistake("hvp: tangents must be a tuple, an item for each argument: given ndarray; pass (x,) for x")
def a_direction_of_hvp_without_its_tuple():
    mx.func.hvp(lambda x: (x**3).sum(), (np.ones(2),), np.ones(2))


@mistake(
    "scan: an array of xs has no axis: given shape (); pass arrays of shape (steps, …); a list is a pytree of its items, so pass "
    "np.array(xs) for a list of numbers"
)
def a_scan_over_a_list():
    mx.func.scan(lambda c, x: (c + x, c), 0.0, [1.0, 2.0, 3.0])


@mistake("scan: the number of steps is negative: given -1; pass a length of 0 or more")
def a_scan_of_a_negative_length():
    mx.func.scan(lambda c, x: (c, c), np.ones(2), length=-1)


@mistake("module 'twofold.numpy' has no attribute 'in1d'; use isin")
def another_name_that_numpy_has_removed():
    np.in1d([1], [2])


@mistake("module 'twofold' has no attribute 'amp'; use mx.contrib.amp")
def mixed_precision_where_it_does_not_stand():
    mx.amp.init()


@mistake("module 'twofold.numpy' has no attribute 'lnspace'; did you mean 'linspace' or 'logspace'?")
def a_misspelt_function():
    np.lnspace(0, 1, 5)


@mistake("module 'twofold.numpy.random' has no attribute 'unifrom'; did you mean 'uniform'?")
def a_misspelt_random_function():
    np.random.unifrom()


@mistake("add: shapes do not broadcast: given (2, 3), (2, 4); make their trailing sizes equal or 1")
def shapes_that_do_not_broadcast():
    np.ones((2, 3)) + np.ones((2, 4))


@mistake("broadcast_add: shapes do not broadcast: given (2, 3), (2, 4); make their trailing sizes equal or 1")
def legacy_arithmetic_of_other_shapes():
    nd.broadcast_add(nd.ones((2, 3)), nd.ones((2, 4)))


@mistake("matmul: inner sizes differ: given (2, 3) and (2, 3); make lhs.shape[-1] equal rhs.shape[-2]")
def a_product_of_shapes_that_do_not_match():
    np.ones((2, 3)) @ np.ones((2, 3))


@mistake("dot: inner sizes differ: given (2, 3) and (2, 3); make lhs.shape[-1] equal rhs.shape[-2]")
def a_dot_of_shapes_that_do_not_match():
    np.dot(np.ones((2, 3)), np.ones((2, 3)))


@mistake(
    "dot: lhs and rhs do not match: given lhs (2, 3), rhs (2, 3), transpose_a=False, transpose_b=False; make lhs.shape[-1] equal "
    "rhs.shape[0]"
)
def a_legacy_dot_of_shapes_that_do_not_match():
    nd.dot(nd.ones((2, 3)), nd.ones((2, 3)))


@mistake("arrays of mx.nd and mx.np cannot be combined: given an array of mx.nd of shape (3,); use as_np_ndarray() or as_nd_ndarray()")
def both_kinds_of_arrays():
    np.ones(3) + nd.ones(3)


@mistake("relu: the operands must have NDArray type: given an array of mx.np, type ndarray; use as_nd_ndarray(), or mx.npx and mx.np")
def a_legacy_function_of_an_np_array():
    nd.relu(np.ones(3))


@mistake("index 3 is out of bounds for axis 0 with size 3")
def an_index_beyond_the_end():
    np.ones(3)[3]


@mistake("too many indices (3) for array with 2 dimensions")
def too_many_indices():
    np.ones((2, 3))[0, 0, 0]


@mistake("reshape: the sizes do not match: given 6 elements into (4, 2); pass sizes whose product is the number of elements")
def a_reshape_to_another_size():
    np.ones((2, 3)).reshape(4, 2)


@mistake("reshape: the sizes do not match: given 6 elements into (4, 2); pass sizes whose product is the number of elements")
def a_legacy_reshape_to_another_size():
    nd.ones((2, 3)).reshape((4, 2))


@mistake("concatenate: shapes differ in other axes: given (2, 3), (2, 4); make all axes but 0 equal")
def a_concatenation_of_other_shapes():
    np.concatenate([np.ones((2, 3)), np.ones((2, 4))])


@mistake("all input arrays must have the same shape: given (3,), (4,); make them equal")
def a_stack_of_other_shapes():
    np.stack([np.ones(3), np.ones(4)])


@mistake("mean: axis is out of range: given 2 for 2 dimensions; pass one from -2 to 1")
def an_axis_that_does_not_exist():
    np.ones((2, 3)).mean(axis=2)


@mistake("axes don't match array: given axes (0, 0) of an array with 2 axes; name each axis once")
def axes_that_are_no_permutation():
    np.ones((2, 3)).transpose(0, 0)


@mistake("array split does not result in an equal division: given 5 into 2; use array_split")
def a_split_that_does_not_divide():
    np.split(np.ones(5), 2)


@mistake("concatenate: the arrays are not in a list: given 2 arguments; pass the arrays as one list or tuple: concatenate([a, b])")
def a_concatenation_without_a_list():
    np.concatenate(np.ones((2, 3)), np.ones((2, 3)))


@mistake("Cannot interpret '4' as a data type: given zeros(3, 4); pass the shape as a tuple: zeros((3, 4))")
def sizes_without_a_tuple():
    np.zeros(3, 4)


@mistake("Cannot interpret '5' as a data type: given full(3, 4, 5); pass the shape as a tuple: full((3, 4), 5)")
def sizes_of_a_filled_array_without_a_tuple():
    np.full(3, 4, 5)


@mistake("Cannot interpret '4' as a data type: given dtype=4; name the dtype, such as 'int32'")
def a_type_code():
    np.zeros_like(np.ones(3), 4)


@mistake("dtype: unknown data type: given 'flaot32'; did you mean 'float32'?")
def a_misspelt_type():
    np.zeros(3, dtype="flaot32")


@mistake("a shape cannot have negative sizes: given (2, -3); pass sizes of 0 or more")
def a_negative_shape():
    np.zeros((2, -3))


@mistake("len() of unsized object: given a 0-d array; reshape it")
def the_length_of_a_scalar():
    len(np.array(3.0))


@mistake("a matrix cannot be decomposed or inverted: Singular matrix; check its values")
def a_singular_matrix():
    np.linalg.inv(np.zeros((2, 2)))


@mistake("Last 2 dimensions of the array must be square: given shape (2, 3); pass (…, n, n)")
def a_matrix_that_is_not_square():
    np.linalg.inv(np.ones((2, 3)))


@mistake("a matrix cannot be decomposed or inverted: Matrix is not positive definite; check its values")
def a_matrix_that_is_not_positive():
    np.linalg.cholesky(-np.eye(2))


@mistake("einsum: an index has two sizes: given j: 3 and 2 in ij,jk->ik; make them equal")
def einsum_with_other_sizes():
    np.einsum("ij,jk->ik", np.ones((2, 3)), np.ones((2, 3)))


@mistake(
    "backward: this array is not part of a recorded graph: given an array not computed from one with attach_grad() inside "
    "autograd.record(); compute it inside record(), from parameters of a block or arrays with attach_grad()"
)
def a_gradient_that_was_not_requested():
    x = np.ones(3)
    with autograd.record():
        y = (x * 2).sum()
    y.backward()


@mistake(
    "backward: this array is not part of a recorded graph: given an array not computed from one with attach_grad() inside "
    "autograd.record(); compute it inside record(), from parameters of a block or arrays with attach_grad()"
)
def a_backward_outside_of_record():
    x = np.ones(3)
    x.attach_grad()
    (x * 2).sum().backward()


@mistake("grad: a variable was not marked: given an array of shape (3,); call attach_grad() on it before recording")
def a_gradient_with_respect_to_a_stranger():
    x, z = np.ones(3), np.ones(3)
    x.attach_grad()
    with autograd.record():
        y = (x * 2).sum()
    autograd.grad(y, [z])


@mistake("attach_grad: unknown grad_req: given 'ad'; use 'write', 'add' or 'null'")
def a_misspelt_mode_of_gradients():
    np.ones(3).attach_grad("ad")


@mistake("module 'twofold' has no attribute 'no_grad'; use mx.autograd.pause")
def torchs_record():
    mx.no_grad()


@mistake("FullyConnected: Cannot find argument: given num_hiden; did you mean 'num_hidden'?")
def a_misspelt_parameter_beside_missing_arrays():
    nd.FullyConnected(nd.ones((2, 3)), num_hiden=4)


@mistake("FullyConnected: Cannot find argument: given wieght; did you mean 'weight'?")
def a_misspelt_array():
    nd.FullyConnected(nd.ones((2, 3)), wieght=nd.ones((4, 3)), num_hidden=4)


@mistake("from_dlpack: a copy is needed: its elements are not in order in memory; leave copy out")
def sharing_memory_of_another_order():
    np.from_dlpack(numpy.ones((2, 3)).T, copy=False)


@mistake("from_dlpack: a copy is needed: its memory is read-only; leave copy out")
def sharing_read_only_memory():
    np.from_dlpack(numpy.broadcast_to(numpy.ones(3), (1, 3)), copy=False)


@mistake("from_dlpack: a copy is needed: given cpu(0) for cpu(1); leave copy or device out")
def sharing_memory_with_another_device():
    np.from_dlpack(numpy.ones(3), device=mx.cpu(1), copy=False)


@mistake("unsupported format string passed to NDArray.__format__: given '.2f'; format its number, x.asscalar()")
def a_format_of_an_array_of_one_element():
    print(f"{nd.ones(1):.2f}")


@mistake(
    "an operand is no array: given Parameter; write w.data() for the array of a Parameter w; hybrid_forward gets it as an argument of its "
    "name"
)
def a_parameter_in_a_function():
    np.dot(np.ones((1, 2)), mx.gluon.nn.Dense(2, in_units=3).weight)


@mistake("an operand is no array: given Symbol; call the function of F in hybrid_forward, or of mx.sym")
def a_symbol_in_a_function():
    np.exp(mx.sym.var("x"))


@mistake("array: source_array must be array like object: given Symbol; call the function of F in hybrid_forward, or of mx.sym")
def an_array_of_a_symbol():
    nd.array(mx.sym.var("x"))


UNEQUAL = "; make all of them lists of one length, or an array of each"


@mistake(f"array: source_array must be array like object: given nested lists of the lengths 2, 1{UNEQUAL}")
def rows_of_different_lengths():
    nd.array([[1, 2], [3]])


@mistake(f"array: source_array must be array like object: given nested lists of the lengths 3, 2{UNEQUAL}")
def rows_of_different_lengths_inside_equal_ones():
    nd.array([[[1, 2, 3]], [[4, 5]]])


@mistake(f"array: source_array must be array like object: given lists beside numbers{UNEQUAL}")
def a_number_beside_a_row():
    nd.array([[1, 2], 3])


@mistake(f"array: source_array must be array like object: given nested lists of the lengths 0, 1, 2, 3, …{UNEQUAL}")
def arrays_of_many_lengths():
    nd.array([nd.zeros(k) if k else [] for k in range(6)])


@mistake(
    "scan: the carry changes its type from one step to the next: given float32(2,) becomes float64(2,); return a carry of the shapes and "
    "dtypes of init; astype converts"
)
def a_carry_that_is_promoted():
    mx.func.scan(lambda c, x: (c + x, c), np.zeros(2, dtype="float32"), np.ones((3, 2)))


@mistake(
    "scan: array 1 of the carry changes its type from one step to the next: given float64(2,) becomes float64(); return a carry of the "
    "shapes and dtypes of init; astype converts"
)
def a_part_of_a_carry_that_loses_its_axis():
    mx.func.scan(lambda c, x: ((c[0], c[1].sum()), x), (np.zeros(2), np.zeros(2)), np.ones((3, 2)))


@pytest.mark.parametrize(("program", "message"), mistake.rows)
def test_a_mistake_is_named_with_what_to_do(program, message, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert message_of(program) == message


@pytest.mark.parametrize("transform", [mx.func.jit, mx.func.vmap])
def test_a_condition_in_a_traced_function_is_followed_by_what_to_write(transform):
    message = (
        f"{transform.__name__}: the value of an array is not known while its function is traced: given a conversion to a number, bool, "
        "text or NumPy array, or a function whose result's shape depends on values; write np.where(condition, a, b) or "
        "func.cond for an if, func.scan for a loop, or compute it outside; to print an array, return it"
    )
    assert message_of(lambda: transform(lambda x: x if x > 0 else -x)(mx.np.array([1.0, -2.0]))) == message

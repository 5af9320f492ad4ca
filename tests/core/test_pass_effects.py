"""The effect of each graph pass on counts: nodes, kernels, bytes."""

import pytest

import twofold as mx
from twofold.graph import build
from twofold.graph.build import G, apply
from twofold.graph.fuse import steps_of
from twofold.graph.gradient import gradient, ones_head
from twofold.graph.ir import applications, leaf
from twofold.graph.memory_plan import plan_memory
from twofold.graph.planes import MOST_ARRAYS, sum_rows_of_planes
from twofold.graph.recompute import distinct_view
from twofold.graph.rewrite import lower, simplify, substitute
from twofold.graph.row_columns import keep_columns
from twofold.graph.stabilise import stabilise, stabilised
from twofold.imperative.counters import COUNTERS
from twofold.opdef.registry import NAMES

N = 1 << 16
ALL = range(2, 100)
BYTES = 4 * N


def x_of(*shape):
    return leaf("x", shape, "float32", True)


def names(outputs):
    return sorted(n.bound_op.op.name for n in applications(outputs))


def planned(outputs, leaves, fuse=True, **options):
    return plan_memory(steps_of(outputs, 1 if fuse else 1 << 40), leaves, outputs, **options)


def by_rows(outputs, computed, read, takes=lambda product: False):
    return sum_rows_of_planes(outputs, takes, computed, read)


def test_rebuilt_primitives_have_the_types_that_they_had(monkeypatch):
    x, y, rows = leaf("x", (4,), "float32", True), leaf("y", (4,), "float32", False), leaf("c", (7, 4), "float32", True)
    outputs = [G.sum(G.tanh(x * 2.0) + x, axis=0)]
    inferred = []
    infer = build._primitive_types
    monkeypatch.setattr(build, "_primitive_types", lambda bound_op, inputs: inferred.append(bound_op) or infer(bound_op, inputs))
    (other,) = substitute(outputs, {x: y})
    assert (other.shape, other.dtype, other.tracked, inferred) == ((), "float32", False, [])
    assert other is G.sum(G.tanh(y * 2.0) + y, axis=0)
    (wide,) = substitute(outputs, {x: rows})
    assert (wide.shape, wide.tracked, len(inferred)) == ((4,), True, 4)


def test_a_gradient_shares_the_nodes_of_what_it_differentiates():
    x = x_of(4)
    y = G.tanh(x * x)
    both = names([y, *gradient([y], [ones_head(y)], [x])])
    assert both.count("tanh") == 1
    assert names([y]) == ["multiply", "tanh"]


def test_stabilise_replaces_log_of_softmax_with_one_node():
    softmax = NAMES["softmax"].bind(True)
    y = apply(NAMES["log"].bind(True), (apply(softmax, (x_of(2, 3), *[None] * (len(softmax.op.inputs) - 1))),))
    assert (len(names([y])), len(names(stabilise([y]))), stabilised([y])) == (2, 1, 1)


def test_lowering_leaves_primitives_only():
    dense = NAMES["FullyConnected"].bind(True, num_hidden=2)
    y = apply(dense, (x_of(4, 3), leaf("w", (2, 3), "float32"), leaf("b", (2,), "float32")))
    assert names([y]) == ["fully_connected"]
    assert set(names(lower([y]))) == {"add", "matmul", "permute_dims", "reshape"}


@pytest.mark.parametrize(
    ("make", "left"),
    [
        (lambda x: x * 1.0, 0),
        (lambda x: x / 1.0, 0),
        (lambda x: G.negative(G.negative(x)), 0),
        (lambda x: G.reshape(G.reshape(x, shape=(2, 2)), shape=(4,)), 0),
        (lambda x: G.permute_dims(G.permute_dims(G.reshape(x, shape=(2, 2)), axes=(1, 0)), axes=(1, 0)), 1),
        (lambda x: G.sum(G.reshape(x, shape=(4, 1)), axis=1), 0),
        (lambda x: G.slice(x, key=((0, 4, None),)), 0),
        (distinct_view, 1),  # values recomputed for backward
        (lambda x: G.slice(x, key=((None, None, -1),)), 1),
        (lambda x: G.contiguous(G.reshape(G.exp(x), shape=(2, 2))), 2),
        (lambda x: G.contiguous(G.reshape(x, shape=(2, 2))), 2),  # else a result would be the operand's memory
        (lambda x: G.contiguous(G.reshape(G.slice(x, key=((0, 4, 2),)), shape=(2, 1))), 3),
        (lambda x: x + 0.0, 1),  # -0.0 + 0.0 is 0.0
    ],
)
def test_simplify_removes_operations_that_change_no_bit(make, left):
    assert len(names(simplify([make(x_of(4))]))) == left


def test_equal_expressions_are_computed_once():
    x = x_of(4)
    assert len(names([G.tanh(x + 1.0) * G.tanh(x + 1.0)])) == 3


def test_fusion_makes_one_kernel_of_a_chain_and_two_around_a_full_sum():
    raised = G.exp(x_of(N) * 2.0 + 1.0)
    assert [len(s.nodes) for s in steps_of([raised], 1)] == [3]
    divided = steps_of([raised / G.sum(raised, axis=None)], 1)
    assert [len(s.nodes) for s in divided] == [3, 1, 1]


def test_reductions_over_rows_join_a_kernel():
    x = x_of(256, 256)
    raised = G.exp(x - G.max(x, axis=-1, keepdims=True))
    y = raised / G.sum(raised, axis=-1, keepdims=True)
    assert len(steps_of([y], 1)) == 4
    assert len(steps_of([y], 1, rows=True)) == 1


@pytest.mark.parametrize(
    ("name", "vectors", "options", "kernels"),
    [
        ("InstanceNorm", (8, 8), {}, 1),
        ("GroupNorm", (4, 4), {"num_groups": 4}, 1),
        ("GroupNorm", (8, 8), {"num_groups": 4}, 2),  # the normalised rows are not those that share a value
        ("L2Normalization", (), {"mode": "instance"}, 1),
        ("L2Normalization", (), {"mode": "spatial"}, 1),
    ],
)
def test_normalisation_over_channels_is_a_row_reduction(name, vectors, options, kernels):
    x, *others = leaf(0, (4, 8, 5, 7), "float32", True), *(leaf(k, (n,), "float32") for k, n in enumerate(vectors, 1))
    y = apply(NAMES[name].bind(**options), (x, *others))
    y = y.parts[0] if y.parts else y
    (dx,) = gradient([y], [leaf(3, y.shape, "float32")], [x])
    for result in (y, dx):
        assert sum(s.is_kernel for s in steps_of(keep_columns(simplify(lower([result]))), 1, rows=True)) == kernels


def test_row_results_read_as_columns_keep_their_axis():
    x = x_of(256, 256)
    raised = G.exp(x - G.reshape(G.max(x, axis=1), shape=(256, 1)))
    y = raised / G.reshape(G.sum(raised, axis=-1), shape=(256, 1))
    assert len(steps_of([y], 1, rows=True)) == 6
    assert len(steps_of(keep_columns([y]), 1, rows=True)) == 1
    mean, square = G.sum(x, axis=1) / 256.0, G.sum(x * x, axis=1) / 256.0
    spread = G.sqrt(square - mean * mean)
    outputs = keep_columns([(x - G.reshape(mean, shape=(256, 1))) / G.reshape(spread, shape=(256, 1)), mean])
    assert [s.is_kernel for s in steps_of(outputs, 1, rows=True)] == [True, False]
    assert outputs[1].shape == (256,)
    for other in (x - G.reshape(G.sum(x, axis=0), shape=(256, 1)), G.sum(x, axis=1), x + G.reshape(G.sum(x, axis=1), shape=(1, 256))):
        assert keep_columns([other]) == [other]


def test_sums_of_planes_join_the_kernel_that_computes_what_they_add_up():
    x, dout, mean = (leaf(k, (4, 8, 5, 7) if k < 2 else (1, 8, 1, 1), "float32", True) for k in range(3))
    centered = x - mean
    sums = [G.sum(dout, axis=(0, 2, 3)), G.sum(dout * centered, axis=(0, 2, 3), keepdims=True), G.sum(centered * centered, axis=(0, 2, 3))]
    found = by_rows(sums, ALL, ALL)
    assert [n.shape for n in found] == [n.shape for n in sums]
    kernels = [s for s in steps_of(found, 1, rows=True, whole_rows=True) if s.is_kernel]
    assert [sorted(n.bound_op.op.name for n in s.nodes) for s in kernels] == [["multiply", "multiply", "subtract", "sum", "sum", "sum"]]
    assert by_rows(sums, range(2, 5 * 7), ALL) == sums, "longer rows are in parts"
    assert by_rows(sums, range(5 * 7 + 1, 100), ALL) == sums, "shorter rows do not pay on CPUs"
    found = by_rows(sums, ALL, range(5 * 7 + 1, 100))
    assert found[0] is sums[0], "what is only read has a faster sum there"
    assert found[1] is not sums[1]


def test_sums_of_planes_that_a_convolution_computes_in_its_epilogue_read_them():
    x, weight, scale, other = (
        leaf(k, shape, "float32", True) for k, shape in enumerate([(2, 3, 7, 7), (4, 3, 1, 1), (4, 1, 1), (2, 4, 7, 7)])
    )
    window = {"stride": (1, 1), "dilate": (1, 1), "pad": (0, 0), "groups": 1, "channels_last": False}
    product = G.convolve(x, weight, **window)
    computed = G.maximum(product * scale + other, 0.0)
    total = G.sum(computed, axis=(2, 3))
    rows = range(50, 100)
    assert by_rows([total], ALL, rows, takes=lambda n: n is product) == [total], "short rows in memory have a faster sum"
    assert by_rows([total], ALL, rows) != [total]
    assert by_rows([total, product], ALL, rows, takes=lambda n: True) != [total, product], "the product has another reader"
    (found,) = by_rows([total], ALL, ALL, takes=lambda n: True)
    assert computed in applications([found])


def test_sums_that_are_no_sums_of_planes_stay():
    x = leaf("x", (4, 8, 5, 7), "float32", True)
    halves = leaf("h", (4, 8, 5, 7), "float16", True)
    for n in (
        G.sum(x, axis=-1),
        G.sum(x),
        G.sum(x, axis=(0, 1)),
        G.sum(x, axis=(0, 2)),
        G.sum(halves, axis=(0, 2, 3)),
        G.max(x, axis=(2, 3)),
    ):
        assert by_rows([n], ALL, ALL) == [n]


def test_a_plane_of_what_cannot_be_merged_is_reshaped():
    x, along = leaf("x", (4, 8, 5, 7), "float32", True), leaf("along", (7,), "float32", True)
    (found,) = by_rows([G.sum(G.tanh(x * along), axis=(2, 3))], ALL, ALL)
    assert names([found]) == ["multiply", "reshape", "reshape", "sum", "tanh"], "tanh joins the rows, the product of the columns does not"
    total = x
    for k in range(MOST_ARRAYS):
        total = total + leaf(k, (4, 8, 5, 7), "float32", True)
    (found,) = by_rows([G.sum(total, axis=(2, 3))], ALL, ALL)
    assert names([found]) == [*["add"] * MOST_ARRAYS, "reshape", "reshape", "sum"], "reading one result is cheaper than reading many arrays"


def test_a_plan_reuses_buffers_after_their_last_read():
    x = x_of(N)
    y = G.tanh(G.exp(G.tanh(G.exp(x))))
    assert planned([y], [x], fuse=False).nbytes == 2 * BYTES
    assert planned([y], [x], fuse=False, in_place=False).nbytes == 4 * BYTES
    assert planned([y], [x], fuse=False, in_place=False, share=False).nbytes == 5 * BYTES
    assert planned([y], [x], fuse=False, donated=[x]).nbytes == BYTES


def test_values_inside_a_kernel_have_no_memory():
    x = x_of(N)
    y = G.exp(x) * G.tanh(x)
    assert planned([y], [x], fuse=False).nbytes == 3 * BYTES
    assert planned([y], [x]).nbytes == 2 * BYTES


def test_a_free_buffer_is_reused_for_its_own_type_only():
    x, y = x_of(N), leaf("y", (N,), "int32")
    mixed = G.astype(G.matmul(G.reshape(G.exp(x), shape=(256, 256)), G.reshape(x, shape=(256, 256))), dtype="int32")
    other = G.matmul(G.reshape(y + y, shape=(256, 256)), mixed)
    plan = planned([other], [x, y], fuse=False)
    assert all(n == BYTES for n, _ in plan.buffers if n)
    assert {dtype for _, dtype in plan.buffers} == {"float32", "int32"}


def training(mirror, layers=16):
    y = mx.sym.var("x")
    with mx.AttrScope(**({"force_mirroring": "True"} if mirror else {})):
        for _ in range(layers):
            y = mx.sym.tanh(y * y)
    executor = y.simple_bind(mx.cpu(), x=(N,))
    return executor.memory_plan()["training forward on cpu(0)"]


def test_recomputation_saves_fewer_bytes_of_forward():
    assert sum(training(True).outputs) < sum(training(False).outputs) / 4


def test_placement_makes_one_part_per_device_run():
    y = mx.sym.var("x")
    for k in range(4):
        with mx.AttrScope(ctx_group=f"group{k // 2}"):
            y = mx.sym.tanh(y)
    executor = y.simple_bind(mx.cpu(), x=(4,), grad_req="null", group2ctx={"group0": mx.cpu(0), "group1": mx.cpu(1)})
    assert [len(program.steps) for _, program in executor.programs()] == [2, 2]


def test_a_window_is_one_program_and_skips_dead_results(deferred):
    x = mx.nd.ones((N,))
    COUNTERS.reset()
    shown, unseen = mx.nd.exp(mx.nd.tanh(x * 0.5) + 1.0), mx.nd.sqrt(x)
    del unseen
    shown.wait_to_read()
    assert (COUNTERS.windows, COUNTERS.kernels, COUNTERS.fused) == (1, 1, 4)

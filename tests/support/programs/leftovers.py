"""Names that are private, or belong to MXNet's machinery, and that scripts import all the same."""

from __future__ import annotations

from typing import Any

import numpy as np

from tests.oracle_programs import fails

#: Dtypes as they are spelled in programs for both packages.
NAMES = ("float32", "float64", "float16", "uint8", "int32", "int8", "int64")
OPERATORS = (
    "FullyConnected",
    "exp",
    "Concat",
    "_zeros",
    "Activation",
    "BatchNorm",
    "sum",
    "_random_uniform",
    "Convolution",
    "clip",
    "take",
)


def _internals(mx: Any) -> Any:
    """``mx.ndarray.ndarray``, whose names another module has in Twofold."""
    if hasattr(mx.nd, "ndarray"):
        return mx.nd.ndarray
    from twofold.compat import array_internals

    return array_internals


def codes(mx: Any) -> Any:
    nn = _internals(mx)
    dtypes = [[nn._DTYPE_NP_TO_MX[getattr(np, name)], nn._DTYPE_MX_TO_NP[k].__name__] for k, name in enumerate(NAMES)]
    storage = [nn._STORAGE_TYPE_STR_TO_ID, nn._STORAGE_TYPE_ID_TO_STR, nn._GRAD_REQ_MAP, nn._STORAGE_TYPE_CSR, nn._STORAGE_TYPE_UNDEFINED]
    return dtypes, storage, nn._DTYPE_NP_TO_MX[None], nn._DTYPE_MX_TO_NP[-1], nn.py_slice.__name__, nn._SIGNED_INT32_UPPER_LIMIT


def dispatch_of_indices(mx: Any) -> Any:
    nn = _internals(mx)
    keys = [(1, slice(None)), (), (1, [1, 2]), (None, 1), (np.array([1]),), (mx.nd.array([1]), 0)]
    wrong = [1, (Ellipsis, 1), (1.5,), ("x",)]
    return [nn.get_indexing_dispatch_code(key) for key in keys], [fails(lambda k=key: nn.get_indexing_dispatch_code(k)) for key in wrong]


def expanded_indices(mx: Any) -> Any:
    nn = _internals(mx)
    keys = [
        (1, (3, 4)),
        (slice(1), (3, 4)),
        (None, (3, 4)),
        ((Ellipsis, 1), (3, 4, 5)),
        ((None, 1), (3, 4)),
        ((1, 2, 3), (3, 4)),
        ([1, 2], (3, 4)),
    ]
    keys += [((1,), (3,)), ((), (3, 4)), (True, (3,)), ((slice(2), None, 0, Ellipsis), (3, 4, 5))]
    found = [nn.indexing_key_expand_implicit_axes(key, shape) for key, shape in keys]
    return [[str(key), code] for key, code in found], fails(lambda: nn.indexing_key_expand_implicit_axes((1, Ellipsis, Ellipsis), (3, 4)))


def index_arithmetic(mx: Any) -> Any:
    nn = _internals(mx)
    ranges = [nn._get_index_range(None, None, 5), nn._get_index_range(-2, None, 5, -1), nn._get_index_range(1, -1, 5, 2)]
    sizes = [nn._get_dim_size(1, 7, 2), nn._get_slice_len(slice(None, None, 2), 5), nn.get_oshape_of_gather_nd_op((3, 4), (1, 5))]
    shapes = [
        nn._get_broadcast_shape((2, 1), (3,)),
        nn._get_broadcast_shape((2, 1), (3, 2, 3)),
        str(nn._int_to_slice(2)),
        str(nn._int_to_slice(-1)),
    ]
    match = [fails(lambda s=shape: nn.check_boolean_array_dimension((3, 4), 0, s)) for shape in ((3,), (4,), (3, 4))]
    return ranges, sizes, shapes, match


def structures_of_dlpack(mx: Any) -> Any:
    nn = _internals(mx)
    fields = [[name for name, _ in kind._fields_] for kind in (nn.DLContext, nn.DLDataType, nn.DLTensor, nn.DLManagedTensor)]
    return fields, nn.DLDataType.TYPE_MAP, nn.DLContext(1, 2).device_id


def cached_operators(mx: Any) -> Any:
    a = mx.sym.Variable("a")
    one, x = mx.nd.CachedOp(a * 2 + 1), mx.nd.array([1, 2])
    two = mx.nd.CachedOp(mx.sym.Group([a * 2, a + mx.sym.Variable("b")]), flags=(("static_alloc", True),))
    out = [mx.nd.zeros(2), mx.nd.zeros(2)]
    results = one(x), two(x, x), two(x, x, out=out), out
    x.attach_grad()
    with mx.autograd.record():
        y = one(x)
    y.backward()
    return results, x.grad, [fails(lambda: one(3)), fails(lambda: one().asnumpy()), fails(lambda: one(a=x))]


def backends_of_symbols(mx: Any) -> Any:
    s = mx.sym.FullyConnected(mx.sym.Variable("a"), num_hidden=2, name="fc")
    found = [s.optimize_for("MKLDNN"), s.as_nd_ndarray(), s.simple_bind(mx.cpu(), a=(1, 2)).get_optimized_symbol()]
    return [x.list_arguments() for x in found], found[2].list_outputs(), fails(lambda: s.get_backend_symbol("unknown"))


def private_names_of_training(mx: Any) -> Any:
    weight = mx.gluon.Parameter("w", shape=(2,))
    before = weight._grad
    weight.initialize(mx.init.One())
    trainer = mx.gluon.Trainer({"w": weight}, "sgd")
    states = [trainer._kv_initialized]
    with mx.autograd.record():
        loss = weight.data() * 3
    loss.backward()
    gradients = [g.asnumpy() for g in weight._grad]
    trainer.step(1)
    return before, gradients, [*states, trainer._kv_initialized]


def storage_of_custom_operators(mx: Any) -> Any:
    prop = mx.operator.CustomOpProp()
    dense = [prop.infer_storage_type(["default"]), prop.infer_storage_type_backward(["default"], ["default"], ["default"], ["default"], [])]
    wrong = (
        fails(lambda: prop.infer_storage_type(["csr"])),
        fails(lambda: prop.infer_storage_type_backward(["csr"], ["default"], [], [], [])),
    )
    return dense, wrong


def arguments_of_operators(mx: Any) -> Any:
    found = [mx.operator.get_operator_arguments(name) for name in OPERATORS]
    described = ("FullyConnected", "clip", "dot", "Concat", "LeakyReLU", "CTCLoss", "sum", "SequenceMask", "Activation")
    texts = [mx.operator.get_operator_arguments(name).types for name in described]
    return [[x.narg, x.names] for x in found], texts, fails(lambda: mx.operator.get_operator_arguments("no_such_operator"))


def executor_groups(mx: Any) -> Any:
    if hasattr(mx.module, "executor_group"):
        make = mx.module.executor_group.DataParallelExecutorGroup
    else:
        from twofold.module.executor_group import DataParallelExecutorGroup as make
    net = mx.sym.FullyConnected(mx.sym.Variable("data"), num_hidden=2, name="fc")
    net = mx.sym.SoftmaxOutput(net, name="softmax")
    data, label = [mx.io.DataDesc("data", (4, 3))], [mx.io.DataDesc("softmax_label", (4,))]
    group = make(net, [mx.cpu(0), mx.cpu(1)], [1, 1], data, label, ["fc_weight", "fc_bias"], True, False)
    group.set_params({"fc_weight": mx.nd.ones((2, 3)), "fc_bias": mx.nd.array([0, 1])}, {})
    batch = mx.io.DataBatch([mx.nd.arange(12).reshape((4, 3)) / 12], [mx.nd.array([0, 1, 0, 1])])
    group.forward(batch, is_train=True)
    group.backward()
    metric = mx.metric.create("acc")
    group.update_metric(metric, batch.label, False)
    weights = {"fc_weight": mx.nd.zeros((2, 3)), "fc_bias": mx.nd.zeros(2)}
    group.get_params(weights, {})
    outputs = group.get_outputs(), len(group.get_outputs(merge_multi_context=False)[0]), group.get_output_shapes()
    names = group.param_names, group.arg_names, group.grad_req, group.for_training, [str(s) for s in group.slices]
    return outputs, group.grad_arrays, metric.get(), weights, names, len(group.execs)


def names_of_records(mx: Any) -> Any:
    server = mx.kvstore.KVStoreServer(mx.kv.create("local"))
    return list(mx.model.BatchEndParam._fields), type(server).__name__

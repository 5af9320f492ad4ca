"""Casts that automatic mixed precision inserts into symbols and models, and its loss scaling."""

from __future__ import annotations

import json
import re
from importlib import import_module


def _converted(mx, symbol, **options):
    """The nodes, inputs and outputs of the converted symbol.

    Outputs of nodes that MXNet numbers (``relu0_0_amp_cast_float32``) are named here as in ``list_outputs``.
    """
    amp = import_module(f"{mx.__name__}.contrib.amp")
    record = json.loads(amp.convert_symbol(symbol, **options).tojson(remove_amp_cast=False))
    nodes = record["nodes"]
    names = [re.sub(r"_0(_amp_)", r"_output\1", node["name"]) for node in nodes]
    kept = ("dtype", "num_outputs", "__dtype__")
    return [
        [n["op"], names[j], {k: v for k, v in n.get("attrs", {}).items() if k in kept}, [[names[i], k] for i, k, _ in n["inputs"]]]
        for j, n in enumerate(nodes)
    ] + [[[names[i], k] for i, k, _ in record["heads"]]]


def _dense(mx, data, name, **inputs):
    return mx.sym.FullyConnected(data, num_hidden=2, name=name, **inputs)


def _network(mx):
    conv = mx.sym.Convolution(mx.sym.Variable("data"), kernel=(3, 3), num_filter=4, name="conv")
    act = mx.sym.Activation(mx.sym.BatchNorm(conv, name="bn"), act_type="relu", name="act")
    both = mx.sym.elemwise_add(mx.sym.exp(_dense(mx, act, "fc"), name="ex"), _dense(mx, act, "fc2"), name="sum")
    return mx.sym.SoftmaxOutput(both, name="softmax")


def network(mx):
    return _converted(mx, _network(mx))


def network_in_bfloat16(mx):
    return _converted(mx, _network(mx), target_dtype="bfloat16")


def parameters_are_declared(mx):
    return _converted(mx, _network(mx), data_names=["data"])


def parameters_of_16_bits(mx):
    return _converted(mx, _network(mx), data_names=["data", "softmax_label"], cast_optional_params=True)


def excluded_nodes(mx):
    return _converted(mx, _network(mx), excluded_sym_names=["fc"])


def lists_of_the_user(mx):
    options = {"target_dtype_ops": ["FullyConnected"], "fp32_ops": ["SoftmaxOutput"], "conditional_fp32_ops": []}
    return _converted(mx, _network(mx), **options)


def _parts(mx):
    x, y = mx.sym.Variable("x"), mx.sym.Variable("y")
    return x, y, _dense(mx, x, "f", no_bias=True), mx.sym.exp(y, name="e")


def conditional_operators(mx):
    _, _, f, _ = _parts(mx)
    soft = mx.sym.Activation(f, act_type="softrelu", name="soft")
    leaky = [mx.sym.LeakyReLU(f, act_type=kind, name=kind) for kind in ("elu", "leaky")]
    return [_converted(mx, s) for s in (_dense(mx, soft, "g"), *leaky)]


def operands_of_two_dtypes(mx):
    x, y, f, e = _parts(mx)
    pairs = [(f, x), (f, e), (e, f), (y, f), (f, y), (e, y), (e, e), (x, y)]
    found = [_converted(mx, mx.sym.broadcast_add(a, b, name="sum")) for a, b in pairs]
    found += [_converted(mx, mx.sym.concat(a, b, name="both")) for a, b in pairs[:4]]
    return [*found, *(_converted(mx, mx.sym.add_n(*s, name="n")) for s in ((f, e, x), (e, x, f)))]


def unlisted_operators(mx):
    _, y, f, _ = _parts(mx)
    made = [mx.sym.exp(mx.sym.relu(y, name="r"), name="q"), mx.sym.BatchNorm(f, name="bn"), mx.sym.zeros_like(f, name="z")]
    made += [mx.sym.Embedding(f, input_dim=4, output_dim=3, name="emb"), _dense(mx, mx.sym.argmax(f, axis=1, name="am"), "q")]
    made += [_dense(mx, mx.sym.cast(f, "float32", name="c"), "g"), mx.sym.exp(mx.sym.split(f, num_outputs=2, name="s")[1], name="q")]
    return [_converted(mx, s) for s in made]


def several_outputs(mx):
    x, y, f, _ = _parts(mx)
    states = [mx.sym.Variable(n) for n in ("p", "h", "c")]
    lstm = mx.sym.RNN(x, *states, mode="lstm", state_size=2, num_layers=1, state_outputs=True, name="r")
    groups = [mx.sym.Group([f, mx.sym.exp(f, name="q")]), mx.sym.Group([f, mx.sym.broadcast_add(x, y, name="b")])]
    return [_converted(mx, s) for s in (lstm, *groups, mx.sym.topk(f, ret_typ="both", name="t"), x)]


def parameters_with_two_readers(mx):
    x, weight = mx.sym.Variable("x"), mx.sym.Variable("w")
    both = mx.sym.Group([_dense(mx, x, "a", weight=weight), mx.sym.exp(weight, name="ew")])
    return _converted(mx, both, data_names=["x"], cast_optional_params=True)


def arrays_of_a_model(mx):
    amp = import_module(f"{mx.__name__}.contrib.amp")
    args = {"conv_weight": mx.nd.ones((4, 1, 3, 3)), "bn_gamma": mx.nd.ones(4), "fc_weight": mx.nd.ones((2, 4))}
    args.update(
        conv_bias=mx.nd.ones(4), bn_beta=mx.nd.ones(4), fc_bias=mx.nd.ones(2), fc2_weight=mx.nd.ones((2, 4)), fc2_bias=mx.nd.ones(2)
    )
    aux = {"bn_moving_mean": mx.nd.ones(4), "bn_moving_var": mx.nd.ones(4)}
    found = []
    for optional in (False, True):
        _, new_args, new_aux = amp.convert_model(_network(mx), args, aux, cast_optional_params=optional)
        found.append({k: v.dtype.__name__ for k, v in sorted({**new_args, **new_aux}.items())})
    return found


def lists(mx):
    amp = import_module(f"{mx.__name__}.contrib.amp")
    names = ["lp16", "fp32", "lp16_fp32", "conditional_fp32"]
    found = {name: sorted(getattr(amp, f"list_{name}_ops")("float16")) for name in names}
    tables = amp.lists.symbol_bf16
    found.update({f"bf16_{n}": sorted(getattr(tables, n)) for n in ("BF16_FUNCS", "BF16_FP32_FUNCS", "FP32_FUNCS", "WIDEST_TYPE_CASTS")})
    return {**found, "widest": sorted(amp.list_widest_type_cast("float16")), "losses": amp.list_loss_output_functions("float16")}


def the_scale_of_the_loss(mx):
    """The states of a scaler through overflows, a run of good steps, and at its largest value."""
    module = import_module(f"{mx.__name__}.contrib.amp.loss_scaler")
    scaler = module.LossScaler()
    scaler._scale_seq_len = 3
    weight = mx.gluon.Parameter("w", shape=(2,))
    weight.initialize(ctx=mx.cpu())
    fixed = mx.gluon.Parameter("fixed", shape=(2,), grad_req="null")
    fixed.initialize(ctx=mx.cpu())
    found = []
    for value in (float("inf"), float("nan"), 1, 1, 1, 1, 1, 1, 1):
        weight.grad()[:] = value
        found.append([scaler.has_overflow([weight, fixed]), scaler.loss_scale, scaler._next_loss_scale, scaler._unskipped])
    scaler._next_loss_scale = 2.0**24
    return found + [[scaler.has_overflow([weight]), scaler.loss_scale, scaler._next_loss_scale] for _ in range(3)]

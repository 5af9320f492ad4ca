"""The networks of the model zoo: their graphs and parameters, and outputs and gradients of small ones."""

from __future__ import annotations

import hashlib
import json
from typing import Any

import numpy as np

NETWORKS = [
    "alexnet",
    *(f"densenet{n}" for n in (121, 161, 169, 201)),
    "inception_v3",
    *(f"mobilenet{v}{width}" for v in ("", "_v2_") for width in ("0_25", "0_5", "0_75", "1_0")),
    *(f"resnet{n}_v{v}" for v in (1, 2) for n in (18, 34, 50, 101, 152)),
    *("squeezenet1_0", "squeezenet1_1"),
    *(f"vgg{n}{bn}" for bn in ("", "_bn") for n in (11, 13, 16, 19)),
]


def _digest(value: Any) -> str:
    return hashlib.sha256(json.dumps(value).encode()).hexdigest()[:16]


def _described(mx: Any, net: Any, side: int) -> list[Any]:
    """Number of parameters, and digests of what they are, of their names in files, of the text, and of the graph with its attributes."""
    symbol = net(mx.sym.Variable("data"))
    args, _, states = symbol.infer_shape(data=(1, 3, side, side))
    shapes = {**dict(zip(symbol.list_arguments(), args)), **dict(zip(symbol.list_auxiliary_states(), states))}  # noqa: B905
    parameters = []
    for name, p in net.collect_params().items():
        init = p.init if p.init is None or isinstance(p.init, str) else p.init.dumps()
        parameters.append([name.partition("_")[2], list(shapes[name]), p.grad_req, init, p.lr_mult, p.wd_mult])
    nodes = [
        [node["op"], node["name"].partition("_")[2], node["inputs"], sorted(node.get("attrs", {}).items()) if node["op"] != "null" else []]
        for node in json.loads(symbol.tojson())["nodes"]
    ]
    prefix = net.prefix.rstrip("0123456789_")
    return [prefix, len(parameters), *(_digest(v) for v in (parameters, list(net._collect_params_with_prefix()), repr(net), nodes))]


def every_network(mx: Any) -> Any:
    vision = mx.gluon.model_zoo.vision
    found = {}
    for name in NETWORKS:
        net = getattr(vision, name)()
        found[name] = _described(mx, net, 299 if name.startswith("inception") else 224)
    return found


def networks_by_name(mx: Any) -> Any:
    get_model = mx.gluon.model_zoo.vision.get_model
    names = ["ResNet18_v1", "squeezenet1.0", "mobilenetv2_0.5", "mobilenet0.75", "inceptionv3", "vgg11_bn"]
    return [[type(net).__name__, list(net.collect_params().values())[-1].shape[0]] for net in (get_model(n, classes=7) for n in names)]


def auxiliary_classifier(mx: Any) -> Any:
    net = mx.gluon.model_zoo.vision.inception.make_aux(10)
    return [repr(net), len(net.collect_params().keys())]


def _set_parameters(mx: Any, net: Any) -> None:
    """Values from NumPy in place of initial ones, of a size that keeps activations near 1."""
    random = np.random.RandomState(7)
    for name, p in net.collect_params().items():
        shape = p.shape
        if name.endswith(("gamma", "running_var")):
            value = random.uniform(0.5, 1.5, shape)
        elif name.endswith("weight"):
            value = random.standard_normal(shape) * np.sqrt(2 / max(1, int(np.prod(shape[1:]))))
        else:
            value = random.standard_normal(shape) * 0.1
        p.set_data(mx.nd.array(value.astype("float32")))


def _outputs(mx: Any, net: Any, side: int, trained: bool = True) -> Any:
    """The outputs for two images, and gradients of three parameters in training."""
    x = mx.nd.array(np.random.RandomState(8).standard_normal((2, 3, side, side)).astype("float32"))
    net.initialize()
    net(x)
    _set_parameters(mx, net)
    net.hybridize()
    predicted = net(x)
    if not trained:
        return predicted
    with mx.autograd.record():
        loss = (net(x) * mx.nd.arange(1, predicted.shape[1] + 1)).sum()
    loss.backward()
    learned = [p for p in net.collect_params().values() if p.grad_req != "null"]
    grads = [learned[k].grad().asnumpy() for k in (0, len(learned) // 2, -1)]
    return [predicted, [[float(np.abs(g).sum()), g.ravel()[:3]] for g in grads]]


def small_resnets(mx: Any) -> Any:
    vision = mx.gluon.model_zoo.vision
    found = {}
    for version, kinds in (
        (vision.ResNetV1, (vision.BasicBlockV1, vision.BottleneckV1)),
        (vision.ResNetV2, (vision.BasicBlockV2, vision.BottleneckV2)),
    ):
        for kind in kinds:
            for thumbnail in (True, False):
                net = version(kind, [1, 2], [8, 8, 16], classes=3, thumbnail=thumbnail)
                found[f"{kind.__name__} {thumbnail}"] = _outputs(mx, net, 8 if thumbnail else 32)
    return found


def predictions(mx: Any) -> Any:
    vision = mx.gluon.model_zoo.vision
    makers = {vision.mobilenet0_25: 32, vision.mobilenet_v2_0_25: 32, vision.squeezenet1_1: 224}
    found = [_outputs(mx, maker(classes=4), side, trained=False) for maker, side in makers.items()]
    return [*found, _outputs(mx, vision.DenseNet(8, 4, [2, 3], bn_size=2, classes=3), 56, trained=False)]


def checksums(mx: Any) -> Any:
    store = mx.gluon.model_zoo.model_store
    names = ["alexnet", "densenet121", "inceptionv3", "mobilenet0.25", "mobilenetv2_0.75", "resnet152_v2", "squeezenet1.1", "vgg19_bn"]
    return [store.short_hash(name) for name in names]

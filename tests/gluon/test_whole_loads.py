"""A file that does not fit is refused before any parameter changes."""

import json

import numpy as np
import pytest

import twofold as mx
from twofold import gluon, nd
from twofold.errors import FormatError, MXNetError


def network():
    net = gluon.nn.HybridSequential(prefix="m_")
    with net.name_scope():
        net.add(gluon.nn.Dense(4, in_units=3), gluon.nn.Dense(3, in_units=4))
    net.initialize(mx.init.One())
    return net


def values(net):
    return {name: param.data().asnumpy() for name, param in net.collect_params().items()}


LAST = {
    "another shape": nd.ones(9),
    "a shape that broadcasts": nd.ones(1),
    "another dtype": nd.ones(3, dtype="float64"),
}
LOADS = {
    "load_parameters": (lambda net: net.save_parameters, lambda net, file: net.load_parameters(file)),
    "ParameterDict.load": (lambda net: net.collect_params().save, lambda net, file: net.collect_params().load(file)),
    "load_params of old files": (lambda net: net.save_params, lambda net, file: net.load_params(file)),
}


@pytest.mark.parametrize("last", [*LAST, "an extra name", "a name less"])
@pytest.mark.parametrize("load", LOADS)
def test_the_last_array_decides_before_the_first_is_written(load, last, tmp_path):
    file = str(tmp_path / "a.params")
    save, read = LOADS[load]
    save(network())(file)
    arrays = {name: array * 7 for name, array in nd.load(file).items()}
    name = next(reversed(arrays))
    arrays.pop(name) if last == "a name less" else arrays.update({name if last in LAST else "other_weight": LAST.get(last, nd.ones(1))})
    nd.save(file, arrays)
    net = network()
    before = values(net)
    with pytest.raises(MXNetError):
        read(net, file)
    after = values(net)
    for key in before:
        np.testing.assert_array_equal(after[key], before[key])


@pytest.mark.parametrize("damage", [{"symbol": "{"}, {"symbol": 5}, {"inputs": 3}, {"in_format": {"a": 1}}], ids=str)
def test_a_damaged_graph_leaves_the_parameters_of_block_load(damage, tmp_path):
    net = network()
    net.hybridize()
    net(nd.ones((1, 3)))
    net.save(tmp_path / "m")
    file = tmp_path / "m-model.json"
    model = json.loads(file.read_text())
    next(iter(model.values())).update(damage)
    file.write_text(json.dumps(model))
    other = network()
    other.collect_params().initialize(mx.init.Zero(), force_reinit=True)
    with pytest.raises(FormatError):
        other.load(tmp_path / "m")
    assert not any(array.any() for array in values(other).values())


def test_a_deferred_parameter_keeps_its_unknown_size_after_a_refusal(tmp_path):
    file = str(tmp_path / "a.params")
    nd.save(file, {"weight": nd.ones((2, 3)), "bias": nd.ones(5)})
    net = gluon.nn.Dense(2)
    net.initialize()
    with pytest.raises(MXNetError):
        net.load_parameters(file)
    assert net.weight.shape == (2, 0)

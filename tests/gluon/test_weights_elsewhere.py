"""Arrays under another library's names become parameters, by rules; what does not match is said at once."""

from pathlib import Path

import numpy as host
import pytest

import twofold as mx
from twofold import gluon, nd
from twofold.errors import DTypeError, ParameterError
from twofold.gluon import WeightRule, nn

TORCH_FILE = Path(__file__).parents[1] / "formats" / "torch_files" / "archive.pt"


def net_of(*layers):
    net = nn.HybridSequential()
    net.add(*layers)
    return net


def test_names_become_paths_one_rule_after_the_other():
    net = net_of(nn.Dense(2, in_units=3), nn.LayerNorm(in_channels=2))
    arrays = {
        "model.fc.weight": nd.arange(6).reshape((2, 3)),
        "model.fc.bias": nd.ones(2),
        "model.ln.weight": nd.full(2, 4),
        "model.ln.bias": nd.full(2, 5),
        "model.mask": nd.zeros(3),
    }
    rules = {r"\.mask$": None, r"^model\.": "", r"^fc\.": "0.", r"^ln\.": "1.", r"^1\.weight": "1.gamma", r"^1\.bias": "1.beta"}
    for initialized in (False, True):
        if initialized:
            net.initialize(force_reinit=True)
        gluon.load_weights(net, arrays, rules)
        assert net[0].weight.data().asnumpy().tolist() == [[0, 1, 2], [3, 4, 5]]
        assert (net[1].gamma.data()[0].asscalar(), net[1].beta.data()[0].asscalar()) == (4, 5)


def test_recurrent_layers_take_the_names_of_their_attributes_and_of_files():
    net = net_of(gluon.rnn.LSTM(4, input_size=3))
    shapes = {"weight_ih_l0": (16, 3), "weight_hh_l0": (16, 4), "bias_ih_l0": 16, "bias_hh_l0": 16}
    arrays = {f"0.{name}": nd.random.normal(shape=shape) for name, shape in shapes.items()}
    rules = {r"(\w+)_ih_l(\d+)$": r"l\2_i2h_\1", r"(\w+)_hh_l(\d+)$": r"l\2_h2h_\1"}
    for last in ({}, {r"^0\.l0_": "0._unfused.0."}):
        net.initialize(force_reinit=True)
        gluon.load_weights(net, arrays, rules | last)
        for name, kind in (("weight_ih_l0", "l0_i2h_weight"), ("bias_hh_l0", "l0_h2h_bias")):
            host.testing.assert_array_equal(getattr(net[0], kind).data().asnumpy(), arrays[f"0.{name}"].asnumpy())
    with pytest.raises(ParameterError, match=r"no arrays for '0\.l0_i2h_weight'"):
        gluon.load_weights(net, {})


def test_an_array_of_several_parameters_is_transposed_and_cut():
    net = net_of(nn.Dense(2, in_units=3, use_bias=False), nn.Dense(2, in_units=3, use_bias=False))
    joined = host.arange(12, dtype="float32").reshape(3, 4)
    gluon.load_weights(net, {"kernel.w": nd.array(joined)}, [WeightRule("kernel", ("0", "1"), True), (r"\.w$", ".weight")])
    host.testing.assert_array_equal(net[0].weight.data().asnumpy(), joined.T[:2])
    host.testing.assert_array_equal(net[1].weight.data().asnumpy(), joined.T[2:])


def test_one_error_lists_all_that_does_not_match_and_nothing_changes():
    net = net_of(nn.Dense(2, in_units=3), nn.Dense(1, in_units=2))
    net.initialize(mx.init.One())
    arrays = {"0.weight": nd.zeros((2, 4)), "0.bias": nd.zeros(2), "b": nd.zeros(2), "1.bias": nd.zeros(1), "x": nd.zeros(1)}
    with pytest.raises(ParameterError) as caught:
        gluon.load_weights(net, arrays, {"^b$": "0.bias"})
    for part in ("0.bias is given twice, by b", "(2, 3), and 0.weight gives (2, 4)", "no arrays for '1.weight'", "no parameters for 'x'"):
        assert part in str(caught.value)
    assert (net[0].weight.data().asnumpy() == 1).all()


def test_what_is_missing_or_left_over_may_be_allowed():
    net = net_of(nn.Dense(2, in_units=3))
    net.initialize(mx.init.One())
    gluon.load_weights(net, {"0.bias": nd.full(2, 7), "x": nd.zeros(1)}, allow_missing=True, ignore_extra=True)
    assert net[0].bias.data().asnumpy().tolist() == [7, 7]
    assert (net[0].weight.data().asnumpy() == 1).all()


def test_a_shared_parameter_needs_one_array():
    first = nn.Dense(2, in_units=2, use_bias=False)
    net = net_of(first, nn.Dense(2, in_units=2, use_bias=False, params=first.params))
    gluon.load_weights(net, {"0.weight": nd.ones((2, 2))})
    assert net[1].weight.data().sum().asscalar() == 4


def test_arrays_are_converted_to_the_dtype_of_the_parameter():
    net = net_of(nn.Dense(1, in_units=1, use_bias=False))
    gluon.load_weights(net, {"0.weight": nd.ones((1, 1), dtype="float64")})
    assert net[0].weight.data().dtype == host.float32
    net.cast("bfloat16")
    gluon.load_weights(net, {"0.weight": nd.ones((1, 1))})
    assert net[0].weight.data()._dtype == "bfloat16"


def test_arrays_of_numpy_become_parameters():
    net = net_of(nn.Dense(2, in_units=3))
    given = host.arange(6.0).reshape(3, 2)
    gluon.load_weights(net, {"kernel": given, "bias": mx.np.ones(2)}, [("^", "0."), gluon.WeightRule("kernel", "weight", transpose=True)])
    found = net[0].weight.data()
    assert found.dtype == host.float32
    host.testing.assert_array_equal(found.asnumpy(), given.T)
    assert net[0].bias.data().sum().asscalar() == 2


def test_arrays_that_numpy_can_read_become_parameters():
    class Tensor:
        def __array__(self):
            return host.full((1, 2), 7)

    net = net_of(nn.Dense(1, in_units=2, use_bias=False))
    gluon.load_weights(net, {"0.weight": Tensor()})
    assert net[0].weight.data().asnumpy().tolist() == [[7, 7]]


def test_arrays_of_mx_np_are_cut():
    net = net_of(nn.Dense(1, in_units=1, use_bias=False), nn.Dense(1, in_units=1, use_bias=False))
    gluon.load_weights(net, {"both": mx.np.array([[1], [2]])}, {"both": ("0.weight", "1.weight")})
    assert [layer.weight.data().asscalar() for layer in net] == [1, 2]


def test_what_is_no_array_is_refused_by_a_rule_too():
    with pytest.raises(DTypeError, match="load_weights: w is no array: given dict"):
        gluon.load_weights(net_of(nn.Dense(1)), {"w": {}}, [gluon.WeightRule("w", "0.weight", transpose=True)])


def test_files(tmp_path):
    net = net_of(nn.Dense(2, in_units=1))
    found = mx.load_torch(TORCH_FILE)["nested"]["model"]
    # all of the file but the nested parameters is left out
    with pytest.raises(DTypeError, match=r"nested is no array.*\['state_dict'\]"):
        gluon.load_weights(net, TORCH_FILE)
    nd.save(tmp_path / "model.safetensors", found)
    for source in (found, tmp_path / "model.safetensors", tmp_path):
        net.initialize(force_reinit=True)
        gluon.load_weights(net, source, {"^": "0."})
        host.testing.assert_array_equal(net[0].weight.data().asnumpy(), found["weight"].asnumpy())


@pytest.mark.parametrize(
    ("rule", "message"), [(("(", "x"), r"cannot be applied"), (("w", r"\2"), "cannot be applied"), (("w", ("a", "b")), "cut into 2")]
)
def test_mistakes_in_rules(rule, message):
    with pytest.raises(ParameterError, match=message):
        gluon.load_weights(net_of(nn.Dense(1)), {"w": nd.ones((3, 1))}, [rule])

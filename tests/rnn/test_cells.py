"""Recurrent cells where Twofold does more than MXNet, and what they say about wrong use."""

import random
from functools import partial

import numpy as np
import pytest

import twofold as mx
from twofold.errors import InvalidValue, MXNetError

DATA = mx.sym.Variable("data")


@pytest.mark.parametrize(
    ("action", "message"),
    [
        (lambda: mx.rnn.LSTMCell(2).unroll(2, None), "there are no inputs"),
        (lambda: mx.rnn.LSTMCell(2).unroll(2, [DATA]), "wrong number of steps: given 1 for length=2"),
        (lambda: mx.rnn.LSTMCell(2).unroll(2, mx.sym.Group([DATA, DATA])), "several outputs"),
        (lambda: mx.rnn.ZoneoutCell(mx.rnn.FusedRNNCell(2)), "FusedRNNCell doesn't support zoneout"),
        (lambda: mx.rnn.ZoneoutCell(mx.rnn.BidirectionalCell(mx.rnn.GRUCell(2), mx.rnn.GRUCell(2))), "cells underneath"),
        (lambda: mx.rnn.ZoneoutCell(mx.rnn.GRUCell(2)).base_cell.begin_state(), "call the modifier cell instead"),
        (lambda: mx.rnn.DropoutCell("half"), "dropout probability must be a number"),
        (lambda: mx.rnn.ConvRNNCell((1, 3, 8, 8), 4, h2h_kernel=(2, 2)), "Only support odd number"),
        (lambda: mx.rnn.SequentialRNNCell().unroll(2, DATA), "there are no cells"),
    ],
)
def test_wrong_use_is_an_assertion_error_as_in_mxnet(action, message):
    with pytest.raises(AssertionError, match=message) as found:
        action()
    assert isinstance(found.value, MXNetError)


@pytest.mark.parametrize("cell", [mx.rnn.FusedRNNCell(2), mx.rnn.BidirectionalCell(mx.rnn.GRUCell(2), mx.rnn.GRUCell(2))])
def test_cells_without_steps_say_so(cell):
    with pytest.raises(NotImplementedError, match="cannot be stepped"):
        cell(DATA, [])


def test_weights_of_a_missing_array_are_a_key_error_with_its_name():
    with pytest.raises(KeyError, match="lstm_h2h_bias"):
        mx.rnn.LSTMCell(2).unpack_weights({f"lstm_{n}": mx.nd.zeros((8,)) for n in ("i2h_weight", "i2h_bias", "h2h_weight")})


def test_params_for_a_container_and_its_cells_are_refused():
    stack = mx.rnn.SequentialRNNCell(params=mx.rnn.RNNParams("stack_"))
    stack.add(mx.rnn.GRUCell(2, prefix="own_"))
    with pytest.raises(InvalidValue, match="not both"):
        stack.add(mx.rnn.GRUCell(2, params=mx.rnn.RNNParams("given_")))


def test_zoneout_works_on_convolutional_cells_too():
    cell = mx.rnn.ZoneoutCell(mx.rnn.ConvLSTMCell((1, 2, 4, 4), 3), 0.5, 0.5)
    outputs, _ = cell.unroll(2, DATA, merge_outputs=True)
    assert outputs.infer_shape(data=(1, 2, 2, 4, 4))[1] == [(1, 2, 3, 4, 4)]


def test_zoneout_keeps_elements_of_the_previous_step_in_training():
    outputs, states = mx.rnn.ZoneoutCell(mx.rnn.RNNCell(1000), 0.25, 0.5).unroll(2, DATA)
    executor = mx.sym.Group([*outputs, *states]).simple_bind(mx.cpu(), data=(1, 2, 1), grad_req="null")
    for name, array in executor.arg_dict.items():
        array[:] = 0.5 if "bias" in name else 0
    mx.random.seed(0)
    first, second, state = (out.asnumpy() for out in executor.forward(is_train=True))
    for found in (first, second, state):
        assert np.isclose(found[:, :, None], [0, np.tanh(1.0)]).any(axis=-1).all()
    assert abs((first == 0).mean() - 0.25) < 0.06
    assert abs((second == 0).mean() - 0.25**2) < 0.04  # kept twice
    assert abs((state == 0).mean() - 0.5**2) < 0.06


def test_nodes_are_numbered_from_the_start_in_each_unrolling():
    cell = mx.rnn.ZoneoutCell(mx.rnn.LSTMCell(2), zoneout_states=0.5)
    first, second = (cell.unroll(2, DATA)[0][0].list_arguments() for _ in range(2))
    assert first == second


def test_gates_of_a_channels_last_gru_are_split_along_channels():
    cell = mx.rnn.ConvGRUCell((1, 5, 5, 2), 3, conv_layout="NHWC")
    output, _ = cell(DATA, cell.begin_state(func=partial(mx.sym.zeros, dtype="float32")))
    assert output.infer_shape(data=(4, 5, 5, 2))[1] == [(4, 5, 5, 3)]


def test_rnn_unroll_is_deprecated_but_works():
    with pytest.warns(UserWarning, match="cell.unroll"):
        outputs, _ = mx.rnn.rnn_unroll(mx.rnn.RNNCell(2), 2, input_prefix="in_")
    assert outputs[0].list_arguments()[:2] == ["in_t0_data", "rnn_i2h_weight"]


def test_sentences_that_fit_no_bucket_are_dropped_with_a_warning():
    with pytest.warns(UserWarning, match="discarded 1 sentences longer"):
        batches = mx.rnn.BucketSentenceIter([[1, 2], [3, 4], [1, 2, 3]], 1, buckets=[2])
    assert len(list(batches)) == 2


def test_equal_seeds_give_equal_epochs():
    def epochs():
        random.seed(5)
        np.random.seed(5)  # noqa: NPY002
        batches = mx.rnn.BucketSentenceIter([[k, k + 1, k + 2][: 1 + k % 3] for k in range(30)], 3, buckets=[2, 3])
        found = []
        for _ in range(2):
            found.append([batch.data[0].asnumpy().tolist() for batch in batches])
            batches.reset()
        return found

    first = epochs()
    assert first == epochs()
    assert first[0] != first[1]


def test_gradients_of_an_output_listed_twice_add_up():
    y = mx.sym.tanh(mx.sym.Variable("x"))
    executor = mx.sym.Group([y, y]).simple_bind(mx.cpu(), x=(1,))
    executor.forward(is_train=True, x=mx.nd.zeros((1,)))
    executor.backward([mx.nd.array([1.0]), mx.nd.array([10.0])])
    assert executor.grad_dict["x"].asnumpy().tolist() == [11.0]


class Mixing(mx.rnn.BaseRNNCell):
    """A cell as users write them."""

    def __init__(self, num_hidden):
        super().__init__(prefix="mixing_")
        self._num_hidden = num_hidden
        self._weight = self.params.get("weight")

    @property
    def state_info(self):
        return [{"shape": (0, self._num_hidden), "__layout__": "NC"}]

    def __call__(self, inputs, states):
        self._counter += 1
        both = mx.sym.concat(inputs, states[0])
        mixed = mx.sym.FullyConnected(both, self._weight, no_bias=True, num_hidden=self._num_hidden, name=f"{self._prefix}t{self._counter}")
        output = self._get_activation(mixed, "tanh")
        return output, [output]


def test_cells_of_users_are_unrolled_stacked_and_modified():
    stack = mx.rnn.SequentialRNNCell()
    stack.add(mx.rnn.ResidualCell(Mixing(4)))
    outputs, _ = stack.unroll(3, DATA, merge_outputs=True)
    assert outputs.list_arguments() == ["data", "mixing_weight"]
    assert outputs.infer_shape(data=(2, 3, 4))[1] == [(2, 3, 4)]
    assert stack.unpack_weights({"mixing_weight": 1}) == {"mixing_weight": 1}

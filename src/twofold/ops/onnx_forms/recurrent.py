"""ONNX forms of recurrent layers: one LSTM, GRU or RNN of ONNX for each layer, with the gates in ONNX's order."""

from ..recurrent import Net, rnn
from ..recurrent_cells import StateClip

#: The operator of ONNX, its attributes, and its order of the gates. An LSTM's are (in, forget, cell, out) here and (in, out, forget, cell)
#: there, a GRU's (reset, update, new) and (update, reset, new). ``linear_before_reset`` multiplies by the reset gate after the product, as
#: cuDNN does.
_KINDS = {
    "lstm": ("LSTM", {}, (0, 3, 1, 2)),
    "gru": ("GRU", {"linear_before_reset": 1}, (1, 0, 2)),
    "rnn_tanh": ("RNN", {"activations": "Tanh"}, (0,)),
    "rnn_relu": ("RNN", {"activations": "Relu"}, (0,)),
}


class _Vector:
    """The flat vector of parameters, from which blocks are cut in order."""

    def __init__(self, onnx, net, vector, order):
        self.onnx, self.net, self.order = onnx, net, order
        self.blocks, start = {}, 0
        for key, shape in net.blocks():
            count = shape[0] * (shape[1] if len(shape) > 1 else 1)
            cut = onnx.Slice(vector, onnx.ints([start]), onnx.ints([start + count]), onnx.ints([0]))
            self.blocks[key] = onnx.Reshape(cut, onnx.ints(shape)) if len(shape) > 1 else cut
            start += count

    def _in_order(self, block):
        """The rows of a block with the gates in ONNX's order."""
        onnx, size = self.onnx, self.net.hidden
        if len(self.order) == 1:
            return block
        parts = onnx.Split(block, onnx.ints([size] * len(self.order)), axis=0, outputs=len(self.order))
        return onnx.Concat(*[parts[k] for k in self.order], axis=0)

    def of_layer(self, layer, *names):
        """Blocks of all directions of a layer, stacked; several names of one direction are joined."""
        onnx = self.onnx
        rows = []
        for d in range(self.net.directions):
            blocks = [self._in_order(self.blocks[layer, d, name]) for name in names]
            joined = blocks[0] if len(blocks) == 1 else onnx.Concat(*blocks, axis=0)
            rows.append(onnx.Unsqueeze(joined, onnx.ints([0])))
        return rows[0] if len(rows) == 1 else onnx.Concat(*rows, axis=0)


def _of_layer(onnx, state, layer, net):
    first = layer * net.directions
    if net.layers == 1:
        return state
    return onnx.Slice(state, onnx.ints([first]), onnx.ints([first + net.directions]), onnx.ints([0]))


@rnn.onnx
def _(onnx, node, data, vector, state, cell, length=None, key=None):
    params = node.bound_op.params
    # ONNX's LSTM has no projection, and its `clip` bounds the gates' inputs, not the states
    if params["projection_size"] or params["lstm_state_clip_min"] is not None or params["lstm_state_clip_max"] is not None:
        return None
    directions = 2 if params["bidirectional"] else 1
    free = StateClip(None, None, False)
    # no projection and no bounds of states, as tested above
    net = Net(params["mode"], params["num_layers"], directions, data.shape[2], params["state_size"], None, free)
    name, attributes, order = _KINDS[params["mode"]]
    if "activations" in attributes:
        attributes = {"activations": [attributes["activations"]] * net.directions}
    cut = _Vector(onnx, net, vector, order)
    lengths = onnx.in_dtype("int32", length)[0] if params["use_sequence_length"] else None
    lasts, is_lstm = [], params["mode"] == "lstm"
    for layer in range(net.layers):
        weights = cut.of_layer(layer, "input"), cut.of_layer(layer, "state"), cut.of_layer(layer, "input_bias", "state_bias")
        states = [_of_layer(onnx, s, layer, net) for s in ((state, cell) if is_lstm else (state,))]
        direction = "bidirectional" if net.directions == 2 else "forward"
        options = {"hidden_size": net.hidden, "direction": direction, **attributes}
        out, *last = getattr(onnx, name)(data, *weights, lengths, *states, outputs=3 if is_lstm else 2, **options)
        lasts.append(last)
        # (t, directions, n, h) to (t, n, directions · h)
        data = onnx.Reshape(onnx.Transpose(out, perm=[0, 2, 1, 3]), onnx.ints([0, 0, -1]))
    if not params["state_outputs"]:
        return data
    joined = [column[0] if net.layers == 1 else onnx.Concat(*column, axis=0) for column in zip(*lasts, strict=True)]
    return (data, *joined)

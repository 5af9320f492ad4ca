"""`RNN` with 8-bit products: the inputs and states as uint8 numbers, the weights as int8 numbers with a scale for each row."""

from ..errors import ParameterError
from ..opdef import Index, op
from .quantization import LEVELS, Limit, assuming, kind_of, to_integers
from .recurrent import STATES, CellState, Net, clip_of, net_of, outputs_of, rnn
from .recurrent_cells import StateClip
from .recurrent_scan import step_of, steps_in_order

#: A row of zeros has any scale; this keeps it finite.
TINY = 1e-30


class Products:
    """Products of rows of uint8 numbers q = x · scale + shift with the rows of float32 weights."""

    def __init__(self, xp, scale, shift):
        self.xp, self.scale, self.shift = xp, xp.reshape(scale, shape=()), xp.reshape(shift, shape=())

    def quantized(self, x):
        """Floats as uint8 numbers."""
        return to_integers(self.xp, x * self.scale + self.shift, "uint8")

    def weight(self, weight):
        """A weight (n, k) as int8 numbers; the scale of each row (n,), and its sum times the shift."""
        xp = self.xp
        scale = LEVELS["int8"] / xp.maximum(xp.max(xp.absolute(weight), axis=1, keepdims=True), TINY)
        integers = to_integers(xp, weight * scale, "int8")
        shifted = xp.sum(xp.astype(integers, dtype="float32"), axis=1, keepdims=False) * self.shift
        return integers, xp.reshape(scale, shape=(-1,)) * self.scale, shifted

    def __call__(self, rows, weight):
        """Rows (m, k) times a quantized weightᵀ, as float32 (m, n)."""
        # Σ q · w = scale · Σ x · w + shift · Σ w, where the last term does not depend on the data
        integers, scale, shifted = weight
        return (self.xp.astype(self.xp.integer_matmul(rows, integers), dtype="float32") - shifted) / scale


def _scanned(xp, products, net, rows, shape, w, h, c, direction):
    """One direction over the quantized rows of (t, n, d): the outputs (t, n, h) and the final states."""
    steps, n = shape[:2]
    weights = {name: products.weight(w[name]) for name in ("input", "state", "projection") if name in w}
    # a GRU's reset gate multiplies the state's contribution with its bias, which is therefore added in the loop
    bias = w["input_bias"] if net.mode == "gru" else w["input_bias"] + w["state_bias"]
    # the inputs of all steps in one product, as in `RNN`
    shares = xp.reshape(products(rows, weights["input"]) + bias, shape=(steps, n, -1))
    outputs = [None] * steps
    for t in steps_in_order(steps, direction):
        hidden = products(products.quantized(h), weights["state"])
        hidden = hidden + w["state_bias"] if net.mode == "gru" else hidden
        h, c, _ = net.cell.forward(xp, step_of(xp, shares, t), hidden, h, c)
        h = h if net.projection is None else products(products.quantized(h), weights["projection"])
        outputs[t] = h
    return xp.stack(outputs), h, c


@op("_contrib_quantized_rnn", like=rnn, without=("is_train",), outputs=outputs_of, output_names=STATES, differentiable=False)
def quantized_rnn(
    xp,
    data: Index,
    parameters: Index,
    state: Index,
    state_cell: CellState = None,
    data_scale: Limit = None,
    data_shift: Limit = None,
    *,
    state_size,
    num_layers,
    bidirectional,
    mode,
    state_outputs,
    projection_size,
    use_sequence_length,
    **params,
):
    """`RNN` over uint8 data (t, n, d) of `quantize_asym`, with its scale and shift (1,); parameters, states and results are float32.

    States and the outputs of lower layers are quantized with the data's scale. ``p`` has no effect: quantized networks are not trained.
    """
    given = [x for x in (state_cell, data_scale, data_shift) if x is not None]
    if len(given) != (3 if mode == "lstm" else 2) or use_sequence_length:
        what = f"{3 + len(given)} arrays, mode {mode}, use_sequence_length={use_sequence_length}"
        raise ParameterError("quantized_rnn: needs the states, the scale and the shift, and no lengths", what, "pass these")
    kind_of(xp, "quantized_rnn", data, ("uint8",))
    net = net_of(
        data.shape,
        mode=mode,
        num_layers=num_layers,
        bidirectional=bidirectional,
        state_size=state_size,
        projection_size=projection_size,
        clip=clip_of(params),
    )
    products, blocks, out = Products(xp, *given[-2:]), net.unpacked(xp, parameters), None
    x, shape, last_h, last_c = data, data.shape, [], []
    for layer in range(num_layers):
        rows, ways = xp.reshape(x, shape=(shape[0] * shape[1], -1)), []
        for d in range(net.directions):
            w = {name: block for (at, way, name), block in blocks.items() if (at, way) == (layer, d)}
            at = layer * net.directions + d
            c = step_of(xp, given[0], at) if mode == "lstm" else None
            out, h, c = _scanned(xp, products, net, rows, shape, w, step_of(xp, state, at), c, d)
            ways, last_h, last_c = [*ways, out], [*last_h, h], [*last_c, c]
        out = ways[0] if len(ways) == 1 else xp.concat(*ways, axis=2)
        # the next layer's input is quantized again, like the data
        x = products.quantized(out)
    if not state_outputs:
        return out
    return (out, xp.stack(last_h), xp.stack(last_c)) if mode == "lstm" else (out, xp.stack(last_h))


quantized_rnn.assumes(assuming(data="uint8"))
quantized_rnn.dtypes(lambda dtypes, **params: ["float32"] * outputs_of(**params))


@quantized_rnn.infer
def _(shapes, results, **params):
    data, vector, state, cell, scale, shift = shapes
    if data is not None and None not in data:
        net = net_of(data, clip=None, **params)
        rows = net.layers * net.directions
        vector, state, cell = (net.size(),), (rows, data[1], net.out), (rows, data[1], net.hidden)
        results = [(*data[:2], net.directions * net.out), state, cell][: len(results)]
    return [data, vector, state, cell, scale or (1,), shift or (1,)], results


@quantized_rnn.sample
def _(draw):
    samples = []
    for mode, directions, layers in (("lstm", 1, 2), ("gru", 2, 1), ("rnn_tanh", 1, 1)):
        size = Net(mode, layers, directions, 2, 3, None, StateClip(None, None, False)).size()
        state = draw.integer((layers * directions, 2, 3), -1, 2)
        arrays = draw.integer((3, 2, 2), 0, 256, "uint8"), draw.integer((size,), -1, 2), state, state if mode == "lstm" else None
        scale = draw.integer((1,), 100, 120), draw.integer((1,), 120, 130)
        more = {"state_size": 3, "num_layers": layers, "bidirectional": directions == 2, "state_outputs": True}
        samples.append(draw(*arrays, *scale, mode=mode, gradient=False, **more))
    return samples

"""Recurrent layers over whole sequences, computed by the fused operator ``RNN``."""

from collections.abc import Callable
from inspect import signature
from typing import Any, ClassVar

from ... import ndarray as nd
from ... import symbol as sym
from ...errors import ParameterError
from ...ndarray.array import NDArray
from ...symbol.symbol import Symbol
from ..exceptions import InvalidValue
from ..hybrid_block import HybridBlock
from ..numpy_arrays import as_legacy, method_through_legacy
from ..parameter import Parameter
from .base import create_state

__all__ = ["GRU", "LSTM", "RNN"]

GATES = {"rnn_relu": 1, "rnn_tanh": 1, "lstm": 4, "gru": 3}


class _RNNLayer(HybridBlock, arrays="nd"):
    """The base of the three layers.

    Parameters
    ----------
    mode
        ``"rnn_relu"``, ``"rnn_tanh"``, ``"lstm"`` or ``"gru"``.
    hidden_size
        Size of a state.
    num_layers
        Number of stacked layers.
    layout
        Order of the axes of input and output: ``"TNC"`` or ``"NTC"``.
    dropout
        The fraction of outputs between layers to zero in training.
    bidirectional
        Whether each layer runs in both directions, with concatenated outputs.
    input_size
        Size of the input; inferred in the first forward pass if 0.
    initializers
        Initializers of the parameters by kind.
    dtype
        Dtype of the parameters.
    projection_size
        Size that outputs and their state are projected to; None for no projection.
    clip
        For an LSTM: bounds of the cell state, and whether to replace NaN by a bound.
    use_sequence_length
        Whether calls pass the lengths of sequences.
    """

    def __init__(
        self,
        mode: str,
        hidden_size: int,
        num_layers: int,
        layout: str,
        dropout: float,
        bidirectional: bool,
        input_size: int,
        initializers: dict[str, Any],
        dtype: Any,
        projection_size: int | None = None,
        clip: dict[str, Any] | None = None,
        use_sequence_length: bool = False,
        **kwargs: Any,
    ) -> None:
        super().__init__(**kwargs)
        if layout not in ("TNC", "NTC"):
            raise InvalidValue(f"Invalid layout {layout}; must be one of ['TNC' or 'NTC']", None, "transpose the data")
        self._mode, self._hidden_size, self._num_layers, self._layout = mode, hidden_size, num_layers, layout
        self._dropout, self._dir, self._input_size, self._dtype = dropout, 2 if bidirectional else 1, input_size, dtype
        self._projection_size, self._clip, self._use_sequence_length = projection_size, clip or {}, use_sequence_length
        rows, out = GATES[mode] * hidden_size, projection_size or hidden_size
        for layer in range(num_layers):
            size = input_size if layer == 0 else out * self._dir
            for side in "lr"[: self._dir]:
                shapes = {"i2h_weight": (rows, size), "h2h_weight": (rows, out), "i2h_bias": (rows,), "h2h_bias": (rows,)}
                if projection_size:
                    shapes["h2r_weight"] = (projection_size, hidden_size)
                for name, shape in shapes.items():
                    self._register(f"{side}{layer}_{name}", shape, initializers[name])

    def _register(self, name: str, shape: tuple[int, ...], init: Any) -> None:
        setattr(self, name, self.params.get(name, shape=shape, init=init, allow_deferred_init=True, dtype=self._dtype))

    def _alias(self) -> str:
        return type(self).__name__.lower()

    def __repr__(self) -> str:
        first: Parameter = self._reg_params["l0_i2h_weight"]
        parts = [f"{(first.shape or (0, 0))[1] or None} -> {self._hidden_size}", self._layout]
        parts += [f"num_layers={self._num_layers}"] if self._num_layers != 1 else []
        parts += [f"dropout={self._dropout}"] if self._dropout else []
        parts += ["bidirectional"] if self._dir == 2 else []
        return f"{type(self).__name__}({', '.join(parts)})"

    def _collect_params_with_prefix(self, prefix: str = "") -> dict[str, Parameter]:
        """Parameters under the paths they would have in a stack of cells, as in MXNet's files."""
        prefix = prefix + "." if prefix else ""
        side = {"l": "l_cell.", "r": "r_cell."} if self._dir == 2 else {"l": ""}
        found = {}
        for name, param in self._reg_params.items():
            layer, kind = name.split("_", 1)
            found[f"{prefix}_unfused.{layer[1:]}.{side[layer[0]]}{kind}"] = param
        return found

    def cast(self, dtype: Any) -> None:
        """Cast the parameters, and the initial states that the layer creates."""
        super().cast(dtype)
        self._dtype = dtype

    def state_info(self, batch_size: int = 0) -> list[dict[str, Any]]:
        """Shape and layout of each state."""
        shape = (self._num_layers * self._dir, batch_size, self._projection_size or self._hidden_size)
        return [{"shape": shape, "__layout__": "LNC", "dtype": self._dtype}]

    def begin_state(self, batch_size: int = 0, func: Callable[..., Any] = nd.zeros, **kwargs: Any) -> list[Any]:
        """The initial states.

        Parameters
        ----------
        batch_size
            Number of sequences; 0 for symbols, which infer it.
        func
            The function that creates a state, such as `twofold.nd.zeros`.
        **kwargs
            Its other arguments, such as ``ctx``.
        """
        return [create_state(func, f"{self._prefix}h0_{k}", {**info, **kwargs}) for k, info in enumerate(self.state_info(batch_size))]

    def infer_shape(self, *args: Any) -> None:
        """Set the shapes of the first layer's weights from that of the input.

        Parameters
        ----------
        *args
            The input, and states.
        """
        size = args[0].shape[2]
        for side in "lr"[: self._dir]:
            param = self._reg_params[f"{side}0_i2h_weight"]
            param.shape = (param.shape[0], size)  # type: ignore[index]

    @method_through_legacy
    def __call__(self, inputs: Any, states: Any = None, sequence_length: Any = None) -> Any:  # type: ignore[override]
        """Run the layer.

        Parameters
        ----------
        inputs
            Sequences (t, n, c), or in the layer's layout.
        states
            The initial states: an array or a list; zeros if None.
        sequence_length
            Lengths (n,), if ``use_sequence_length`` is set.

        Returns
        -------
        NDArray, or tuple
            Outputs (t, n, h); with the list of final states if states were passed.
        """
        given = states
        if states is None:
            states = self._zeros(inputs)
        elif isinstance(states, (NDArray, Symbol)):
            states = [states]
        if isinstance(inputs, NDArray):
            self._check(inputs, states)
        lengths = [sequence_length] if self._use_sequence_length else []
        outputs, last = super().__call__(inputs, states, *lengths)
        return outputs if given is None else (outputs, last)

    def _zeros(self, inputs: Any) -> list[Any]:
        if isinstance(inputs, NDArray):
            return as_legacy(self.begin_state(inputs.shape[self._layout.find("N")], ctx=inputs.context, dtype=inputs.dtype))
        return self.begin_state(0, func=sym.zeros)

    def _check(self, inputs: NDArray, states: list[NDArray]) -> None:
        if inputs.ndim != 3:
            raise ParameterError(
                f"{type(self).__name__}: the input must have three axes", f"shape {inputs.shape}", f"pass it as {self._layout}"
            )
        for state, info in zip(states, self.state_info(inputs.shape[self._layout.find("N")]), strict=True):
            if state.shape != info["shape"]:
                raise ParameterError(
                    "Invalid recurrent state shape", f"Expecting {info['shape']}, got {state.shape}", "create it with begin_state"
                )

    def hybrid_forward(self, F: Any, inputs: Any, states: Any, sequence_length: Any = None, **params: Any) -> tuple[Any, list[Any]]:
        """Outputs and final states."""
        if self._layout == "NTC":
            inputs = F.swapaxes(inputs, dim1=0, dim2=1)
        kinds = ["i2h_weight", "h2h_weight", *(["h2r_weight"] if self._projection_size else [])]
        places = [f"{side}{layer}" for layer in range(self._num_layers) for side in "lr"[: self._dir]]
        names = [f"{p}_{k}" for p in places for k in kinds] + [f"{p}_{k}" for p in places for k in ("i2h_bias", "h2h_bias")]
        vector = F._internal._rnn_param_concat(*[F.reshape(params[n], shape=-1) for n in names], dim=0)
        lengths = {} if sequence_length is None else {"sequence_length": sequence_length, "use_sequence_length": True}
        outputs, *last = F.RNN(
            inputs,
            vector,
            *states,
            state_size=self._hidden_size,
            num_layers=self._num_layers,
            bidirectional=self._dir == 2,
            mode=self._mode,
            p=self._dropout,
            state_outputs=True,
            projection_size=self._projection_size,
            **self._clip,
            **lengths,
        )
        return (F.swapaxes(outputs, dim1=0, dim2=1) if self._layout == "NTC" else outputs), last


_PARAMETERS = """

    Parameters
    ----------
    hidden_size
        Size of a state.
    num_layers
        Number of stacked layers.{activation}
    layout
        Order of the axes of input and output: ``"TNC"`` or ``"NTC"``.
    dropout
        The fraction of outputs between layers to zero in training.
    bidirectional
        Whether each layer runs in both directions, with concatenated outputs.
    input_size
        Size of the input; inferred in the first forward pass if 0.
    i2h_weight_initializer, h2h_weight_initializer, i2h_bias_initializer, h2h_bias_initializer
        Initializers of the parameters; None for the model's.{lstm}
    dtype
        Dtype of the parameters.
    **kwargs
        ``use_sequence_length`` (whether calls pass the lengths of sequences); ``prefix`` and ``params``, see `Block`.

    Raises
    ------
    ParameterError
        If the layout is unknown.
    """
_ACTIVATION = """
    activation
        ``"relu"`` or ``"tanh"``."""
_LSTM = """
    projection_size, h2r_weight_initializer
        Size that outputs are projected to (None for no projection), and the initializer of the projection.
    state_clip_min, state_clip_max, state_clip_nan
        Bounds of the cell state, and whether to replace NaN by a bound."""


def _add_parameter_docs(cls: type[_RNNLayer]) -> type[_RNNLayer]:
    has_activation = "activation" in signature(cls).parameters
    text = _PARAMETERS.format(activation=_ACTIVATION if has_activation else "", lstm=_LSTM if cls.__name__ == "LSTM" else "")
    cls.__doc__ = (cls.__doc__ or "") + text
    return cls


def _initializers(i2h_weight: Any, h2h_weight: Any, i2h_bias: Any, h2h_bias: Any, h2r_weight: Any = None) -> dict[str, Any]:
    return {"i2h_weight": i2h_weight, "h2h_weight": h2h_weight, "i2h_bias": i2h_bias, "h2h_bias": h2h_bias, "h2r_weight": h2r_weight}


@_add_parameter_docs
class RNN(_RNNLayer):
    """Layers of plain recurrent cells; see `RNNCell`."""

    _modes: ClassVar[dict[str, str]] = {"relu": "rnn_relu", "tanh": "rnn_tanh"}

    def __init__(
        self,
        hidden_size: int,
        num_layers: int = 1,
        activation: str = "relu",
        layout: str = "TNC",
        dropout: float = 0,
        bidirectional: bool = False,
        i2h_weight_initializer: Any = None,
        h2h_weight_initializer: Any = None,
        i2h_bias_initializer: Any = "zeros",
        h2h_bias_initializer: Any = "zeros",
        input_size: int = 0,
        dtype: Any = "float32",
        **kwargs: Any,
    ) -> None:
        if activation not in self._modes:
            raise ParameterError("RNN: unknown activation", repr(activation), f"use one of {', '.join(self._modes)}")
        initializers = _initializers(i2h_weight_initializer, h2h_weight_initializer, i2h_bias_initializer, h2h_bias_initializer)
        mode = self._modes[activation]
        super().__init__(mode, hidden_size, num_layers, layout, dropout, bidirectional, input_size, initializers, dtype, **kwargs)


@_add_parameter_docs
class LSTM(_RNNLayer):
    """Layers of long short-term memory; see `LSTMCell`."""

    def __init__(
        self,
        hidden_size: int,
        num_layers: int = 1,
        layout: str = "TNC",
        dropout: float = 0,
        bidirectional: bool = False,
        input_size: int = 0,
        i2h_weight_initializer: Any = None,
        h2h_weight_initializer: Any = None,
        i2h_bias_initializer: Any = "zeros",
        h2h_bias_initializer: Any = "zeros",
        projection_size: int | None = None,
        h2r_weight_initializer: Any = None,
        state_clip_min: float | None = None,
        state_clip_max: float | None = None,
        state_clip_nan: bool = False,
        dtype: Any = "float32",
        **kwargs: Any,
    ) -> None:
        initializers = _initializers(
            i2h_weight_initializer, h2h_weight_initializer, i2h_bias_initializer, h2h_bias_initializer, h2r_weight_initializer
        )
        clip = {"lstm_state_clip_min": state_clip_min, "lstm_state_clip_max": state_clip_max, "lstm_state_clip_nan": state_clip_nan}
        super().__init__(
            "lstm",
            hidden_size,
            num_layers,
            layout,
            dropout,
            bidirectional,
            input_size,
            initializers,
            dtype,
            projection_size,
            clip,
            **kwargs,
        )

    def state_info(self, batch_size: int = 0) -> list[dict[str, Any]]:
        """The states h and c."""
        (h,) = super().state_info(batch_size)
        layers, _, _ = h["shape"]
        return [h, {**h, "shape": (layers, batch_size, self._hidden_size)}]


@_add_parameter_docs
class GRU(_RNNLayer):
    """Layers of gated recurrent units; see `GRUCell`."""

    def __init__(
        self,
        hidden_size: int,
        num_layers: int = 1,
        layout: str = "TNC",
        dropout: float = 0,
        bidirectional: bool = False,
        input_size: int = 0,
        i2h_weight_initializer: Any = None,
        h2h_weight_initializer: Any = None,
        i2h_bias_initializer: Any = "zeros",
        h2h_bias_initializer: Any = "zeros",
        dtype: Any = "float32",
        **kwargs: Any,
    ) -> None:
        initializers = _initializers(i2h_weight_initializer, h2h_weight_initializer, i2h_bias_initializer, h2h_bias_initializer)
        super().__init__("gru", hidden_size, num_layers, layout, dropout, bidirectional, input_size, initializers, dtype, **kwargs)

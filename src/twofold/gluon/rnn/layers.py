"""Recurrent layers over whole sequences, computed by the fused operator ``RNN``."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, ClassVar, Unpack, overload

from ... import ndarray as nd
from ... import symbol as sym
from ...errors import InvalidValue, ParameterError, Undefined
from ...imperative.array import Array
from ...ndarray.array import NDArray
from ...symbol.symbol import Symbol
from ..hybrid_block import ArrayKind, HybridBlock, Naming
from ..numpy_arrays import as_legacy, method_through_legacy
from ..parameter import Parameter
from ..signatures import DTypeLike, Functions, InitializerLike, Operand, StateInfo, extend_docstring
from ..tracing import ARRAY, Trace
from ..wrong_inputs import check_positive, check_sizes
from .base import State, create_state

GATES = {"rnn_relu": 1, "rnn_tanh": 1, "lstm": 4, "gru": 3}


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


class _Options(Naming, total=False):
    """The arguments that the layers hand on to their base."""

    use_sequence_length: bool


class _RNNLayer(HybridBlock, arrays="nd"):
    """The base of the three layers. Subclasses define ``state_info``.

    Parameters
    ----------
    mode
        The operator's mode: ``"rnn_relu"``, ``"rnn_tanh"``, ``"lstm"`` or ``"gru"``.

    Notes
    -----
    The other parameters are those of `LSTM`.
    """

    def __init_subclass__(cls, activation: str | None = None, lstm: str = "", **options: ArrayKind) -> None:
        super().__init_subclass__(**options)
        if activation is not None:  # one of the three; `activation` and `lstm` describe the parameters that it alone has
            extend_docstring(cls, _PARAMETERS, activation=activation, lstm=lstm)

    def __init__(
        self, hidden_size: int, num_layers: int, layout: str, dropout: float, bidirectional: bool, input_size: int,
        i2h_weight_initializer: InitializerLike, h2h_weight_initializer: InitializerLike,
        i2h_bias_initializer: InitializerLike, h2h_bias_initializer: InitializerLike, mode: str,
        projection_size: int | None, h2r_weight_initializer: InitializerLike,
        lstm_state_clip_min: float | None, lstm_state_clip_max: float | None, lstm_state_clip_nan: bool,
        dtype: DTypeLike, use_sequence_length: bool = False, **kwargs: Unpack[Naming],
    ) -> None:  # fmt: skip
        super().__init__(**kwargs)
        # Calls with and without states have different outputs, so each has a trace: `_trace` is that of the last call.
        self.skip_states: bool | None = None
        self._other_trace: Trace | None = None
        if layout not in ("TNC", "NTC"):
            raise InvalidValue(f"Invalid layout {layout}; must be one of ['TNC' or 'NTC']", None, "transpose the data")
        check_sizes(self, hidden_size=hidden_size)
        check_positive(self, num_layers=num_layers)
        check_sizes(self, unknown=-1, input_size=input_size)
        self._hidden_size, self._num_layers, self._layout = hidden_size, num_layers, layout
        self._dropout, self._dir, self._input_size, self._dtype = dropout, 2 if bidirectional else 1, input_size, dtype
        self._use_sequence_length, self._mode, self._projection_size = use_sequence_length, mode, projection_size
        self._i2h_weight_initializer, self._h2h_weight_initializer = i2h_weight_initializer, h2h_weight_initializer
        self._i2h_bias_initializer, self._h2h_bias_initializer = i2h_bias_initializer, h2h_bias_initializer
        self._h2r_weight_initializer = h2r_weight_initializer
        self._lstm_state_clip_min, self._lstm_state_clip_max = lstm_state_clip_min, lstm_state_clip_max
        self._lstm_state_clip_nan = lstm_state_clip_nan
        # the weights of all gates are joined as rows; a projection makes the fed-back output smaller
        self._gates = GATES[mode]
        rows, out = self._gates * hidden_size, projection_size or hidden_size
        for layer in range(num_layers):
            # upper layers see the outputs of both directions, concatenated
            size = input_size if layer == 0 else out * self._dir
            for side in "lr"[: self._dir]:
                # One parameter per matrix, as in a stack of cells: the operator's packed vector is built from them in each call.
                parts = {
                    "i2h_weight": ((rows, size), i2h_weight_initializer),
                    "h2h_weight": ((rows, out), h2h_weight_initializer),
                    "i2h_bias": ((rows,), i2h_bias_initializer),
                    "h2h_bias": ((rows,), h2h_bias_initializer),
                }
                if projection_size:
                    parts["h2r_weight"] = (projection_size, hidden_size), h2r_weight_initializer
                for kind, (shape, init) in parts.items():
                    self._register_param(f"{side}{layer}_{kind}", shape=shape, init=init, dtype=dtype)

    def _register_param(self, name: str, shape: tuple[int, ...], init: InitializerLike, dtype: DTypeLike) -> Parameter:
        param = self.params.get(name, shape=shape, init=init, allow_deferred_init=True, dtype=dtype)
        setattr(self, name, param)
        return param

    def __repr__(self) -> str:
        size = self._reg_params["l0_i2h_weight"]._sizes[1]
        parts = [f"{size or None} -> {self._hidden_size}", self._layout]
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
            # MXNet's layer stores its parameters through the stack of cells that it can be turned into
            found[f"{prefix}_unfused.{layer[1:]}.{side[layer[0]]}{kind}"] = param
        return found

    def cast(self, dtype: DTypeLike) -> None:
        """Cast the parameters, and the initial states that the layer creates."""
        super().cast(dtype)
        self._dtype = dtype

    def state_info(self, batch_size: int = 0) -> list[StateInfo]:
        """Shape and layout of each state."""
        raise Undefined(f"{type(self).__name__} has no states", None, "define state_info in it")

    def _state_info(self, batch_size: int, size: int) -> StateInfo:
        """Shape and layout of a state of a size."""
        # L: layers times directions, in the order of the operator
        return {"shape": (self._num_layers * self._dir, batch_size, size), "__layout__": "LNC", "dtype": self._dtype}

    def begin_state(self, batch_size: int = 0, func: Callable[..., State] = nd.zeros, **kwargs: object) -> list[State]:
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

    def infer_shape(self, *args: object) -> None:
        """Set the shapes of the first layer's weights from that of the input.

        Parameters
        ----------
        *args
            The input, and states.
        """
        # By hand: the operator's shape inference cannot see where one parameter ends in the packed vector of all.
        inputs = args[0]
        assert isinstance(inputs, Array)
        size = inputs.shape[2]
        for side in "lr"[: self._dir]:
            param = self._reg_params[f"{side}0_i2h_weight"]
            param.shape = (param._sizes[0], size)

    # final states come back only where states were passed
    @overload
    def __call__(self, inputs: Operand, states: None = None, sequence_length: object = None) -> Operand: ...
    @overload
    def __call__(self, inputs: Operand, states: object, sequence_length: object = None) -> tuple[Operand, list[Operand]]: ...
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
        # this kind of call differs from the last one: its trace becomes the current one
        if self.skip_states is not (states is None):
            self.skip_states, self._trace, self._other_trace = states is None, self._other_trace, self._trace
        if states is None:
            states = self._zeros(inputs)
        elif isinstance(states, (NDArray, Symbol)):
            states = [states]
        if isinstance(inputs, NDArray):
            self._check(inputs, states)
        lengths = [sequence_length] if self._use_sequence_length else []
        return super().__call__(inputs, states, *lengths)

    def _clear_cached_op(self) -> None:
        super()._clear_cached_op()
        self._other_trace = None

    def _restore_trace(self, record: Mapping[str, object], trace: object) -> None:
        super()._restore_trace(record, trace)
        # an exported trace with one output is that of calls without states
        self.skip_states = self._trace is not None and self._trace.outputs == ARRAY

    def _zeros(self, inputs: Any) -> list[Any]:
        if isinstance(inputs, NDArray):
            return as_legacy(self.begin_state(inputs.shape[self._layout.find("N")], ctx=inputs.context, dtype=inputs.dtype))
        return self.begin_state(0, func=sym.zeros)

    def _check(self, inputs: NDArray, states: list[NDArray]) -> None:
        if inputs.ndim != 3:
            raise ParameterError(
                f"{type(self).__name__}: the input must have three axes", f"shape {inputs.shape}", f"pass it as {self._layout}"
            )
        expected = self.state_info(inputs.shape[self._layout.find("N")])
        if len(states) != len(expected):
            todo = f"pass {len(expected)} in a list, as begin_state makes them"
            raise ParameterError(f"{type(self).__name__}: the number of states is wrong", str(len(states)), todo)
        for state, info in zip(states, expected, strict=True):
            if state.shape != info["shape"]:
                raise ParameterError(
                    f"Invalid recurrent state shape, expecting {info['shape']}", f"{state.shape}", "create it with begin_state"
                )

    def hybrid_forward(
        self, F: Functions, inputs: Operand, states: Sequence[Operand], sequence_length: Operand | None = None, **params: Operand
    ) -> Operand | tuple[Operand, list[Operand]]:
        """Outputs, and final states if initial ones were passed: an exported layer has the outputs that MXNet's has."""
        outputs, last = self._forward_kernel(F, inputs, states, sequence_length, **params)
        return outputs if self.skip_states else (outputs, last)

    def _forward_kernel(
        self, F: Functions, inputs: Operand, states: Sequence[Operand], sequence_length: Operand | None, **params: Operand
    ) -> tuple[Operand, list[Operand]]:
        """Outputs and final states, by the operator of whole sequences."""
        if self._layout == "NTC":
            inputs = F.swapaxes(inputs, dim1=0, dim2=1)
        # The operator's order: all weights, layer by layer, then all biases.
        kinds = ["i2h_weight", "h2h_weight", *(["h2r_weight"] if self._projection_size else [])]
        places = [f"{side}{layer}" for layer in range(self._num_layers) for side in "lr"[: self._dir]]
        names = [f"{p}_{k}" for p in places for k in kinds] + [f"{p}_{k}" for p in places for k in ("i2h_bias", "h2h_bias")]
        # Not `concat`: only from this operator does MXNet infer the parameters' shapes when it loads an exported graph.
        vector = F._internal._rnn_param_concat(*[F.reshape(params[n], shape=-1) for n in names], dim=0)
        lengths = {} if sequence_length is None else {"sequence_length": sequence_length}
        outputs, *last = F.RNN(
            inputs,
            vector,
            *states,
            use_sequence_length=sequence_length is not None,
            state_size=self._hidden_size,
            num_layers=self._num_layers,
            bidirectional=self._dir == 2,
            mode=self._mode,
            p=self._dropout,
            state_outputs=True,
            projection_size=self._projection_size,
            lstm_state_clip_min=self._lstm_state_clip_min,
            lstm_state_clip_max=self._lstm_state_clip_max,
            lstm_state_clip_nan=self._lstm_state_clip_nan,
            **lengths,
        )
        if self._layout == "NTC":
            outputs = F.swapaxes(outputs, dim1=0, dim2=1)
        return outputs, last


class RNN(_RNNLayer, activation=_ACTIVATION):
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
        i2h_weight_initializer: InitializerLike = None,
        h2h_weight_initializer: InitializerLike = None,
        i2h_bias_initializer: InitializerLike = "zeros",
        h2h_bias_initializer: InitializerLike = "zeros",
        input_size: int = 0,
        dtype: DTypeLike = "float32",
        **kwargs: Unpack[_Options],
    ) -> None:
        if activation not in self._modes:
            raise ParameterError("RNN: unknown activation", repr(activation), f"use one of {', '.join(self._modes)}")
        super().__init__(
            hidden_size, num_layers, layout, dropout, bidirectional, input_size, i2h_weight_initializer, h2h_weight_initializer,
            i2h_bias_initializer, h2h_bias_initializer, self._modes[activation], None, None, None, None, False, dtype, **kwargs,
        )  # fmt: skip

    def state_info(self, batch_size: int = 0) -> list[StateInfo]:
        """Shape and layout of the state."""
        return [self._state_info(batch_size, self._hidden_size)]


class LSTM(_RNNLayer, activation="", lstm=_LSTM):
    """Layers of long short-term memory; see `LSTMCell`."""

    def __init__(
        self,
        hidden_size: int,
        num_layers: int = 1,
        layout: str = "TNC",
        dropout: float = 0,
        bidirectional: bool = False,
        input_size: int = 0,
        i2h_weight_initializer: InitializerLike = None,
        h2h_weight_initializer: InitializerLike = None,
        i2h_bias_initializer: InitializerLike = "zeros",
        h2h_bias_initializer: InitializerLike = "zeros",
        projection_size: int | None = None,
        h2r_weight_initializer: InitializerLike = None,
        state_clip_min: float | None = None,
        state_clip_max: float | None = None,
        state_clip_nan: bool = False,
        dtype: DTypeLike = "float32",
        **kwargs: Unpack[_Options],
    ) -> None:
        super().__init__(
            hidden_size, num_layers, layout, dropout, bidirectional, input_size, i2h_weight_initializer, h2h_weight_initializer,
            i2h_bias_initializer, h2h_bias_initializer, "lstm", projection_size, h2r_weight_initializer, state_clip_min, state_clip_max,
            state_clip_nan, dtype, **kwargs,
        )  # fmt: skip

    def state_info(self, batch_size: int = 0) -> list[StateInfo]:
        """Shapes and layouts of the states h and c."""
        # Only the output is projected, not the cell state.
        return [self._state_info(batch_size, size) for size in (self._projection_size or self._hidden_size, self._hidden_size)]


class GRU(_RNNLayer, activation=""):
    """Layers of gated recurrent units; see `GRUCell`."""

    def __init__(
        self, hidden_size: int, num_layers: int = 1, layout: str = "TNC", dropout: float = 0, bidirectional: bool = False,
        input_size: int = 0, i2h_weight_initializer: InitializerLike = None, h2h_weight_initializer: InitializerLike = None,
        i2h_bias_initializer: InitializerLike = "zeros", h2h_bias_initializer: InitializerLike = "zeros",
        dtype: DTypeLike = "float32", use_sequence_length: bool = False, **kwargs: Unpack[Naming],
    ) -> None:  # fmt: skip
        super().__init__(
            hidden_size, num_layers, layout, dropout, bidirectional, input_size, i2h_weight_initializer, h2h_weight_initializer,
            i2h_bias_initializer, h2h_bias_initializer, "gru", None, None, None, None, False, dtype,
            use_sequence_length, **kwargs,
        )  # fmt: skip

    def state_info(self, batch_size: int = 0) -> list[StateInfo]:
        """Shape and layout of the state."""
        return [self._state_info(batch_size, self._hidden_size)]

"""Layers of transformers: encoder and decoder layers, gated feed-forward networks, dropped paths."""

from typing import Unpack

from ...ndarray.array import NDArray
from ..block_parts import run_part
from ..hybrid_block import HybridBlock, Naming
from ..layer import Layer
from ..signatures import Functions, Operand
from .activations import GELU, Activation, SiLU
from .attention import KeyValueCache, MultiHeadAttention, decoding, extended, next_places
from .basic_layers import Dense, Dropout
from .normalization import LayerNorm

#: Layers for activations that are no `Activation`.
ACTIVATIONS = {"gelu": GELU, "gelu_tanh": lambda: GELU("tanh"), "silu": SiLU}


class SwiGLU(Layer, arrays="nd"):
    """A gated feed-forward network: ``down(silu(gate(x)) · up(x))``.

    Parameters
    ----------
    hidden_size
        Size of the gate.
    units
        Size of the result.
    use_bias
        Whether the three products have biases.
    **kwargs
        ``prefix`` and ``params``, see `Block`.

    Notes
    -----
    Shazeer, GLU variants improve transformer, arXiv:2002.05202.

    Examples
    --------
    >>> import twofold as mx
    >>> layer = mx.gluon.nn.SwiGLU(16, 4)
    >>> layer.initialize()
    >>> layer(mx.nd.ones((2, 3, 4))).shape
    (2, 3, 4)
    """

    def __init__(self, hidden_size: int, units: int, use_bias: bool = False, **kwargs: Unpack[Naming]) -> None:
        super().__init__(**kwargs)
        with self.name_scope():
            self.gate = Dense(hidden_size, flatten=False, use_bias=use_bias, prefix="gate_")
            self.up = Dense(hidden_size, flatten=False, use_bias=use_bias, prefix="up_")
            self.down = Dense(units, flatten=False, use_bias=use_bias, prefix="down_")
            self.act = SiLU(prefix="silu_")

    def hybrid_forward(self, F: Functions, x: Operand) -> Operand:
        """The result (…, units)."""
        return self.down(self.act(self.gate(x)) * self.up(x))


class DropPath(Layer, arrays="nd"):
    """Zeroes whole samples during training, and scales the others to preserve the mean: the branch of a residual block is skipped.

    Parameters
    ----------
    rate
        The fraction of samples to zero.
    **kwargs
        ``prefix`` and ``params``, see `Block`.

    Notes
    -----
    Huang et al., Deep networks with stochastic depth, ECCV 2016.

    Examples
    --------
    >>> import twofold as mx
    >>> layer = mx.gluon.nn.DropPath(0.5)
    >>> with mx.autograd.train_mode():
    ...     rows = layer(mx.nd.ones((100, 3))).asnumpy()
    >>> sorted({tuple(row) for row in rows.tolist()})
    [(0.0, 0.0, 0.0), (2.0, 2.0, 2.0)]
    """

    def __init__(self, rate: float, **kwargs: Unpack[Naming]) -> None:
        super().__init__(**kwargs)
        self._rate = rate

    def hybrid_forward(self, F: Functions, x: Operand) -> Operand:
        """The output, with the shape of x (n, …)."""
        if not self._rate:
            return F.identity(x)
        rows = F.reshape(x, shape=(0, -1))
        # one draw for each row, which dropout makes of a column of ones
        kept = F.Dropout(F.ones_like(F.slice_axis(rows, axis=1, begin=0, end=1)), p=self._rate, name="fwd")
        return F.reshape_like(F.broadcast_mul(rows, kept), x)


class FeedForward(Layer, arrays="nd"):
    """The two products of a transformer's layer, with an activation and dropout between them."""

    def __init__(self, hidden_size: int, units: int, activation: str, dropout: float, **kwargs: Unpack[Naming]) -> None:
        super().__init__(**kwargs)
        with self.name_scope():
            self.first = Dense(hidden_size, flatten=False, prefix="first_")
            self.act = ACTIVATIONS[activation]() if activation in ACTIVATIONS else Activation(activation, prefix=f"{activation}_")
            self.dropout = Dropout(dropout)
            self.second = Dense(units, flatten=False, prefix="second_")

    def hybrid_forward(self, F: Functions, x: Operand) -> Operand:
        """The result (…, units)."""
        return self.second(self.dropout(self.act(self.first(x))))


class LayerOptions(Naming, total=False):
    """The arguments that layers of transformers have in common."""

    dropout: float
    activation: str
    pre_norm: bool
    epsilon: float


class _ResidualLayer(HybridBlock, arrays="nd"):
    """Branches with residual connections, of which the last one is a feed-forward network. Subclasses have the others."""

    def __init__(
        self,
        units: int,
        hidden_size: int,
        norms: int,
        dropout: float = 0.1,
        activation: str = "relu",
        pre_norm: bool = False,
        epsilon: float = 1e-5,
        **kwargs: Unpack[Naming],
    ) -> None:
        super().__init__(**kwargs)
        self._pre_norm = pre_norm
        with self.name_scope():
            self.ffn = FeedForward(hidden_size, units, activation, dropout, prefix="ffn_")
            self.dropout = Dropout(dropout)
            self._norms = [LayerNorm(epsilon=epsilon, prefix=f"norm{k}_") for k in range(1, norms + 1)]
        # as attributes, so that they are children with these names
        for k, norm in enumerate(self._norms, 1):
            setattr(self, f"norm{k}", norm)

    def _normalized(self, number: int, x: Operand) -> Operand:
        """What a branch gets."""
        return self._norms[number](x) if self._pre_norm else x

    def _added(self, number: int, x: Operand, branch: Operand) -> Operand:
        """What follows a branch."""
        total = x + self.dropout(branch)
        return total if self._pre_norm else self._norms[number](total)


class TransformerEncoderLayer(_ResidualLayer, arrays="nd"):
    """Self-attention and a feed-forward network, each with a residual connection and a normalization.

    Parameters
    ----------
    units
        Size of the vectors.
    num_heads
        Number of heads.
    hidden_size
        Size inside the feed-forward network.
    causal, num_kv_heads, rotary
        See `MultiHeadAttention`.
    dropout
        Fraction of elements that are zeroed in training, 0.1 if omitted: of both branches' results, and inside the network.
    activation
        ``"relu"`` if omitted, ``"gelu"``, ``"gelu_tanh"``, ``"silu"`` or another name for `Activation`.
    pre_norm
        Whether the branches' inputs are normalized, instead of the sums.
    epsilon
        Added to variances, 1e-5 if omitted.
    **options
        Also ``prefix`` and ``params``, see `Block`.

    Notes
    -----
    Vaswani et al., Attention is all you need, NeurIPS 2017; Xiong et al., On layer normalization in the transformer architecture, ICML
    2020.

    Examples
    --------
    >>> import twofold as mx
    >>> layer = mx.gluon.nn.TransformerEncoderLayer(8, 2, 32, activation="gelu", pre_norm=True)
    >>> layer.initialize()
    >>> layer(mx.nd.ones((3, 5, 8))).shape
    (3, 5, 8)
    """

    def __init__(
        self,
        units: int,
        num_heads: int,
        hidden_size: int,
        causal: bool = False,
        num_kv_heads: int | None = None,
        rotary: bool = False,
        **options: Unpack[LayerOptions],
    ) -> None:
        super().__init__(units, hidden_size, 2, **options)
        with self.name_scope():
            self.attention = MultiHeadAttention(units, num_heads, num_kv_heads, causal, rotary, prefix="attention_")

    def hybrid_forward(self, F: Functions, x: Operand, mask: Operand | None = None) -> Operand:
        """The result (batch, length, units); for ``mask`` see `MultiHeadAttention`."""
        normal = self._normalized(0, x)
        return self._with_network(self._added(0, x, self.attention(normal, normal, normal, mask)))

    @decoding
    def decode(self, x: NDArray, cache: KeyValueCache) -> tuple[NDArray, KeyValueCache]:
        """The result for the next part of sequences; see `MultiHeadAttention.decode`. ``cache`` is of ``attention.new_cache``."""
        places = next_places(cache, x.shape[1])
        q, k, v = run_part(self, self._heads_of, x, places)
        cache = extended(cache, k, v, places)
        return run_part(self, self._after_heads, x, q, cache.keys, cache.values, places), cache

    def _heads_of(self, F: Functions, x: Operand, places: Operand) -> tuple[Operand, Operand, Operand]:
        return self.attention._heads_of(F, self._normalized(0, x), places)

    def _after_heads(self, F: Functions, x: Operand, q: Operand, keys: Operand, values: Operand, places: Operand) -> Operand:
        return self._with_network(self._added(0, x, self.attention._attended(F, q, keys, values, places)))

    def _with_network(self, x: Operand) -> Operand:
        return self._added(1, x, self.ffn(self._normalized(1, x)))


class TransformerDecoderLayer(_ResidualLayer, arrays="nd"):
    """Causal self-attention, attention to an encoder's result, and a feed-forward network, each with a residual connection.

    Parameters
    ----------
    units, num_heads, hidden_size, **options
        As for `TransformerEncoderLayer`.

    Notes
    -----
    Vaswani et al., Attention is all you need, NeurIPS 2017.

    Examples
    --------
    >>> import twofold as mx
    >>> layer = mx.gluon.nn.TransformerDecoderLayer(8, 2, 32)
    >>> layer.initialize()
    >>> layer(mx.nd.ones((3, 5, 8)), mx.nd.ones((3, 7, 8))).shape
    (3, 5, 8)
    """

    def __init__(self, units: int, num_heads: int, hidden_size: int, **options: Unpack[LayerOptions]) -> None:
        super().__init__(units, hidden_size, 3, **options)
        with self.name_scope():
            self.attention = MultiHeadAttention(units, num_heads, causal=True, prefix="attention_")
            self.cross = MultiHeadAttention(units, num_heads, prefix="cross_")

    def hybrid_forward(
        self, F: Functions, x: Operand, memory: Operand, mask: Operand | None = None, memory_mask: Operand | None = None
    ) -> Operand:
        """The result (batch, length, units).

        Parameters
        ----------
        F
            The functions.
        x
            The vectors (batch, length, units).
        memory
            The encoder's result (batch, keys, size).
        mask, memory_mask
            Of the two attentions; see `MultiHeadAttention`.
        """
        normal = self._normalized(0, x)
        x = self._added(0, x, self.attention(normal, normal, normal, mask))
        x = self._added(1, x, self.cross(self._normalized(1, x), memory, memory, memory_mask))
        return self._added(2, x, self.ffn(self._normalized(2, x)))

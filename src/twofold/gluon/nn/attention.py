"""Attention with several heads, its cache for generation, and positions: rotary and learned."""

from collections.abc import Callable
from functools import wraps
from typing import Any, NamedTuple, TypeVar, Unpack

import numpy as np

from ... import ndarray as nd
from ...device import Device
from ...errors import ParameterError, ShapeError
from ...ndarray.array import NDArray
from ...numpy.array import ndarray
from ..block_parts import run_part
from ..hybrid_block import HybridBlock, Naming
from ..layer import Layer
from ..numpy_arrays import as_legacy, as_numpy, cast_inputs, has_numpy
from ..signatures import DTypeLike, Functions, InitializerLike, Operand
from .basic_layers import Dense

#: Arrays of `mx.nd` or of `mx.np`.
Given = TypeVar("Given", NDArray, ndarray)


class KeyValueCache(NamedTuple):
    """What attention has seen of a sequence, for generating one part after the other; see `MultiHeadAttention.decode`.

    Attributes
    ----------
    keys, values
        Arrays (batch, key heads, length, depth), of which the first positions are filled.
    filled
        Number of positions that are: an integer, or an array () or (1,) of integers, as in a body of `func.scan`.

    Examples
    --------
    >>> import twofold as mx
    >>> layer = mx.gluon.nn.MultiHeadAttention(8, 2)
    >>> layer.initialize()
    >>> cache = layer.new_cache(batch=1, length=10)
    >>> y, cache = layer.decode(mx.nd.ones((1, 3, 8)), cache)
    >>> cache.filled, cache.keys.shape
    (3, (1, 2, 10, 4))
    """

    keys: NDArray
    values: NDArray
    filled: int | NDArray | ndarray


def next_places(cache: KeyValueCache, count: int) -> NDArray:
    """The positions of the next part (count,).

    Raises
    ------
    ShapeError
        If the sequences become longer than the cache; where the number of positions is an array, `extended` notices it.
    """
    filled, length, device = cache.filled, cache.keys.shape[2], cache.keys.context
    if isinstance(filled, (NDArray, ndarray)):
        start = as_legacy(filled).reshape((1,)).astype("float32")
        return nd.broadcast_add(start, nd.arange(count, ctx=device, dtype="float32"))
    if filled + count > length:
        raise ShapeError("MultiHeadAttention: the cache is full", f"{filled + count} positions in {length}", "make a longer one")
    return nd.array(np.arange(filled, filled + count), ctx=device, dtype="float32")


def positions_like(F: Functions, x: Operand, axis: int) -> Operand:
    """The positions 0, 1, 2 … along an axis of x, as float32: half precision has no odd numbers above 256 or 2,048."""
    return F.contrib.arange_like(F.cast(F.slice_axis(x, axis=-1, begin=0, end=1), dtype="float32"), axis=axis)


def extended(cache: KeyValueCache, keys: NDArray, values: NDArray, places: NDArray) -> KeyValueCache:
    """The cache with the keys and values of the next part, which are written into its arrays at these positions."""
    filled, count = cache.filled, keys.shape[2]
    # in place: a longer array for each part would be another program each time
    where: Any = places.astype("int32") if isinstance(filled, (NDArray, ndarray)) else slice(filled, filled + count)
    cache.keys[:, :, where] = keys
    cache.values[:, :, where] = values
    return cache._replace(filled=filled + count)


def decoding(
    decode: Callable[[Any, NDArray, KeyValueCache], tuple[NDArray, KeyValueCache]],
) -> Callable[[Any, Given, KeyValueCache], tuple[Given, KeyValueCache]]:
    """Let a method of a block that decodes arrays of `mx.nd` take those of `mx.np`, too. Caches have arrays of `mx.nd`."""

    @wraps(decode)
    def call(block: Any, x: Any, cache: KeyValueCache) -> tuple[Any, KeyValueCache]:
        if not has_numpy((x, cache.keys, cache.values)):
            return decode(block, x, cache)
        inner = KeyValueCache(as_legacy(cache.keys), as_legacy(cache.values), cache.filled)
        result, after = decode(block, cast_inputs(x, block._input_dtype()), inner)
        return as_numpy(result) if isinstance(x, ndarray) else result, after

    return call


class MultiHeadAttention(HybridBlock, arrays="nd"):
    """Attention of several heads between projections of queries, keys and values.

    Parameters
    ----------
    units
        Size of the queries, and of the result.
    num_heads
        Number of heads; each has units / num_heads elements.
    num_kv_heads
        Number of heads of keys and values, a divisor of num_heads: fewer are shared by groups of queries. None for num_heads.
    causal
        Whether a query sees no key that comes after it. The last query corresponds to the last key.
    rotary
        Whether queries and keys are rotated by their positions, or the base of the angles; see `RotaryPositions`.
    use_bias
        Whether the projections have biases.
    weight_initializer, bias_initializer
        Initializers; None for the model's.
    **kwargs
        ``prefix`` and ``params``, see `Block`.

    Raises
    ------
    ParameterError
        If the heads do not divide the units, or their groups the heads.

    Notes
    -----
    Vaswani et al., Attention is all you need, NeurIPS 2017; Ainslie et al., GQA, arXiv:2305.13245. The scores are computed for a block of
    queries at a time, forward and backward: memory grows with the length, not with its square.

    Examples
    --------
    >>> import twofold as mx
    >>> layer = mx.gluon.nn.MultiHeadAttention(8, 2, causal=True)
    >>> layer.initialize()
    >>> layer(mx.nd.ones((3, 5, 8))).shape
    (3, 5, 8)
    """

    def __init__(
        self,
        units: int,
        num_heads: int,
        num_kv_heads: int | None = None,
        causal: bool = False,
        rotary: bool | float = False,
        use_bias: bool = True,
        weight_initializer: InitializerLike = None,
        bias_initializer: InitializerLike = "zeros",
        **kwargs: Unpack[Naming],
    ) -> None:
        own = num_heads if num_kv_heads is None else num_kv_heads
        if num_heads < 1 or own < 1 or units % num_heads or num_heads % own:
            given = f"units {units}, num_heads {num_heads}, num_kv_heads {own}"
            raise ParameterError("MultiHeadAttention: the heads do not divide the units", given, "pass divisors")
        super().__init__(**kwargs)
        self._units, self._heads, self._own, self._causal = units, num_heads, own, causal
        # of keys and values: a head has the same depth in all three projections
        width = units // num_heads * own

        def projection(size: int, name: str) -> Dense:
            return Dense(
                size,
                flatten=False,
                use_bias=use_bias,
                weight_initializer=weight_initializer,
                bias_initializer=bias_initializer,
                prefix=f"{name}_",
            )

        with self.name_scope():
            self.query, self.key, self.value = projection(units, "query"), projection(width, "key"), projection(width, "value")
            self.out = projection(units, "out")
            self.positions = RotaryPositions(10000.0 if rotary is True else rotary, prefix="rotary_") if rotary else None

    def hybrid_forward(
        self, F: Functions, query: Operand, key: Operand | None = None, value: Operand | None = None, mask: Operand | None = None
    ) -> Operand:
        """The result (batch, queries, units).

        Parameters
        ----------
        F
            The functions.
        query, key, value
            (batch, queries, size), (batch, keys, size) and the same. Omitted: the queries for the keys, the keys for the values.
        mask
            Broadcasts to (batch, heads, queries, keys): not 0 where a query sees a key.
        """
        # what is omitted is the input to its left
        key = query if key is None else key
        value = key if value is None else value
        q, k, v = self._split(F, self.query(query), self._heads), self._split(F, self.key(key), self._own), self.value(value)
        if self.positions is not None:
            q, k = self.positions(q), self.positions(k)
        return self._joined(F, self._attention(F, q, k, self._split(F, v, self._own), mask, self._causal))

    def _attention(self, F: Functions, q: Operand, k: Operand, v: Operand, mask: Operand | None, causal: bool) -> Operand:
        if mask is None:
            return F.contrib.scaled_dot_product_attention(q, k, v, causal=causal)
        # MXNet's comparisons give numbers, whereas numbers as a mask are added to the scores
        return F.contrib.scaled_dot_product_attention(q, k, v, F.cast(mask != 0, dtype="bool"), causal=causal, use_mask=True)

    def _split(self, F: Functions, x: Operand, heads: int) -> Operand:
        """(batch, length, units) as (batch, heads, length, depth)."""
        return F.transpose(F.reshape(x, shape=(0, 0, -4, heads, -1)), axes=(0, 2, 1, 3))

    def _joined(self, F: Functions, x: Operand) -> Operand:
        return self.out(F.reshape(F.transpose(x, axes=(0, 2, 1, 3)), shape=(0, 0, -3)))

    def new_cache(self, batch: int, length: int, ctx: Device | None = None, dtype: DTypeLike | None = None) -> KeyValueCache:
        """An empty cache for `decode`.

        Parameters
        ----------
        batch
            Number of sequences.
        length
            The longest length that they may reach.
        ctx
            Where the arrays are; None for the current device.
        dtype
            Their dtype; None for that of the layer's parameters.
        """
        dtype = self.key.weight.dtype if dtype is None else dtype
        shape = (batch, self._own, length, self._units // self._heads)
        return KeyValueCache(nd.zeros(shape, ctx, dtype), nd.zeros(shape, ctx, dtype), 0)

    @decoding
    def decode(self, x: NDArray, cache: KeyValueCache) -> tuple[NDArray, KeyValueCache]:
        """The result for the next part of sequences, which sees this part up to each position, and all that came before.

        Parameters
        ----------
        x
            The next part (batch, part, size).
        cache
            What came before. Its arrays are written. With an array for `KeyValueCache.filled` one program runs all steps, in `func.scan`
            and `func.jit`.

        Returns
        -------
        tuple
            The result (batch, part, units), and the cache for the part after this one.

        Raises
        ------
        ShapeError
            If the sequences become longer than the cache.

        Examples
        --------
        >>> import twofold as mx
        >>> layer = mx.gluon.nn.MultiHeadAttention(8, 2, causal=True)
        >>> layer.initialize()
        >>> x = mx.nd.random.normal(shape=(1, 3, 8))
        >>> cache = layer.new_cache(1, 10)
        >>> for t in range(3):
        ...     y, cache = layer.decode(x[:, t:t + 1], cache)
        >>> bool(abs(y - layer(x)[:, 2:]).max() < 1e-6)
        True
        """
        places = next_places(cache, x.shape[1])
        q, k, v = run_part(self, self._heads_of, x, places)
        cache = extended(cache, k, v, places)
        return run_part(self, self._attended, q, cache.keys, cache.values, places), cache

    def _heads_of(self, F: Functions, x: Operand, places: Operand) -> tuple[Operand, Operand, Operand]:
        """Queries, keys and values of a part (batch, heads, part, depth)."""
        q, k = self._split(F, self.query(x), self._heads), self._split(F, self.key(x), self._own)
        if self.positions is not None:
            # the keys of earlier parts are in the cache as they were rotated then
            q, k = self.positions(q, places), self.positions(k, places)
        return q, k, self._split(F, self.value(x), self._own)

    def _attended(self, F: Functions, q: Operand, keys: Operand, values: Operand, places: Operand) -> Operand:
        """What a part at some places gets of a cache."""
        # all positions of the cache, so that every part of one size runs the same program
        behind = F.expand_dims(positions_like(F, keys, 2), axis=0)
        seen = F.cast(F.broadcast_lesser_equal(behind, F.expand_dims(places, axis=1)), dtype="bool")
        return self._joined(F, F.contrib.scaled_dot_product_attention(q, keys, values, seen, use_mask=True))


class RotaryPositions(Layer, arrays="nd"):
    """Rotates pairs of elements of vectors by angles that grow with their positions, so that products depend on distances.

    Parameters
    ----------
    base
        The slowest pair turns once in about 2π · base positions.
    **kwargs
        ``prefix`` and ``params``, see `Block`.

    Notes
    -----
    Su et al., RoFormer, arXiv:2104.09864. The pairs are of the two halves of a vector, as in Llama.

    Examples
    --------
    >>> import twofold as mx
    >>> layer = mx.gluon.nn.RotaryPositions()
    >>> layer(mx.nd.array([[1, 0], [1, 0]])).asnumpy().round(3)
    array([[1.   , 0.   ],
           [0.54 , 0.841]], dtype=float32)
    """

    def __init__(self, base: float = 10000.0, **kwargs: Unpack[Naming]) -> None:
        super().__init__(**kwargs)
        self._base = base

    def hybrid_forward(self, F: Functions, x: Operand, positions: Operand | None = None) -> Operand:
        """The rotated vectors (…, length, depth). ``positions`` (length,) are 0, 1, 2 … if omitted."""
        positions = positions_like(F, x, -2) if positions is None else positions
        return F.contrib.rotary_embedding(x, positions, base=self._base)


class LearnedPositions(Layer, arrays="nd"):
    """Adds a learned vector for each position.

    Parameters
    ----------
    max_length
        Number of positions.
    units
        Size of the vectors.
    weight_initializer
        Initializer of the vectors; None for the model's.
    **kwargs
        ``prefix`` and ``params``, see `Block`.

    Attributes
    ----------
    weight : Parameter
        Of shape (max_length, units).

    Examples
    --------
    >>> import twofold as mx
    >>> layer = mx.gluon.nn.LearnedPositions(10, 4)
    >>> layer.initialize(mx.init.One())
    >>> layer(mx.nd.zeros((1, 2, 4))).asnumpy().tolist()
    [[[1.0, 1.0, 1.0, 1.0], [1.0, 1.0, 1.0, 1.0]]]
    """

    def __init__(self, max_length: int, units: int, weight_initializer: InitializerLike = None, **kwargs: Unpack[Naming]) -> None:
        super().__init__(**kwargs)
        self.weight = self.params.get("weight", shape=(max_length, units), init=weight_initializer)

    def hybrid_forward(self, F: Functions, x: Operand, positions: Operand | None = None, *, weight: Operand) -> Operand:
        """X (batch, length, units) with vectors added, those of positions (length,), or the first ones."""
        positions = positions_like(F, x, 1) if positions is None else positions
        return F.broadcast_add(x, F.expand_dims(F.take(weight, positions, mode="raise"), axis=0))

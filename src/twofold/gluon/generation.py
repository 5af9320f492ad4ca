"""`generate`: continues sequences of tokens by a network with a cache of keys and values."""

from collections.abc import Sequence
from typing import Any, Protocol, TypeAlias

import numpy as np

from .. import ndarray as nd
from ..errors import ParameterError
from ..ndarray.array import NDArray

Tokens: TypeAlias = NDArray | Sequence[Sequence[int]]


class Decoder(Protocol):
    """What `generate` needs of a network."""

    def new_cache(self, batch: int, length: int) -> Any:
        """An empty cache for sequences up to a length."""
        ...

    def decode(self, tokens: NDArray, cache: Any) -> tuple[NDArray, Any]:
        """The scores (batch, part, vocabulary) after each of the next tokens (batch, part), and the cache after them."""
        ...


def generate(net: Decoder, tokens: Tokens, length: int, top_p: float = 0, temperature: float = 1, end: int | None = None) -> np.ndarray:
    """Continue sequences, one token after the other.

    Parameters
    ----------
    net
        A network with two methods: ``new_cache(batch, length)``, and ``decode(tokens, cache)``, which takes the next tokens (batch, part)
        and returns the scores (batch, part, vocabulary) of those that follow each, and the cache for the part after this one.
    tokens
        The beginnings (batch, part), all of one length.
    length
        Number of tokens to add.
    top_p
        0: the token of the highest score (greedy). Otherwise a token is drawn, among the most probable ones whose probabilities sum up to
        this share: 1 is all of them. `mx.random.seed` makes draws reproducible.
    temperature
        Divides the scores before a draw: below 1, probable tokens become more so.
    end
        A token after which a sequence only repeats it; generation ends when all sequences have it. None for no such token.

    Returns
    -------
    numpy.ndarray
        The sequences (batch, part + length), or shorter ones if all have ended, of int64.

    Raises
    ------
    ParameterError
        If ``top_p`` is outside of [0, 1], the temperature is not positive, ``length`` is negative, or the beginnings are empty.

    Notes
    -----
    Holtzman et al., The curious case of neural text degeneration, ICLR 2020.

    Examples
    --------
    >>> import twofold as mx
    >>> class Successor:
    ...     def new_cache(self, batch, length):
    ...         return None
    ...     def decode(self, tokens, cache):
    ...         return mx.nd.one_hot((tokens + 1) % 5, 5), cache
    >>> mx.gluon.generate(Successor(), [[2, 3]], 4).tolist()
    [[2, 3, 4, 0, 1, 2]]
    """
    found = np.asarray(tokens.asnumpy() if isinstance(tokens, NDArray) else tokens).astype(np.int64)
    if not (0 <= top_p <= 1 and temperature > 0 and length >= 0):
        given = f"top_p {top_p}, temperature {temperature}, length {length}"
        raise ParameterError("generate: an argument is out of range", given, "top_p is a share, temperature positive, length not negative")
    if found.ndim != 2 or not found.size:
        raise ParameterError("generate: tokens are the beginnings (batch, part)", f"shape {found.shape}", "pass one token or more of each")
    # the keys and values of all tokens fit, so that no step copies them
    cache = net.new_cache(len(found), found.shape[1] + length)
    part, ended = found, np.zeros(len(found), bool)
    for _ in range(length):
        # the first step reads the whole beginning, each later one a single token
        scores, cache = net.decode(nd.array(part, dtype="int32"), cache)
        last = scores[:, -1].astype("float32").asnumpy()
        part = (_drawn(last / temperature, top_p) if top_p else last.argmax(1))[:, None]
        if end is not None:
            # a text that has ended repeats its last token until all have
            part[ended] = end
            ended |= part[:, 0] == end
        found = np.concatenate([found, part], 1)
        if ended.all():
            break
    return found


def _drawn(scores: np.ndarray, top_p: float) -> np.ndarray:
    """A token for each row of scores."""
    order = np.argsort(-scores, axis=1, kind="stable")
    sorted_scores = np.take_along_axis(scores, order, 1).astype(np.float64)
    shares = np.exp(sorted_scores - sorted_scores[:, :1])
    shares /= shares.sum(1, keepdims=True)
    sums = shares.cumsum(1)
    # the token that reaches the share belongs to it, so that there is always one
    shares[sums - shares >= top_p] = 0
    sums = shares.cumsum(1)
    draws = nd.random.uniform(shape=(len(scores), 1)).asnumpy() * sums[:, -1:]
    places = (sums <= draws).sum(1)
    return order[np.arange(len(order)), np.minimum(places, (shares > 0).sum(1) - 1)]

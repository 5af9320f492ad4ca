"""``mx.contrib.text.vocab``: words and their indices."""

from collections import Counter
from collections.abc import Hashable, Sequence
from typing import Any

from ...errors import InvalidValue, ParameterError, WrongType

__all__ = ["UNKNOWN_INDEX", "Vocabulary"]

#: The index of the word for unknown words.
UNKNOWN_INDEX = 0


class Vocabulary:
    """Words by index, from the most frequent to the least.

    Parameters
    ----------
    counter
        The words' frequencies; no words if None.
    most_freq_count
        The largest number of words to take from ``counter``; all if None.
    min_freq
        The smallest frequency of a word to take.
    unknown_token
        The word for all others, which has index 0.
    reserved_tokens
        Words that come next, whatever their frequencies.

    Raises
    ------
    ParameterError
        If ``min_freq`` is not positive, or reserved words are duplicates or the unknown one.
    DTypeError
        If ``counter`` is not a `collections.Counter`.

    Examples
    --------
    >>> from collections import Counter
    >>> import twofold as mx
    >>> words = mx.contrib.text.vocab.Vocabulary(Counter(["b", "a", "c", "b"]), most_freq_count=2, reserved_tokens=["<pad>"])
    >>> words.idx_to_token
    ['<unk>', '<pad>', 'b', 'a']
    >>> words.to_indices(["a", "z"]), words.to_tokens(2)
    ([3, 0], 'b')
    """

    def __init__(
        self,
        counter: Counter[Any] | None = None,
        most_freq_count: int | None = None,
        min_freq: int = 1,
        unknown_token: Hashable = "<unk>",
        reserved_tokens: Sequence[Hashable] | None = None,
    ) -> None:
        if min_freq < 1:
            raise InvalidValue("`min_freq` must be set to a positive value", repr(min_freq), "pass 1 or more")
        reserved = list(reserved_tokens or ())
        if unknown_token in reserved:
            raise InvalidValue("`reserved_tokens` cannot contain `unknown_token`", repr(unknown_token), "leave it out")
        if len(set(reserved)) != len(reserved):
            raise InvalidValue("`reserved_tokens` cannot contain duplicate reserved tokens", repr(reserved), "leave them out")
        if counter is not None and not isinstance(counter, Counter):
            raise WrongType("`counter` must be an instance of collections.Counter", type(counter).__name__, "use Counter(words)")
        self._unknown_token = unknown_token
        self._reserved_tokens = reserved_tokens
        self._idx_to_token: list[Hashable] = [unknown_token, *reserved]
        self._token_to_idx: dict[Hashable, int] = {token: k for k, token in enumerate(self._idx_to_token)}
        if counter is not None:
            self._index(counter, most_freq_count, min_freq)

    def _index(self, counter: Counter[Any], most_freq_count: int | None, min_freq: int) -> None:
        """Number the words of a counter by falling frequency, and those of equal frequency in order."""
        # Python's sort is stable, so words of one frequency stay in alphabetical order, as in MXNet.
        by_frequency = sorted(sorted(counter.items(), key=lambda pair: pair[0]), key=lambda pair: pair[1], reverse=True)
        # The unknown word and the reserved ones do not count against the limit.
        limit = len(self) + (len(counter) if most_freq_count is None else most_freq_count)
        for token, frequency in by_frequency:
            if frequency < min_freq or len(self) == limit:
                break
            if token not in self._token_to_idx:
                self._add(token)

    def _add(self, token: Hashable) -> None:
        self._token_to_idx[token] = len(self._idx_to_token)
        self._idx_to_token.append(token)

    def __len__(self) -> int:
        return len(self._idx_to_token)

    @property
    def token_to_idx(self) -> dict[Hashable, int]:
        """Indices by word."""
        return self._token_to_idx

    @property
    def idx_to_token(self) -> list[Hashable]:
        """The words by index."""
        return self._idx_to_token

    @property
    def unknown_token(self) -> Hashable:
        """The word for unknown ones, of index 0."""
        return self._unknown_token

    @property
    def reserved_tokens(self) -> Sequence[Hashable] | None:
        """The reserved words as given."""
        return self._reserved_tokens

    def to_indices(self, tokens: object) -> Any:
        """Indices of words; 0 for unknown ones.

        Parameters
        ----------
        tokens
            A word or a list of words.

        Returns
        -------
        int or list
            An index for a word, a list for a list.
        """
        if isinstance(tokens, list):
            return [self._token_to_idx.get(token, UNKNOWN_INDEX) for token in tokens]
        return self._token_to_idx.get(tokens, UNKNOWN_INDEX)

    def to_tokens(self, indices: object) -> Any:
        """The words of indices.

        Parameters
        ----------
        indices
            An index or a list of indices, as Python's integers.

        Returns
        -------
        word or list
            A word for an index, a list for a list.

        Raises
        ------
        ParameterError
            If an index is out of range or not an integer.
        """
        if isinstance(indices, list):
            return [self._token(index) for index in indices]
        return self._token(indices)

    def _token(self, index: object) -> Hashable:
        if not isinstance(index, int) or index >= len(self):
            raise ParameterError("Token index in the provided `indices` is invalid", repr(index), f"use integers below {len(self)}")
        return self._idx_to_token[index]

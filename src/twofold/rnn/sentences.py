"""Sentences for language models: words as numbers, and batches of sentences of similar length."""

import bisect
import random
from collections.abc import Hashable, Iterable, Sequence

import numpy as np

from ..errors import InvalidValue, ParameterError
from ..io.iterator import DataBatch, DataDesc, DataIter
from ..ndarray.new_arrays import array
from ..origin import warn


def encode_sentences(
    sentences: Iterable[Iterable[Hashable]],
    vocab: dict[Hashable, int] | None = None,
    invalid_label: int = -1,
    invalid_key: Hashable = "\n",
    start_label: int = 0,
    unknown_token: Hashable | None = None,
) -> tuple[list[list[int]], dict[Hashable, int]]:
    r"""Replace words by numbers.

    Parameters
    ----------
    sentences
        Lists of words.
    vocab
        Numbers of words; a new dict, in which words are numbered as they appear, if None.
    invalid_label, invalid_key
        The number that means no word, and its key in a new dict.
    start_label
        The first number given.
    unknown_token
        The word that stands for words that are not in ``vocab``; it takes a new number each time.

    Returns
    -------
    tuple
        The sentences as lists of numbers, and the numbers of words.

    Raises
    ------
    ParameterError
        If a word is not in the given ``vocab`` and there is no ``unknown_token``.

    Examples
    --------
    >>> import twofold as mx
    >>> mx.rnn.encode_sentences([["a", "rose"], ["is", "a", "rose"]], invalid_label=0, start_label=1)
    ([[1, 2], [3, 1, 2]], {'\n': 0, 'a': 1, 'rose': 2, 'is': 3})
    """
    is_new = vocab is None
    numbers = {invalid_key: invalid_label} if vocab is None else vocab
    following = start_label
    encoded = []
    for sentence in sentences:
        code = []
        for given in sentence:
            word = given
            if word not in numbers:
                if not is_new and unknown_token is None:
                    raise InvalidValue(f"Unknown token {word}", f"a vocabulary of {len(numbers)} words", "pass unknown_token")
                # the number that means no word is skipped
                if following == invalid_label:
                    following += 1
                word = word if unknown_token is None else unknown_token
                numbers[word] = following
                following += 1
            code.append(numbers[word])
        encoded.append(code)
    return encoded, numbers


class BucketSentenceIter(DataIter):
    """Iterates over sentences in batches of similar length, for `BucketingModule`. The label of a word is the next word.

    Parameters
    ----------
    sentences
        Lists of numbers, as `encode_sentences` returns them.
    batch_size
        Number of sentences in a batch.
    buckets
        Lengths to pad sentences to: each goes to the smallest bucket that holds it; longer ones are dropped with a warning. All lengths of
        at least ``batch_size`` sentences if None.
    invalid_label
        The number to pad with.
    data_name, label_name
        Names of data and label.
    dtype
        Type of the arrays.
    layout
        ``"NT"`` for arrays (n, t), ``"TN"`` for (t, n).

    Raises
    ------
    ParameterError
        If the layout is another one, or no bucket has sentences.

    Notes
    -----
    `reset` draws the order of batches from Python's ``random`` and that of each bucket's sentences from ``numpy.random``. A bucket's last
    sentences that do not fill a batch are left out of the epoch.

    Examples
    --------
    >>> import twofold as mx
    >>> batches = mx.rnn.BucketSentenceIter([[1, 2, 3], [4, 5, 6, 7], [8, 9]], batch_size=1, buckets=[3, 4], invalid_label=0)
    >>> batches.default_bucket_key
    4
    >>> sorted((batch.bucket_key, batch.data[0].shape) for batch in batches)
    [(3, (1, 3)), (3, (1, 3)), (4, (1, 4))]
    """

    def __init__(
        self,
        sentences: Sequence[Sequence[int]],
        batch_size: int,
        buckets: Sequence[int] | None = None,
        invalid_label: int = -1,
        data_name: str = "data",
        label_name: str = "softmax_label",
        dtype: str | type | np.dtype = "float32",
        layout: str = "NT",
    ) -> None:
        super().__init__()
        self.major_axis = layout.find("N")
        if self.major_axis not in (0, 1):
            raise ParameterError("BucketSentenceIter: invalid layout", repr(layout), "use NT (batch major) or TN (time major)")
        # by default the lengths of which there are enough sentences for a batch
        if not buckets:
            buckets = [n for n, count in enumerate(np.bincount([len(s) for s in sentences])) if count >= batch_size]
        rows = self._padded(sentences, sorted(buckets), invalid_label, dtype)
        self.buckets = list(rows)
        self.data = list(rows.values())
        if not self.data:
            raise ParameterError("BucketSentenceIter: no bucket has sentences", f"buckets={list(buckets)}", "pass longer buckets")
        self.batch_size = batch_size
        self.data_name, self.label_name = data_name, label_name
        self.dtype, self.invalid_label, self.layout = dtype, invalid_label, layout
        self.default_bucket_key = max(self.buckets)
        self.provide_data, self.provide_label = self._described(self.default_bucket_key)
        # a batch is a bucket and a place in it; sentences that fill none are left out
        self.idx = [(k, start) for k, each in enumerate(self.data) for start in range(0, len(each) - batch_size + 1, batch_size)]
        self.curr_idx = 0
        self.reset()

    @staticmethod
    def _padded(
        sentences: Sequence[Sequence[int]], buckets: Sequence[int], invalid_label: int, dtype: str | type | np.dtype
    ) -> dict[int, np.ndarray]:
        """The sentences (n, t) of each bucket that has some, by its length t."""
        found: dict[int, list[np.ndarray]] = {length: [] for length in buckets}
        dropped = 0
        for sentence in sentences:
            k = bisect.bisect_left(buckets, len(sentence))
            if k == len(buckets):
                dropped += 1
                continue
            row = np.full((buckets[k],), invalid_label, dtype=dtype)
            row[: len(sentence)] = sentence
            found[buckets[k]].append(row)
        if dropped:
            warn(f"discarded {dropped} sentences longer than the largest bucket.")
        return {length: np.asarray(rows, dtype=dtype) for length, rows in found.items() if rows}

    def _described(self, length: int) -> tuple[list[DataDesc], list[DataDesc]]:
        """Descriptions of the data and labels of a bucket."""
        shape = (self.batch_size, length) if self.major_axis == 0 else (length, self.batch_size)
        return [DataDesc(self.data_name, shape, layout=self.layout)], [DataDesc(self.label_name, shape, layout=self.layout)]

    def reset(self) -> None:
        """Start a new epoch, in a new order."""
        self.curr_idx = 0
        random.shuffle(self.idx)
        for rows in self.data:
            np.random.shuffle(rows)  # noqa: NPY002
        self._arrange()

    def _arrange(self) -> None:
        """Make arrays of the sentences and of the next words, in this epoch's order."""
        ends = [np.full((len(rows), 1), self.invalid_label, rows.dtype) for rows in self.data]
        self.nddata = [array(rows, dtype=self.dtype) for rows in self.data]
        labels = [np.concatenate([rows[:, 1:], end], axis=1) for rows, end in zip(self.data, ends, strict=True)]
        self.ndlabel = [array(rows, dtype=self.dtype) for rows in labels]

    def next(self) -> DataBatch:
        """The next batch, with the length of its sentences as ``bucket_key``.

        Raises
        ------
        StopIteration
            At the end of the epoch.
        """
        if self.curr_idx == len(self.idx):
            raise StopIteration
        k, start = self.idx[self.curr_idx]
        self.curr_idx += 1
        data, label = (each[k][start : start + self.batch_size] for each in (self.nddata, self.ndlabel))
        if self.major_axis == 1:
            data, label = data.T, label.T
        length = self.buckets[k]
        provide_data, provide_label = self._described(length)
        return DataBatch([data], [label], 0, bucket_key=length, provide_data=provide_data, provide_label=provide_label)

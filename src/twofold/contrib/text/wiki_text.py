"""``gluon.contrib.data.text``: the WikiText datasets of language models, read from local files."""

from collections import Counter
from os import PathLike
from typing import ClassVar

import numpy as np

from ...errors import MissingFileError, UnknownKey
from ...formats.files import file_exists, join_path, read_file
from ...gluon.data.dataset import Dataset
from ...ndarray.array import NDArray
from ...ndarray.new_arrays import array
from .vocab import Vocabulary

__all__ = ["WikiText2", "WikiText103"]

END_OF_SENTENCE = "<eos>"
#: The files of the published archives, by segment.
FILES = {"train": "wiki.train.tokens", "validation": "wiki.valid.tokens", "test": "wiki.test.tokens"}


class _WikiText(Dataset):
    """Sequences of words of one file, as indices, each with the words that follow."""

    _name: ClassVar[str]

    def __init__(self, root: str | PathLike[str], segment: str, vocab: Vocabulary | None, seq_len: int) -> None:
        if segment not in FILES:
            raise UnknownKey(f"{type(self).__name__}: unknown segment", repr(segment), f"use one of {', '.join(FILES)}")
        path = join_path(root, FILES[segment])
        if not file_exists(path):
            todo = f"unpack the published archive {self._name}-v1.zip there"
            raise MissingFileError(f"{type(self).__name__}: the file of words is not there", path, todo)
        sentences = [line.split() for line in read_file(path).decode().splitlines()]
        words = [word for sentence in sentences if sentence for word in (*sentence, END_OF_SENTENCE)]
        self._counter = Counter(word for sentence in sentences for word in sentence)
        self._vocab = Vocabulary(self._counter, reserved_tokens=[END_OF_SENTENCE]) if vocab is None else vocab
        numbers = np.array(self._vocab.to_indices(words), "int32")
        count = max(len(numbers) - 1, 0) // seq_len  # the last words fill no sequence
        self._data = array(numbers[: count * seq_len].reshape(count, seq_len), dtype="int32")
        self._label = array(numbers[1 : count * seq_len + 1].reshape(count, seq_len), dtype="int32")

    @property
    def vocabulary(self) -> Vocabulary:
        """The words by index."""
        return self._vocab

    @property
    def frequencies(self) -> "Counter[str]":
        """How often each word occurs in the file."""
        return self._counter

    def __getitem__(self, idx: int) -> tuple[NDArray, NDArray]:
        """A sequence of words (seq_len,) as indices, and the words that follow each."""
        return self._data[idx], self._label[idx]

    def __len__(self) -> int:
        """The number of sequences."""
        return len(self._label)


class WikiText2(_WikiText):
    r"""The WikiText-2 dataset of two million words from Wikipedia.

    Parameters
    ----------
    root
        The folder of the files ``wiki.train.tokens``, ``wiki.valid.tokens`` and ``wiki.test.tokens``. They are not downloaded.
    segment
        ``"train"``, ``"validation"`` or ``"test"``.
    vocab
        The words by index; those of the file, by frequency, if None.
    seq_len
        The number of words of a sample.

    Raises
    ------
    MissingFileError
        If the file is not there.
    ParameterError
        If there is no such segment (a KeyError).

    Notes
    -----
    Merity, Xiong, Bradbury and Socher, Pointer sentinel mixture models, 2016.

    Examples
    --------
    >>> import tempfile, pathlib
    >>> import twofold as mx
    >>> folder = tempfile.mkdtemp()
    >>> _ = pathlib.Path(folder, "wiki.test.tokens").write_text(" a b a \n \n c a \n")
    >>> words = mx.gluon.contrib.data.text.WikiText2(folder, "test", seq_len=2)
    >>> words.vocabulary.idx_to_token
    ['<unk>', '<eos>', 'a', 'b', 'c']
    >>> [(x.asnumpy().tolist(), y.asnumpy().tolist()) for x, y in words]
    [([2, 3], [3, 2]), ([2, 1], [1, 4]), ([4, 2], [2, 1])]
    """

    _name = "wikitext-2"

    def __init__(
        self,
        root: str | PathLike[str] = "~/.mxnet/datasets/wikitext-2",
        segment: str = "train",
        vocab: Vocabulary | None = None,
        seq_len: int = 35,
    ) -> None:
        super().__init__(root, segment, vocab, seq_len)


class WikiText103(_WikiText):
    """The WikiText-103 dataset of a hundred million words from Wikipedia; parameters as for `WikiText2`."""

    _name = "wikitext-103"

    def __init__(
        self,
        root: str | PathLike[str] = "~/.mxnet/datasets/wikitext-103",
        segment: str = "train",
        vocab: Vocabulary | None = None,
        seq_len: int = 35,
    ) -> None:
        super().__init__(root, segment, vocab, seq_len)

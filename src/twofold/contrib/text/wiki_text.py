"""``gluon.contrib.data.text``: the WikiText datasets of language models, read from local files."""

from collections import Counter
from collections.abc import Mapping
from os import PathLike
from typing import Any

import numpy as np

from ...errors import MissingFileError, UnknownKey
from ...formats.files import file_exists, join_path, read_file
from ...gluon.data.vision.datasets import Folder, _DownloadedDataset
from ...gluon.data.vision.published import check_published
from ...ndarray.array import NDArray
from ...ndarray.new_arrays import array
from .tokens import count_tokens_from_str
from .vocab import Vocabulary

__all__ = ["WikiText2", "WikiText103"]

END_OF_SENTENCE = "<eos>"
#: The files of the published archives, by segment.
FILES = {"train": "wiki.train.tokens", "validation": "wiki.valid.tokens", "test": "wiki.test.tokens"}
# reconstructions and parts of them are read too: no checksums
_FILES: Mapping[str, tuple[str, str | None]] = {segment: (name, None) for segment, name in FILES.items()}


class _LanguageModelDataset(_DownloadedDataset):
    """Samples of a text, with its vocabulary. Subclasses read it in ``_get_data``.

    Parameters
    ----------
    root
        The folder of its files.
    namespace
        The dataset's name.
    vocabulary
        The words by index; None for those of the text.
    """

    def __init__(self, root: Folder, namespace: str, vocabulary: Vocabulary | None) -> None:
        self._vocab, self._namespace = vocabulary, namespace
        self._counter: Counter[str] | None = None
        super().__init__(root, None)

    @property
    def vocabulary(self) -> Any:
        """The words by index."""
        return self._vocab

    @property
    def frequencies(self) -> Counter[str] | None:
        """How often each word occurs in the file."""
        return self._counter

    def _build_vocab(self, content: str) -> None:
        """Count the words of a text, and make a vocabulary of them if none was given."""
        if not self._counter:
            self._counter = count_tokens_from_str(content)
        if not self._vocab:
            self._vocab = Vocabulary(self._counter, reserved_tokens=[END_OF_SENTENCE])


class _WikiText(_LanguageModelDataset):
    """Sequences of words of one file, as indices, each with the words that follow."""

    #: The file of each segment, and its checksum if it is to be checked.
    _data_file: Mapping[str, tuple[str, str | None]]
    _archive_file: tuple[str, str | None]
    _segment: str
    _seq_len: int

    def _take(self, segment: str, seq_len: int) -> None:
        """Set the segment, and the number of words of a sample."""
        if segment not in FILES:
            raise UnknownKey(f"{type(self).__name__}: unknown segment", repr(segment), f"use one of {', '.join(FILES)}")
        self._segment, self._seq_len = segment, seq_len

    def _read_batch(self, filename: Folder) -> tuple[np.ndarray, np.ndarray]:
        """The words of a file as indices but for the last one, and those that follow each."""
        content = read_file(filename).decode()
        self._build_vocab(content)
        sentences = [line.split() for line in content.splitlines()]
        words = [word for sentence in sentences if sentence for word in (*sentence, END_OF_SENTENCE)]
        numbers = np.array(self.vocabulary.to_indices(words), "int32")
        return numbers[:-1], numbers[1:]

    def _get_data(self) -> None:
        name, checksum = self._data_file[self._segment]
        path = join_path(self._root, name)
        if not file_exists(path):
            todo = f"unpack the published archive {self._archive_file[0]} there"
            raise MissingFileError(f"{type(self).__name__}: the file of words is not there", path, todo)
        if checksum is not None:
            check_published(type(self).__name__, path, name, read_file(path), {name: checksum})
        data, label = self._read_batch(path)
        count = len(data) // self._seq_len  # the last words fill no sequence
        self._data, self._label = (
            array(words[: count * self._seq_len].reshape(count, self._seq_len), dtype="int32") for words in (data, label)
        )

    def __getitem__(self, idx: int) -> tuple[NDArray, NDArray]:
        """A sequence of words (seq_len,) as indices, and the words that follow each."""
        return self._data[idx], self._label[idx]


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

    _archive_file = ("wikitext-2-v1.zip", None)
    _data_file = _FILES

    def __init__(
        self,
        root: str | PathLike[str] = "~/.mxnet/datasets/wikitext-2",
        segment: str = "train",
        vocab: Vocabulary | None = None,
        seq_len: int = 35,
    ) -> None:
        self._take(segment, seq_len)
        super().__init__(root, "wikitext-2", vocab)


class WikiText103(_WikiText):
    """The WikiText-103 dataset of a hundred million words from Wikipedia; parameters as for `WikiText2`."""

    _archive_file = ("wikitext-103-v1.zip", None)
    _data_file = _FILES

    def __init__(
        self,
        root: str | PathLike[str] = "~/.mxnet/datasets/wikitext-103",
        segment: str = "train",
        vocab: Vocabulary | None = None,
        seq_len: int = 35,
    ) -> None:
        self._take(segment, seq_len)
        super().__init__(root, "wikitext-103", vocab)

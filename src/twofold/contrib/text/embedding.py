"""``mx.contrib.text.embedding``: word vectors from files."""

import json
import os
from collections.abc import Callable, Iterator, Sequence
from os import PathLike, fspath
from pathlib import Path
from typing import Any, ClassVar, TextIO

import numpy as np

from ... import ndarray as nd
from ...errors import FormatError, InvalidValue, MissingFileError, ParameterError, WrongType
from ...formats.downloads import sha1_of
from ...formats.files import file_exists, join_path, open_text
from ...ndarray.array import NDArray
from ...ndarray.new_arrays import array, zeros
from ...origin import warn
from ...registry import get_create_func, get_register_func, get_registry
from .vocab import Vocabulary

__all__ = ["CompositeEmbedding", "CustomEmbedding", "FastText", "GloVe", "create", "get_pretrained_file_names", "register"]

#: Makes the vector of unknown words, given its shape.
Init = Callable[..., NDArray]
ROOT = "~/.mxnet/embeddings"
#: SHA-1 checksums by name: of GloVe's files and archives; for fastText, whose file and archive differ in suffix only, of both.
PUBLISHED = json.loads(Path(__file__).with_name("published.json").read_text(encoding="utf-8"))


class _TokenEmbedding(Vocabulary):
    """Words by index, each with a vector. Subclasses fill both from files."""

    #: SHA-1 of the published files, by file name; empty for a class that reads any file.
    pretrained_file_name_sha1: ClassVar[dict[str, str]] = {}

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self._vec_len = 0
        self._idx_to_vec: NDArray | None = None

    @property
    def vec_len(self) -> int:
        """Number of elements of a vector."""
        return self._vec_len

    @property
    def idx_to_vec(self) -> NDArray | None:
        """The vectors (words, elements) by index; None if nothing was loaded."""
        return self._idx_to_vec

    def _vectors(self) -> NDArray:
        if self._idx_to_vec is None:
            raise ParameterError(f"{type(self).__name__}: no vectors were loaded", None, "load a file in the constructor")
        return self._idx_to_vec

    def get_vecs_by_tokens(self, tokens: str | list[str], lower_case_backup: bool = False) -> NDArray:
        """The vectors of words; that of index 0 for unknown ones.

        Parameters
        ----------
        tokens
            A word or a list of words.
        lower_case_backup
            Whether to look a word up in lower case if it is not found unchanged.

        Returns
        -------
        NDArray
            A vector (elements,) for a word, (words, elements) for a list.
        """
        words = tokens if isinstance(tokens, list) else [tokens]
        if lower_case_backup:
            # An index that is not found at all becomes 0, the unknown word.
            words = [word if word in self._token_to_idx else word.lower() for word in words]
        found = nd.take(self._vectors(), array(self.to_indices(words), dtype="int32"))
        return found if isinstance(tokens, list) else found[0]

    def update_token_vectors(self, tokens: str | list[str], new_vectors: NDArray) -> None:
        """Replace the vectors of words.

        Parameters
        ----------
        tokens
            A word or a list of words, all of them known: name `unknown_token` itself to change the vector of unknown words.
        new_vectors
            The vectors (words, elements); for a single word also (elements,).

        Raises
        ------
        ParameterError
            If a word is unknown, or the vectors have another shape.
        DTypeError
            If they are not an `NDArray`.
        """
        words = tokens if isinstance(tokens, list) else [tokens]
        if not isinstance(new_vectors, NDArray):
            raise WrongType("`new_vectors` must be an NDArray", type(new_vectors).__name__, "convert it with mx.nd.array")
        if new_vectors.ndim == 1 and len(words) == 1:
            new_vectors = new_vectors.expand_dims(0)
        if new_vectors.shape != (len(words), self._vec_len):
            wanted = f"pass {(len(words), self._vec_len)}: a vector for each word"
            raise InvalidValue("update_token_vectors: wrong shape of new_vectors", str(new_vectors.shape), wanted)
        for word in words:
            if word not in self._token_to_idx:
                todo = f"name the unknown token {self._unknown_token!r} to change the vector of all unknown words"
                raise ParameterError(f"Token {word} is unknown", None, todo)
        self._vectors()[array(self.to_indices(words), dtype="int32")] = new_vectors

    def _load_embedding(
        self, pretrained_file_path: str | PathLike[str], elem_delim: str, init_unknown_vec: Init, encoding: str = "utf8"
    ) -> None:
        """Read a file, and add its words; called by the constructors of subclasses, users' own too."""
        path = pretrained_file_path
        vectors: dict[str, np.ndarray] = {}
        for line, token, vector in _rows(path, elem_delim, encoding):
            if self._vec_len and len(vector) != self._vec_len:
                raise _wrong_file(path, line, f"the vector of {token!r} has {len(vector)} elements, those before {self._vec_len}")
            self._vec_len = len(vector)
            if token in vectors:
                warn(f"At line {line} of the pre-trained token embedding file: a second vector of {token} is skipped.")
                continue
            vectors[token] = vector
            if token not in self._token_to_idx:
                self._add(token)
        if not vectors:
            raise _wrong_file(path, 1, "there are no vectors")
        table = np.empty((len(self), self._vec_len), "float32")
        # Every row: words such as the unknown one may have no vector in the file.
        table[:] = init_unknown_vec(shape=(self._vec_len,)).asnumpy()
        for token, vector in vectors.items():
            table[self._token_to_idx[token]] = vector
        self._idx_to_vec = array(table)

    def _restrict_to(self, vocabulary: Vocabulary, sources: Sequence["_TokenEmbedding"]) -> None:
        """Take the words of a vocabulary, and their vectors from the sources, side by side."""
        if not isinstance(vocabulary, Vocabulary):
            what = "The argument `vocabulary` must be an instance of Vocabulary"
            raise WrongType(what, type(vocabulary).__name__, "create a Vocabulary")
        words: list[Any] = vocabulary.idx_to_token
        # The first word is the vocabulary's unknown one. It gets the vectors of the sources' unknown words, whatever their names are, even
        # if a source has a vector for a word of that name.
        rows = [array([0, *source.to_indices(words[1:])], dtype="int32") for source in sources]
        self._idx_to_vec = nd.concat(*(nd.take(source._vectors(), row) for source, row in zip(sources, rows, strict=True)), dim=1)
        self._vec_len = self._idx_to_vec.shape[1]
        self._idx_to_token, self._token_to_idx = list(words), dict(vocabulary.token_to_idx)
        self._unknown_token, self._reserved_tokens = vocabulary.unknown_token, vocabulary.reserved_tokens

    def _build_embedding_for_vocabulary(self, vocabulary: Vocabulary | None) -> None:
        """Keep the words of a vocabulary only, if there is one."""
        if vocabulary is not None:
            self._restrict_to(vocabulary, [self])

    @classmethod
    def _get_pretrained_file(cls, embedding_root: str | PathLike[str], pretrained_file_name: str) -> str:
        """The path of a published file, which must exist already.

        Raises
        ------
        KeyError
            If there is no such file.
        MissingFileError
            If it is not in the folder.
        FormatError
            If the file is damaged.
        """
        kind, name = cls.__name__.lower(), pretrained_file_name
        if name not in cls.pretrained_file_name_sha1:
            known = ", ".join(cls.pretrained_file_name_sha1)
            raise UnknownName(f"Cannot find pretrained file {name} for token embedding {kind}", None, f"there are {known:.300}")
        path = join_path(join_path(embedding_root, kind), name)
        if not file_exists(path):
            todo = "unpack the published archive there, or read another file with CustomEmbedding"
            raise MissingFileError(f"{cls.__name__}: the file of word vectors is not there", path, todo)
        # MXNet downloads a file again if its checksum differs; nothing is downloaded here, so a damaged file is an error.
        found = sha1_of(path)
        if found != cls.pretrained_file_name_sha1[name]:
            todo = "it is damaged or another file; read it with CustomEmbedding if you trust it"
            raise FormatError(f"{cls.__name__}: the checksum is not that of the published file", found, todo, path=path)
        return path


class UnknownName(ParameterError, KeyError):
    """There is no kind of word vectors, or no published file, of this name."""


def _wrong_file(path: str | PathLike[str], line: int, what: str) -> "WrongVectors":
    return WrongVectors(f"At line {line} of the pre-trained text embedding file: {what}", None, "check the delimiter", path=fspath(path))


class WrongVectors(FormatError, AssertionError):
    """A file that does not hold word vectors."""


def _lines(file: TextIO, path: str | PathLike[str], encoding: str) -> Iterator[str]:
    line = 1
    try:
        for text in file:
            yield text
            line += 1
    except UnicodeError as error:
        raise _wrong_file(path, line, f"the text is not {encoding}: {error}") from None


def _rows(path: str | PathLike[str], delimiter: str, encoding: str) -> Iterator[tuple[int, str, np.ndarray]]:
    """Line number, word and vector of each line of a file; a first line of two numbers, as fastText writes it, is skipped."""
    with open_text(path, encoding) as file:
        for number, line in enumerate(_lines(file, path, encoding), 1):
            token, *elements = line.rstrip().split(delimiter)
            if not elements:
                raise _wrong_file(path, number, "there is no vector")
            try:
                vector = np.array(elements, "float32")
            except ValueError:
                raise _wrong_file(path, number, f"the vector of {token!r} has elements that are not numbers") from None
            if len(vector) == 1:
                warn(
                    f"At line {number} of the pre-trained text embedding file: token {token} with 1-dimensional vector {elements} "
                    "is likely a header and is skipped."
                )
                continue
            yield number, token, vector


_register = get_register_func(_TokenEmbedding, "token embedding")
_create = get_create_func(_TokenEmbedding, "token embedding")


def register(embedding_cls: type) -> type:
    """Class decorator that registers a class of word vectors for `create`."""
    return _register(embedding_cls)


def create(embedding_name: str, **kwargs: object) -> _TokenEmbedding:
    """Create word vectors of a registered kind.

    Parameters
    ----------
    embedding_name
        ``"glove"``, ``"fasttext"``, or the name of a class that was registered.
    **kwargs
        Arguments of the class, such as ``pretrained_file_name``.

    Raises
    ------
    ParameterError
        If the kind is unknown.
    """
    return _create(embedding_name, **kwargs)


def get_pretrained_file_names(embedding_name: str | None = None) -> dict[str, list[str]] | list[str]:
    """The names of published files.

    Parameters
    ----------
    embedding_name
        The kind of word vectors; all kinds if None.

    Returns
    -------
    list or dict
        The names of a kind, or a dict from each kind to its names.

    Raises
    ------
    KeyError
        If the kind is unknown.
    """
    names = {kind: list(klass.pretrained_file_name_sha1) for kind, klass in get_registry(_TokenEmbedding).items()}  # type: ignore[attr-defined]
    if embedding_name is None:
        return {kind: listed for kind, listed in names.items() if listed}
    if embedding_name not in names:
        raise UnknownName(f"Cannot find `embedding_name` {embedding_name}", None, f"there are {', '.join(names)}")
    return names[embedding_name]


@register
class GloVe(_TokenEmbedding):
    """The word vectors of Pennington, Socher and Manning, GloVe: global vectors for word representation, EMNLP 2014.

    Parameters
    ----------
    pretrained_file_name
        The published file; see `get_pretrained_file_names`.
    embedding_root
        The folder whose subfolder ``glove`` holds the file. Nothing is downloaded.
    init_unknown_vec
        Makes the vector of unknown words, given its shape, if the file has none.
    vocabulary
        The words to keep; all if None.
    **kwargs
        Other arguments of `Vocabulary`, such as ``unknown_token``.

    Raises
    ------
    KeyError
        If there is no such file.
    MissingFileError
        If it is not in the folder.
    FormatError
        If it is damaged.
    """

    pretrained_archive_name_sha1: ClassVar[dict[str, str]] = PUBLISHED["GloVe archives"]
    pretrained_file_name_sha1: ClassVar[dict[str, str]] = PUBLISHED["GloVe files"]

    def __init__(
        self,
        pretrained_file_name: str = "glove.840B.300d.txt",
        embedding_root: str | PathLike[str] = ROOT,
        init_unknown_vec: Init = zeros,
        vocabulary: Vocabulary | None = None,
        **kwargs: object,
    ) -> None:
        path = self._get_pretrained_file(embedding_root, pretrained_file_name)
        super().__init__(**kwargs)
        self._load_embedding(path, " ", init_unknown_vec, "utf8")
        self._build_embedding_for_vocabulary(vocabulary)


@register
class FastText(_TokenEmbedding):
    """The word vectors of Bojanowski et al., Enriching word vectors with subword information, TACL 2017.

    Parameters
    ----------
    pretrained_file_name, embedding_root, init_unknown_vec, vocabulary, **kwargs
        See `GloVe`; the subfolder is ``fasttext``.
    """

    pretrained_archive_name_sha1: ClassVar[dict[str, str]] = {
        f"{name}.zip": sums[1] for name, sums in PUBLISHED["fastText files and archives"].items()
    }
    pretrained_file_name_sha1: ClassVar[dict[str, str]] = {
        f"{name}.vec": sums[0] for name, sums in PUBLISHED["fastText files and archives"].items()
    }

    def __init__(
        self,
        pretrained_file_name: str = "wiki.simple.vec",
        embedding_root: str | PathLike[str] = ROOT,
        init_unknown_vec: Init = zeros,
        vocabulary: Vocabulary | None = None,
        **kwargs: object,
    ) -> None:
        path = self._get_pretrained_file(embedding_root, pretrained_file_name)
        super().__init__(**kwargs)
        self._load_embedding(path, " ", init_unknown_vec, "utf8")
        self._build_embedding_for_vocabulary(vocabulary)


class CustomEmbedding(_TokenEmbedding):
    r"""Word vectors from any file with a word and its vector in each line.

    Parameters
    ----------
    pretrained_file_path
        The file.
    elem_delim
        The separator of the word and the elements of its vector.
    encoding
        The file's encoding.
    init_unknown_vec, vocabulary, **kwargs
        See `GloVe`.

    Raises
    ------
    ParameterError
        If there is no such file.
    FormatError
        If a line has no vector, or one of another length than those before.

    Examples
    --------
    >>> import tempfile
    >>> from collections import Counter
    >>> import twofold as mx
    >>> text = mx.contrib.text
    >>> with tempfile.NamedTemporaryFile("w", suffix=".txt") as file:
    ...     _ = file.write("cat 1 2\ndog 3 4\n")
    ...     file.flush()
    ...     words = text.vocab.Vocabulary(Counter(["dog", "horse"]))
    ...     vectors = text.embedding.CustomEmbedding(file.name, vocabulary=words)
    >>> vectors.get_vecs_by_tokens(["dog", "horse"]).asnumpy().tolist()
    [[3.0, 4.0], [0.0, 0.0]]
    """

    def __init__(
        self,
        pretrained_file_path: str | PathLike[str],
        elem_delim: str = " ",
        encoding: str = "utf8",
        init_unknown_vec: Init = zeros,
        vocabulary: Vocabulary | None = None,
        **kwargs: object,
    ) -> None:
        super().__init__(**kwargs)
        path = os.path.expanduser(os.fspath(pretrained_file_path))
        if not file_exists(path):
            what = "`pretrained_file_path` must be a valid path to the pre-trained token embedding file"
            raise ParameterError(what, str(pretrained_file_path), "check it")
        self._load_embedding(path, elem_delim, init_unknown_vec, encoding)
        self._build_embedding_for_vocabulary(vocabulary)


class CompositeEmbedding(_TokenEmbedding):
    """The words of a vocabulary, with vectors of one or more embeddings side by side.

    Parameters
    ----------
    vocabulary
        The words.
    token_embeddings
        The embeddings: one or a list.

    Raises
    ------
    DTypeError
        If an argument is of another class.
    """

    def __init__(self, vocabulary: Vocabulary, token_embeddings: "_TokenEmbedding | list[_TokenEmbedding]") -> None:
        super().__init__()
        sources = token_embeddings if isinstance(token_embeddings, list) else [token_embeddings]
        for source in sources:
            if not isinstance(source, _TokenEmbedding):
                what = "The argument `token_embeddings` must be an embedding or a list of them"
                raise WrongType(what, type(source).__name__, "create embeddings with CustomEmbedding")
        self._restrict_to(vocabulary, sources)

"""Counting and numbering words, and word vectors from files."""

from __future__ import annotations

import os
import tempfile
import warnings
from collections import Counter
from pathlib import Path
from typing import Any, ClassVar

from tests.oracle_programs import fails

COUNTER = Counter(["a", "b", "b", "c", "c", "c", "some_word$"])
FILES = {
    "plain": "a 0.1 0.2 0.3\nb 1 2 3\nc 4 5 6\n",
    "headed": "3 2\na 0.1 0.2\nb 1 2\na 7 8\n<unk> 9 9\nq 5 6\n",
    "commas": "a,0.1,0.2\nb,1,2\n",
    "short": "a 0.1 0.2\nb 1 2 3\n",
    "words": "a 0.1 x\n",
    "alone": "a 0.1 0.2\nb\n",
    "empty": "",
}


def _words(vocabulary: Any) -> Any:
    v = vocabulary
    return [v.idx_to_token, sorted(v.token_to_idx.items(), key=lambda pair: pair[1]), v.unknown_token, v.reserved_tokens, len(v)]


def counted_words(mx):
    count = mx.contrib.text.utils.count_tokens_from_str
    text = " Life is great ! \n life is good . \n"
    found = [count(text), count(text, to_lower=True), count("a.b.c|d", r"\.", r"\|"), count("axbbyc", "x", "b"), count("a  b", "  ")]
    counter = Counter({"is": 3})
    same = count(text, counter_to_update=counter) is counter
    return [[sorted(c.items()) for c in [*found, counter]], same, fails(lambda: count("*a*", token_delim="*"))]


def vocabularies(mx):
    make = mx.contrib.text.vocab.Vocabulary
    return [
        _words(make(**kwargs))
        for kwargs in (
            {},
            {"counter": COUNTER},
            {"counter": COUNTER, "most_freq_count": 2},
            {"counter": COUNTER, "most_freq_count": 0},
            {"counter": COUNTER, "min_freq": 2},
            {"counter": COUNTER, "most_freq_count": 3, "unknown_token": "<u>", "reserved_tokens": ["<pad>", "b"]},
            {"counter": COUNTER, "min_freq": 2, "unknown_token": "b"},
            {"counter": Counter([1, 2, 2]), "unknown_token": 0},
            {"reserved_tokens": []},
        )
    ]


def wrong_vocabularies_are_errors(mx):
    make = mx.contrib.text.vocab.Vocabulary
    cases = [{"min_freq": 0}, {"reserved_tokens": ["<unk>"]}, {"reserved_tokens": ["a", "a"]}, {"counter": ["a"]}, {"counter": {"a": 1}}]
    return [fails(lambda kwargs=kwargs: make(**kwargs)) for kwargs in cases]


def words_and_indices(mx):
    vocabulary = mx.contrib.text.vocab.Vocabulary(COUNTER)
    found = [vocabulary.to_indices(tokens) for tokens in ("c", ["c"], [], ["c", "zz"], "zz")]
    found += [vocabulary.to_tokens(indices) for indices in (1, [1], [], [0, 3], -1)]
    return found + [fails(lambda index=index: vocabulary.to_tokens(index)) for index in (5, [100], 1.0, "1")]


def _embedding(mx: Any, name: str, *args: Any, **kwargs: Any) -> Any:
    with tempfile.TemporaryDirectory() as folder, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        path = os.path.join(folder, name)
        with open(path, "w") as file:
            file.write(FILES[name])
        return mx.contrib.text.embedding.CustomEmbedding(path, *args, **kwargs)


def embeddings_of_users(mx: Any) -> Any:
    """A class of the script's own, registered and created by name."""
    text = mx.contrib.text

    class Mine(text.embedding._TokenEmbedding):
        pretrained_file_name_sha1: ClassVar = {}  # without it MXNet lists no names of files, of any class

        def __init__(self, path: str, vocabulary: Any = None, **kwargs: Any) -> None:
            super().__init__(**kwargs)
            self._load_embedding(path, " ", init_unknown_vec=mx.nd.ones)
            self._build_embedding_for_vocabulary(vocabulary)

    text.embedding.register(Mine)
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "vectors.txt")
        with open(path, "w", encoding="utf-8") as file:
            file.write("one 1 2\ntwo 3 4\n")
        words = text.vocab.Vocabulary(Counter({"two": 2, "three": 1}))
        return [_vectors(text.embedding.create("mine", path=path, **given)) for given in ({}, {"vocabulary": words})]


def _vectors(embedding: Any) -> Any:
    return [_words(embedding), embedding.vec_len, embedding.idx_to_vec]


def vectors_from_files(mx):
    make = mx.contrib.text.vocab.Vocabulary
    return [
        _vectors(_embedding(mx, *args, **kwargs))
        for args, kwargs in (
            (("plain",), {}),
            (("headed",), {}),
            (("commas", ","), {}),
            (("plain",), {"init_unknown_vec": mx.nd.ones}),
            (("plain",), {"unknown_token": "b"}),
            (("plain",), {"vocabulary": make(COUNTER)}),
            (("headed",), {"vocabulary": make(COUNTER, reserved_tokens=["q"])}),
        )
    ]


def wrong_files_are_errors(mx):
    found = [fails(lambda name=name: _embedding(mx, name)) for name in ("short", "words", "alone", "empty")]
    return [*found, fails(lambda: mx.contrib.text.embedding.CustomEmbedding("no such file"))]


def vectors_of_words(mx):
    vectors = _embedding(mx, "plain")
    found = [vectors.get_vecs_by_tokens(tokens) for tokens in ("a", ["a"], ["A", "zz", "c"])]
    return found + [vectors.get_vecs_by_tokens(tokens, lower_case_backup=True) for tokens in (["A"], "A", "Zz")]


def updated_vectors(mx):
    vectors, found = _embedding(mx, "plain"), []
    for tokens, new in (
        (["a", "b"], [[1, 1, 1], [2, 2, 2]]),
        ("a", [3, 3, 3]),
        (["c"], [4, 3, 3]),
        ("c", [[4, 4, 3]]),
        ("<unk>", [8, 8, 8]),
    ):
        vectors.update_token_vectors(tokens, mx.nd.array(new))
        found.append(vectors.idx_to_vec.copy())
    wrong = [("zz", mx.nd.ones((3,))), (["a", "b"], mx.nd.ones((3,))), (["a"], mx.nd.ones((2, 3))), (["a"], [[1, 2, 3]])]
    return [found, [fails(lambda tokens=tokens, new=new: vectors.update_token_vectors(tokens, new)) for tokens, new in wrong]]


def vectors_side_by_side(mx):
    make = mx.contrib.text.embedding.CompositeEmbedding
    vocabulary = mx.contrib.text.vocab.Vocabulary(COUNTER)
    plain, headed = _embedding(mx, "plain"), _embedding(mx, "headed")
    both = make(vocabulary, [plain, headed])
    wrong = [fails(lambda: make(COUNTER, plain)), fails(lambda: make(vocabulary, vocabulary))]
    return [_vectors(make(vocabulary, plain)), _vectors(both), both.get_vecs_by_tokens(["a", "zz"]), wrong]


def published_files(mx):
    embedding = mx.contrib.text.embedding
    names = embedding.get_pretrained_file_names()
    tables = [
        [len(table), sorted(table.items())[:: max(1, len(table) // 4)]]
        for kind in (embedding.GloVe, embedding.FastText)
        for table in (kind.pretrained_file_name_sha1, kind.pretrained_archive_name_sha1)
    ]
    wrong = [
        fails(lambda: embedding.get_pretrained_file_names("x")),
        fails(lambda: embedding.create("glove", pretrained_file_name="x")),
        fails(lambda: embedding.create("x")),
    ]
    return [sorted(names["glove"]), sorted(names["fasttext"]), sorted(embedding.get_pretrained_file_names("glove")), tables, wrong]


def wiki_text(mx):
    text = mx.gluon.contrib.data.text
    folder = tempfile.mkdtemp()
    files = {"train": " = A b c = \n \n the cat sat on the <unk> . \n a b c the . \n", "valid": " the cat . \n b b dog the \n"}
    for name, words in files.items():
        Path(folder, f"wiki.{name}.tokens").write_text(words)
    text.check_sha1 = lambda *_: True  # MXNet downloads files of other content
    train = text.WikiText2(folder, seq_len=3)
    other = text.WikiText103(folder, "validation", vocab=train.vocabulary, seq_len=3)
    return [
        [list(each[k]) for each in (train, other) for k in range(len(each))],
        [train.vocabulary.idx_to_token, dict(train.frequencies), dict(other.frequencies), other.vocabulary is train.vocabulary],
        fails(lambda: text.WikiText2(folder, "valid")),
        fails(lambda: train[6]),
    ]

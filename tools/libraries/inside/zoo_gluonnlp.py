"""GluonNLP's models with small vocabularies, as its zoo builds them for texts."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import gluonnlp as nlp
import mxnet as mx
import numpy as np
from digests import draws
from networks import Way

WORDS, LENGTH, BATCH, SIZE = 40, 10, 3, 16
LENGTHS = np.array([LENGTH, 4, 7], "float32")
FILTERS = [[1, 4], [2, 8]]


class WithStates(mx.gluon.Block):
    """A language model that starts from zeros; its states are outputs."""

    def __init__(self, model: Any) -> None:
        super().__init__()
        self.model = model

    def forward(self, words: Any) -> Any:
        """The model's outputs and last states."""
        return self.model(words, self.model.begin_state(batch_size=BATCH, func=mx.nd.zeros))


class WithMask(mx.gluon.Block):
    """ELMo, which takes states in a structure of its own."""

    def __init__(self, model: Any) -> None:
        super().__init__()
        self.model = model

    def forward(self, words: Any, mask: Any) -> Any:
        """The representations of all layers and the last states."""
        return self.model(words, self.model.begin_state(mx.nd.zeros, batch_size=BATCH), mask)


class SelfAttention(mx.gluon.HybridBlock):
    """A cell of attention, between inputs that are all given."""

    def __init__(self, cell: Any) -> None:
        super().__init__()
        with self.name_scope():
            self.cell = cell

    def hybrid_forward(self, F: Any, query: Any, key: Any, value: Any, mask: Any) -> Any:
        """The context and the weights."""
        return self.cell(query, key, value, mask)


def words(*shape: int, name: str = "words") -> np.ndarray:
    """Numbers of words, or of characters."""
    return (abs(draws(shape, name)) * 1000 % (WORDS - 4) + 2).astype("int64").astype("float32")


def sentences() -> list[Any]:
    """Words, their kinds and how many there are."""
    return [words(BATCH, LENGTH), (words(BATCH, LENGTH, name="kinds") % 2), LENGTHS]


def vocabulary() -> Any:
    """A vocabulary of made-up words."""
    return nlp.Vocab(nlp.data.count_tokens([f"word{i}" for i in range(WORDS - 4)]))


def bert(kind: Any = nlp.model.BERTModel, encoder: dict[str, Any] | None = None, **arguments: Any) -> Any:
    """A BERT of two layers."""
    shape = {"units": SIZE, "hidden_size": 2 * SIZE, "num_layers": 2, "num_heads": 4, "max_length": LENGTH, "dropout": 0.0}
    made = nlp.model.BERTEncoder(**shape, **(encoder or {}))
    kinds = {"token_type_vocab_size": 2} if kind is nlp.model.BERTModel else {}
    return kind(made, vocab_size=WORDS, units=SIZE, embed_size=SIZE, **kinds, **arguments)


def encoder_only(**arguments: Any) -> Any:
    """A BERT without the parts of its training."""
    return bert(use_decoder=False, use_classifier=False, **arguments)


def translator(**arguments: Any) -> Any:
    """A transformer that translates."""
    encoder, decoder, step = nlp.model.transformer.get_transformer_encoder_decoder(
        num_layers=2, num_heads=4, units=SIZE, hidden_size=2 * SIZE, max_src_length=LENGTH, max_tgt_length=LENGTH
    )
    parts = {"src_vocab": vocabulary(), "tgt_vocab": vocabulary(), "encoder": encoder, "decoder": decoder, "one_step_ahead_decoder": step}
    return nlp.model.translation.NMTModel(**parts, embed_size=SIZE, prefix="transformer_", **arguments)


def language_model(kind: Any, **arguments: Any) -> tuple[Callable[[], Any], Callable[[], list[Any]]]:
    """A recurrent language model, and a text for it."""
    return lambda: WithStates(kind(vocab_size=WORDS, embed_size=SIZE, hidden_size=SIZE, num_layers=2, **arguments)), sequence


def elmo(layer: str) -> Any:
    """An ELMo of two layers."""
    return WithMask(
        nlp.model.ELMoBiLM(
            rnn_type=layer,
            output_size=SIZE,
            filters=FILTERS,
            char_embed_size=4,
            char_vocab_size=WORDS,
            num_highway=1,
            conv_layer_activation="relu",
            max_chars_per_token=6,
            input_size=SIZE,
            hidden_size=2 * SIZE,
            proj_size=SIZE,
            num_layers=2,
            cell_clip=3,
            proj_clip=3,
            skip_connection=True,
        )
    )


def attention(kind: Any, **arguments: Any) -> Any:
    """A cell of attention."""
    return SelfAttention(kind(**arguments))


def attended() -> list[Any]:
    """Queries, keys, values and a mask."""
    mask = (np.arange(LENGTH) < LENGTHS[:, None, None]).astype("float32")
    parts = [draws((BATCH, LENGTH, SIZE), part) for part in ("query", "key", "value")]
    return [*parts, np.broadcast_to(mask, (BATCH, LENGTH, LENGTH)).copy()]


def sequence() -> list[Any]:
    """Words, time first."""
    return [words(LENGTH, BATCH)]


def features() -> list[Any]:
    """Embedded words, time first."""
    return [draws((LENGTH, BATCH, SIZE), "features")]


cells, models = nlp.model.attention_cell, nlp.model
DROPS = {"dropout": 0.0, "weight_drop": 0.0, "drop_h": 0.0, "drop_i": 0.0, "drop_e": 0.0}
NETWORKS: dict[str, tuple[Callable[[], Any], Callable[[], list[Any]]]] = {
    "BERT": (encoder_only, sentences),
    "BERT, ReLU, norm's epsilon 1e-5": (functools.partial(encoder_only, encoder={"activation": "relu", "layer_norm_eps": 1e-5}), sentences),
    "BERT, all encodings and attention": (
        functools.partial(encoder_only, encoder={"output_attention": True, "output_all_encodings": True}),
        sentences,
    ),
    "BERT with its classifier": (functools.partial(bert, use_decoder=False), sentences),
    "BERT with masked words": (bert, lambda: [*sentences(), np.array([[0, 3], [1, 2], [4, 5]], "float32")]),
    "RoBERTa": (
        functools.partial(bert, models.RoBERTaModel),
        lambda: [words(BATCH, LENGTH), LENGTHS, np.array([[0], [1], [2]], "float32")],
    ),
    "DistilBERT": (functools.partial(bert, models.DistilBERTModel), lambda: [words(BATCH, LENGTH), LENGTHS]),
    "BERT classifier": (lambda: models.BERTClassifier(encoder_only(), num_classes=3, dropout=0.0), sentences),
    "transformer": (translator, lambda: [words(BATCH, LENGTH), words(BATCH, LENGTH, name="target"), LENGTHS, LENGTHS[::-1].copy()]),
    "transformer, shared and tied": (
        functools.partial(translator, share_embed=True, tie_weights=True),
        lambda: [words(BATCH, LENGTH), words(BATCH, LENGTH, name="target"), LENGTHS, LENGTHS[::-1].copy()],
    ),
    "LSTM language model": language_model(models.StandardRNN, mode="lstm", tie_weights=False, dropout=0.0),
    "LSTM language model, tied": language_model(models.StandardRNN, mode="lstm", tie_weights=True, dropout=0.0),
    "GRU language model": language_model(models.StandardRNN, mode="gru", tie_weights=False, dropout=0.0),
    "RNN language model": language_model(models.StandardRNN, mode="rnn_tanh", tie_weights=False, dropout=0.0),
    "AWD-LSTM": language_model(models.AWDRNN, mode="lstm", tie_weights=True, **DROPS),
    "AWD-GRU, weights dropped": language_model(models.AWDRNN, mode="gru", tie_weights=False, **{**DROPS, "weight_drop": 0.5}),
    "big LSTM with projections": language_model(models.BigRNN, projection_size=SIZE),
    "ELMo": (functools.partial(elmo, "lstmpc"), lambda: [words(BATCH, LENGTH, 6), np.ones((BATCH, LENGTH), "float32")]),
    "character encoder": (
        lambda: models.ConvolutionalEncoder(embed_size=SIZE, num_filters=(4, 8), ngram_filter_sizes=(1, 2), output_size=SIZE),
        features,
    ),
    "highway": (lambda: models.Highway(input_size=SIZE, num_layers=2), lambda: [draws((BATCH, SIZE), "features")]),
    "attention, dot product": (functools.partial(attention, cells.DotProductAttentionCell), attended),
    "attention, scaled and projected": (
        functools.partial(attention, cells.DotProductAttentionCell, units=SIZE, scaled=True, luong_style=False),
        attended,
    ),
    "attention, Luong": (functools.partial(attention, cells.DotProductAttentionCell, units=SIZE, luong_style=True), attended),
    "attention, normalized": (functools.partial(attention, cells.DotProductAttentionCell, units=SIZE, normalized=True), attended),
    "attention, MLP": (functools.partial(attention, cells.MLPAttentionCell, units=SIZE), attended),
    "attention, MLP, normalized": (functools.partial(attention, cells.MLPAttentionCell, units=SIZE, normalized=True), attended),
    "attention, heads": (
        lambda: attention(
            cells.MultiHeadAttentionCell,
            base_cell=cells.DotProductAttentionCell(scaled=True),
            query_units=SIZE,
            key_units=SIZE,
            value_units=SIZE,
            num_heads=4,
        ),
        attended,
    ),
}


def names() -> list[str]:
    """The networks that are tried."""
    return list(NETWORKS)


def candidates(name: str) -> list[Way]:
    """The one way."""
    return [Way(*NETWORKS[name])]

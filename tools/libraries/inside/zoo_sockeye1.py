"""Sockeye 1's models, small: symbols of the logits, as blocks."""

from __future__ import annotations

import functools
from typing import Any

import mxnet as mx
import numpy as np
from networks import Way
from sockeye import constants as C
from sockeye import utils
from sockeye.convolution import ConvolutionConfig
from sockeye.coverage import CoverageConfig
from sockeye.decoder import ConvolutionalDecoderConfig, RecurrentDecoderConfig
from sockeye.encoder import ConvolutionalEmbeddingConfig, ConvolutionalEncoderConfig, EmbeddingConfig, RecurrentEncoderConfig
from sockeye.loss import LossConfig
from sockeye.model import ModelConfig, SockeyeModel
from sockeye.rnn import RNNConfig
from sockeye.rnn_attention import AttentionConfig
from sockeye.transformer import TransformerConfig

WORDS, LENGTH, BATCH, SIZE = 40, 10, 4, 16


def recurrent(cell: str = C.LSTM_TYPE, attention: dict[str, Any] | None = None, layers: int = 2, **decoder: Any) -> tuple[Any, Any]:
    """An encoder and a decoder of recurrent cells."""
    cells = RNNConfig(cell, SIZE, layers, 0.0, 0.0, residual=layers > 2)
    settings: dict[str, Any] = {"type": C.ATT_MLP, "layer_normalization": False, **(attention or {})}
    attends = AttentionConfig(
        num_hidden=SIZE, input_previous_word=False, source_num_hidden=SIZE, query_num_hidden=SIZE, num_heads=4, **settings
    )
    return RecurrentEncoderConfig(cells), RecurrentDecoderConfig(LENGTH, cells, attends, **decoder)


def transformer(conv: Any = None, **given: Any) -> tuple[Any, Any]:
    """An encoder and a decoder of transformer layers."""
    settings: dict[str, Any] = {
        "positional_embedding_type": C.FIXED_POSITIONAL_EMBEDDING,
        "preprocess_sequence": "n",
        "postprocess_sequence": "dr",
        "act_type": C.RELU,
        **given,
    }
    sizes = {"model_size": SIZE, "attention_heads": 4, "feed_forward_num_hidden": 2 * SIZE, "num_layers": 2}
    limits = {"max_seq_len_source": LENGTH, "max_seq_len_target": LENGTH}
    dropouts = {"dropout_attention": 0.0, "dropout_act": 0.0, "dropout_prepost": 0.0}
    both = {**settings, **sizes, **limits, **dropouts}
    return TransformerConfig(**both, conv_config=conv), TransformerConfig(**both)


def convolutional(**given: Any) -> tuple[Any, Any]:
    """An encoder and a decoder of convolutions."""
    layer = ConvolutionConfig(3, SIZE, **given)
    encoder = ConvolutionalEncoderConfig(SIZE, LENGTH, layer, 2, C.LEARNED_POSITIONAL_EMBEDDING)
    return encoder, ConvolutionalDecoderConfig(layer, LENGTH, SIZE, SIZE, 2, C.LEARNED_POSITIONAL_EMBEDDING)


def segments() -> Any:
    """Segments of characters, by convolutions and highway layers."""
    return ConvolutionalEmbeddingConfig(SIZE, SIZE, 3, (4, 6, 6), 2, 2)


def recurrent_on_segments() -> tuple[Any, Any]:
    """Recurrent cells on segments of characters."""
    encoder, decoder = recurrent()
    encoder.conv_config = segments()
    return encoder, decoder


def with_coverage(kind: str) -> dict[str, Any]:
    """Attention that counts what has been attended to."""
    return {"type": C.ATT_COV, "config_coverage": CoverageConfig(kind, 1 if kind == C.COVERAGE_COUNT else 2, False)}


VARIANTS = {
    "LSTM": recurrent,
    **{cell: functools.partial(recurrent, cell) for cell in (C.LNLSTM_TYPE, C.LNGLSTM_TYPE, C.GRU_TYPE, C.LNGRU_TYPE, C.LNGGRU_TYPE)},
    **{
        f"LSTM, {kind} attention": functools.partial(recurrent, attention={"type": kind})
        for kind in (C.ATT_BILINEAR, C.ATT_DOT, C.ATT_MH_DOT, C.ATT_FIXED, C.ATT_LOC)
    },
    "LSTM, normalized attention": functools.partial(recurrent, attention={"layer_normalization": True}),
    "LSTM, coverage by a GRU": functools.partial(recurrent, attention=with_coverage(C.GRU_TYPE)),
    "LSTM, coverage by sums": functools.partial(recurrent, attention=with_coverage(C.COVERAGE_COUNT)),
    "LSTM, three residual layers": functools.partial(recurrent, layers=3),
    "LSTM, gated context, averaged states": functools.partial(
        recurrent, context_gating=True, state_init=C.RNN_DEC_INIT_AVG, layer_normalization=True
    ),
    "LSTM, attention in upper layers": functools.partial(recurrent, attention_in_upper_layers=True),
    "LSTM on segments": recurrent_on_segments,
    "transformer": transformer,
    "transformer, learned positions, norm after": functools.partial(
        transformer, positional_embedding_type=C.LEARNED_POSITIONAL_EMBEDDING, preprocess_sequence="", postprocess_sequence="drn"
    ),
    "transformer, swish": functools.partial(transformer, act_type=C.SWISH1),
    "transformer, LHUC": functools.partial(transformer, lhuc=True),
    "transformer on segments": lambda: transformer(segments()),
    "convolutions": convolutional,
    "convolutions, normalized weights": functools.partial(convolutional, weight_normalization=True),
    "convolutions, tanh": functools.partial(convolutional, act_type="tanh"),
}


def names() -> list[str]:
    """The variants."""
    return list(VARIANTS)


def build(variant: str) -> Any:
    """A block of a model's symbol, from the words of both sentences to the logits."""
    words = EmbeddingConfig(WORDS, SIZE, 0.0)
    encoder, decoder = VARIANTS[variant]()
    loss = LossConfig(C.CROSS_ENTROPY, WORDS, C.LOSS_NORM_VALID)
    model = SockeyeModel(ModelConfig(None, WORDS, WORDS, words, words, encoder, decoder, loss))
    source, target = mx.sym.Variable(C.SOURCE_NAME), mx.sym.Variable(C.TARGET_NAME)
    read = source.split(num_outputs=1, axis=2, squeeze_axis=True)
    encoded = model.encoder.encode(*model.embedding_source.encode(source, utils.compute_lengths(read), LENGTH))
    decoded = model.decoder.decode_sequence(*encoded, *model.embedding_target.encode(target, utils.compute_lengths(target), LENGTH))
    logits = model.output_layer(mx.sym.reshape(decoded[0] if isinstance(decoded, tuple) else decoded, shape=(-3, 0)))
    return mx.gluon.SymbolBlock(logits, [source, target])


def inputs() -> list[Any]:
    """Sentences, padded by 0."""
    random = np.random.RandomState(3)
    source, target = (random.randint(1, WORDS, (BATCH, LENGTH)).astype("float32") for _ in range(2))
    for sentences, lengths in ((source, (LENGTH, 5, 9, 1)), (target, (7, LENGTH, 3, 2))):
        for sentence, length in zip(sentences, lengths):
            sentence[length:] = 0
    return [source[:, :, None], target]


def candidates(name: str) -> list[Way]:
    """The one way."""
    return [Way(functools.partial(build, name), inputs)]

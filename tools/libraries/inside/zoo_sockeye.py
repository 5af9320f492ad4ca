"""Sockeye 2's models, small."""

from __future__ import annotations

import functools
from typing import Any

import numpy as np
from networks import Way
from sockeye import constants as C
from sockeye.encoder import EmbeddingConfig
from sockeye.model import ModelConfig, SockeyeModel
from sockeye.transformer import TransformerConfig

WORDS, LENGTH, BATCH, SIZE = 40, 12, 4, 32
VARIANTS: dict[str, dict[str, Any]] = {
    "transformer": {},
    "transformer with gated units": {"use_glu": True},
    "transformer with LHUC": {"use_lhuc": True},
    "transformer, learned positions, norm after": {
        "positional_embedding_type": C.LEARNED_POSITIONAL_EMBEDDING,
        "preprocess_sequence": "",
        "postprocess_sequence": "drn",
    },
    "transformer with an SSRU decoder": {"decoder_type": C.SSRU_TRANSFORMER},
    "transformer, swish": {"act_type": C.SWISH1},
    "transformer, GELU, no tied weights": {"act_type": C.GELU},
}


def names() -> list[str]:
    """The variants."""
    return list(VARIANTS)


def build(variant: dict[str, Any]) -> Any:
    """A model of two layers."""
    layers = {
        "model_size": SIZE,
        "attention_heads": 4,
        "feed_forward_num_hidden": 2 * SIZE,
        "act_type": C.RELU,
        "num_layers": 2,
        "dropout_attention": 0.0,
        "dropout_act": 0.0,
        "dropout_prepost": 0.0,
        "positional_embedding_type": C.FIXED_POSITIONAL_EMBEDDING,
        "preprocess_sequence": "n",
        "postprocess_sequence": "dr",
        "max_seq_len_source": LENGTH,
        "max_seq_len_target": LENGTH,
        **variant,
    }
    words = EmbeddingConfig(vocab_size=WORDS, num_embed=SIZE, dropout=0.0)
    config = ModelConfig(
        config_data=None,
        vocab_source_size=WORDS,
        vocab_target_size=WORDS,
        config_embed_source=words,
        config_embed_target=words,
        config_encoder=TransformerConfig(**layers),
        config_decoder=TransformerConfig(**layers),
        weight_tying_type=C.WEIGHT_TYING_NONE if layers["act_type"] == C.GELU else C.WEIGHT_TYING_SRC_TRG_SOFTMAX,
        lhuc=bool(variant.get("use_lhuc")),
    )
    return SockeyeModel(config)


def inputs() -> list[Any]:
    """Sentences and their lengths."""
    random = np.random.RandomState(3)
    words = [random.randint(1, WORDS, (BATCH, LENGTH, 1)).astype("float32") for _ in range(2)]
    lengths = [np.array([LENGTH, 5, 9, 1], "float32"), np.array([7, LENGTH, 3, 2], "float32")]
    return [words[0], lengths[0], words[1], lengths[1]]


def candidates(name: str) -> list[Way]:
    """The one way."""
    return [Way(functools.partial(build, VARIANTS[name]), inputs)]

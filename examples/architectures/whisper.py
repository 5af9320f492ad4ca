"""The encoder of Whisper: spectrograms of speech as vectors of instants.

Radford et al., Robust speech recognition via large-scale weak supervision, ICML 2023. `RULES` are for the weights that transformers
publishes. Its keys have no biases; ours may have any, since what a bias adds to the scores of a query is the same for all keys. So load
with ``allow_missing=True`` after ``initialize()``.
"""

from twofold import nd
from twofold.gluon import HybridBlock, nn

RULES = [
    (r"^model\.encoder\.", ""),
    (r"^(model\.decoder|proj_out)\.", None),
    (r"^embed_positions\.", "positions."),
    (r"^layer_norm\.", "norm."),
    (r"self_attn\.", "attention."),
    (r"\bq_proj", "query"),
    (r"\bk_proj", "key"),
    (r"\bv_proj", "value"),
    (r"\bout_proj", "out"),
    (r"\bfc1", "ffn.first"),
    (r"\bfc2", "ffn.second"),
    (r"self_attn_layer_norm|attention_layer_norm", "norm1"),
    (r"final_layer_norm", "norm2"),
    (r"(norm\d?)\.weight$", r"\1.gamma"),
    (r"(norm\d?)\.bias$", r"\1.beta"),
]


class WhisperEncoder(HybridBlock):
    """Vectors (batch, length, units) of spectrograms (batch, bands, 2 · length)."""

    def __init__(self, length=1500, units=384, hidden_size=1536, layers=4, heads=6, dropout=0.0, **kwargs):
        super().__init__(**kwargs)
        with self.name_scope():
            self.conv1 = nn.Conv1D(units, 3, padding=1)
            self.conv2 = nn.Conv1D(units, 3, strides=2, padding=1)
            self.act = nn.GELU()
            self.positions = nn.LearnedPositions(length, units)
            self.layers = nn.HybridSequential()
            for _ in range(layers):
                self.layers.add(nn.TransformerEncoderLayer(units, heads, hidden_size, dropout=dropout, activation="gelu", pre_norm=True))
            self.norm = nn.LayerNorm()

    def hybrid_forward(self, F, spectrograms):
        """Two convolutions, of which the second one halves the length, then the layers."""
        x = self.act(self.conv2(self.act(self.conv1(spectrograms))))
        return self.norm(self.layers(self.positions(F.transpose(x, axes=(0, 2, 1)))))


if __name__ == "__main__":
    net = WhisperEncoder(length=20, units=32, hidden_size=64, layers=2, heads=4)
    net.initialize()
    print(net(nd.ones((2, 8, 40))).shape)

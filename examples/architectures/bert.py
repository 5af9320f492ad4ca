"""BERT: an encoder of pairs of sentences.

Devlin et al., BERT, NAACL 2019. `RULES` are for the weights that transformers publishes of ``BertModel``.
"""

from twofold import nd
from twofold.gluon import HybridBlock, nn

RULES = [
    (r"^bert\.", ""),
    (r"^cls\.|position_ids$", None),  # the heads of pretraining, and a constant of older files
    (r"^embeddings\.word_embeddings\.", "tokens."),
    (r"^embeddings\.position_embeddings\.", "positions."),
    (r"^embeddings\.token_type_embeddings\.", "kinds."),
    (r"^embeddings\.LayerNorm\.", "norm."),
    (r"^encoder\.layer\.", "layers."),
    (r"attention\.self\.", "attention."),
    (r"attention\.output\.dense", "attention.out"),
    (r"attention\.output\.LayerNorm", "norm1"),
    (r"intermediate\.dense", "ffn.first"),
    (r"output\.dense", "ffn.second"),
    (r"output\.LayerNorm", "norm2"),
    (r"pooler\.dense", "pooler"),
    (r"(norm\d?)\.(weight|gamma)$", r"\1.gamma"),
    (r"(norm\d?)\.(bias|beta)$", r"\1.beta"),
]


class BERT(HybridBlock):
    """Vectors of tokens (batch, length, units), and one of each pair of sentences (batch, units)."""

    def __init__(self, vocabulary=30522, length=512, units=768, hidden_size=3072, layers=12, heads=12, dropout=0.1, **kwargs):
        super().__init__(**kwargs)
        with self.name_scope():
            self.tokens = nn.Embedding(vocabulary, units)
            self.positions = nn.LearnedPositions(length, units)
            self.kinds = nn.Embedding(2, units)
            self.norm = nn.LayerNorm(epsilon=1e-12)
            self.dropout = nn.Dropout(dropout)
            self.layers = nn.HybridSequential()
            for _ in range(layers):
                layer = nn.TransformerEncoderLayer(units, heads, hidden_size, dropout=dropout, activation="gelu", epsilon=1e-12)
                self.layers.add(layer)
            self.pooler = nn.Dense(units, activation="tanh", flatten=False)

    def hybrid_forward(self, F, tokens, kinds, mask):
        """Tokens, the sentence of each (0 or 1), and 1 for those that are there (0: padding), all (batch, length)."""
        x = self.dropout(self.norm(self.positions(self.tokens(tokens)) + self.kinds(kinds)))
        seen = F.expand_dims(F.expand_dims(mask, axis=1), axis=1)
        for layer in self.layers:
            x = layer(x, seen)
        return x, self.pooler(F.squeeze(F.slice_axis(x, axis=1, begin=0, end=1), axis=1))


if __name__ == "__main__":
    net = BERT(vocabulary=100, length=16, units=32, hidden_size=64, layers=2, heads=4)
    net.initialize()
    words = nd.array([[1, 5, 7, 2, 9, 2]])
    print([x.shape for x in net(words, nd.array([[0, 0, 0, 0, 1, 1]]), nd.ones_like(words))])

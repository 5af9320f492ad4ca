"""GPT-2: a decoder with learned positions, whose output layer has the weights of its input.

Radford et al., Language models are unsupervised multitask learners, 2019. `RULES` are for the weights that transformers publishes:
``mx.gluon.load_weights(GPT2(), "model.safetensors", RULES)``.
"""

import twofold as mx
from twofold import nd
from twofold.gluon import HybridBlock, WeightRule, nn

RULES = [
    (r"\.attn\.(masked_)?bias$", None),  # constants of older files
    (r"^(transformer\.)?h\.", "layers."),
    (r"^transformer\.", ""),
    (r"^(wte|lm_head)\.weight$", "tokens.weight"),
    (r"^wpe\.", "positions."),
    (r"\bln_(\d)\.", r"norm\1."),
    (r"^ln_f\.", "norm."),
    (r"(norm\d?)\.weight$", r"\1.gamma"),
    (r"(norm\d?)\.bias$", r"\1.beta"),
    # these layers keep their weights as (inputs, outputs)
    WeightRule(r"attn\.c_attn(?=\.weight)", ("attention.query", "attention.key", "attention.value"), transpose=True),
    (r"attn\.c_attn", ("attention.query", "attention.key", "attention.value")),
    WeightRule(r"attn\.c_proj(?=\.weight)", "attention.out", transpose=True),
    (r"attn\.c_proj", "attention.out"),
    WeightRule(r"mlp\.c_fc(?=\.weight)", "ffn.first", transpose=True),
    (r"mlp\.c_fc", "ffn.first"),
    WeightRule(r"mlp\.c_proj(?=\.weight)", "ffn.second", transpose=True),
    (r"mlp\.c_proj", "ffn.second"),
]


class GPT2(HybridBlock):
    """Scores (batch, length, vocabulary) of the token after each of some (batch, length). The defaults are those of the smallest model."""

    def __init__(self, vocabulary=50257, length=1024, units=768, layers=12, heads=12, dropout=0.1, **kwargs):
        super().__init__(**kwargs)
        self._units = units
        with self.name_scope():
            self.tokens = nn.Embedding(vocabulary, units)
            self.positions = nn.LearnedPositions(length, units)
            self.layers = nn.HybridSequential()
            for _ in range(layers):
                layer = nn.TransformerEncoderLayer(
                    units, heads, 4 * units, causal=True, dropout=dropout, activation="gelu_tanh", pre_norm=True
                )
                self.layers.add(layer)
            self.norm = nn.LayerNorm()
            self.scores = nn.Dense(vocabulary, flatten=False, use_bias=False, in_units=units, params=self.tokens.params)

    def hybrid_forward(self, F, tokens):
        """All positions at once, as in training."""
        return self.scores(self.norm(self.layers(self.positions(self.tokens(tokens)))))

    def new_cache(self, batch, length):
        """Caches of the layers, for `twofold.gluon.generate`."""
        return [layer.attention.new_cache(batch, length) for layer in self.layers]

    def decode(self, tokens, caches):
        """The scores after the next tokens, and the caches for those that follow."""
        start = caches[0].filled
        x = self.positions(self.tokens(tokens), nd.arange(start, start + tokens.shape[1]))
        for k, layer in enumerate(self.layers):
            x, caches[k] = layer.decode(x, caches[k])
        return self.scores(self.norm(x)), caches


if __name__ == "__main__":
    mx.random.seed(0)
    net = GPT2(vocabulary=100, length=32, units=32, layers=2, heads=4)
    net.initialize(mx.init.Normal(0.02))
    print(mx.gluon.generate(net, [[1, 2, 3]], 8, top_p=0.9).tolist())

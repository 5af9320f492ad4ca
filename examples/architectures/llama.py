"""A decoder like Llama's: rotary positions, groups of queries that share keys, gated feed-forward networks, and no biases.

Touvron et al., Llama 2, arXiv:2307.09288. `RULES` are for the weights that transformers publishes.
"""

import twofold as mx
from twofold.gluon import HybridBlock, nn

RULES = [
    (r"\.rotary_emb\.inv_freq$", None),  # a constant of older files
    (r"^model\.", ""),
    (r"^embed_tokens\.", "tokens."),
    (r"^lm_head\.", "scores."),
    (r"self_attn\.", "attention."),
    (r"\bq_proj", "query"),
    (r"\bk_proj", "key"),
    (r"\bv_proj", "value"),
    (r"\bo_proj", "out"),
    (r"mlp\.(\w+)_proj", r"ffn.\1"),
    (r"input_layernorm\.weight$", "norm1.gamma"),
    (r"post_attention_layernorm\.weight$", "norm2.gamma"),
    (r"^norm\.weight$", "norm.gamma"),
]


class Layer(HybridBlock):
    """Attention and a gated network, each with a residual connection, of normalized inputs."""

    def __init__(self, units, hidden_size, heads, kv_heads, base, epsilon, **kwargs):
        super().__init__(**kwargs)
        with self.name_scope():
            self.norm1 = nn.RMSNorm(epsilon=epsilon)
            self.attention = nn.MultiHeadAttention(units, heads, kv_heads, causal=True, rotary=base, use_bias=False)
            self.norm2 = nn.RMSNorm(epsilon=epsilon)
            self.ffn = nn.SwiGLU(hidden_size, units)

    def hybrid_forward(self, F, x):
        """The vectors after the layer (batch, length, units)."""
        x = x + self.attention(self.norm1(x))
        return x + self.ffn(self.norm2(x))

    def decode(self, x, cache):
        """The same for the next part of sequences."""
        found, cache = self.attention.decode(self.norm1(x), cache)
        x = x + found
        return x + self.ffn(self.norm2(x)), cache


class Llama(HybridBlock):
    """Scores (batch, length, vocabulary) of the token after each of some (batch, length)."""

    def __init__(
        self, vocabulary=32000, units=4096, hidden_size=11008, layers=32, heads=32, kv_heads=None, base=10000.0, epsilon=1e-6, **kwargs
    ):
        super().__init__(**kwargs)
        with self.name_scope():
            self.tokens = nn.Embedding(vocabulary, units)
            self.layers = nn.HybridSequential()
            for _ in range(layers):
                self.layers.add(Layer(units, hidden_size, heads, kv_heads, base, epsilon))
            self.norm = nn.RMSNorm(epsilon=epsilon)
            self.scores = nn.Dense(vocabulary, flatten=False, use_bias=False)

    def hybrid_forward(self, F, tokens):
        """All positions at once, as in training."""
        return self.scores(self.norm(self.layers(self.tokens(tokens))))

    def new_cache(self, batch, length):
        """Caches of the layers, for `twofold.gluon.generate`."""
        return [layer.attention.new_cache(batch, length) for layer in self.layers]

    def decode(self, tokens, caches):
        """The scores after the next tokens, and the caches for those that follow."""
        x = self.tokens(tokens)
        for k, layer in enumerate(self.layers):
            x, caches[k] = layer.decode(x, caches[k])
        return self.scores(self.norm(x)), caches


if __name__ == "__main__":
    mx.random.seed(0)
    net = Llama(vocabulary=100, units=32, hidden_size=48, layers=2, heads=4, kv_heads=2)
    net.initialize(mx.init.Normal(0.02))
    print(mx.gluon.generate(net, [[1, 2, 3]], 8, top_p=0.9).tolist())

"""The vision transformer: an encoder of the patches of an image.

Dosovitskiy et al., An image is worth 16x16 words, ICLR 2021. `RULES` are for the weights that transformers publishes.
"""

from twofold import nd
from twofold.gluon import HybridBlock, nn

RULES = [
    (r"^vit\.(encoder\.layer|layers)\.", "layers."),
    (r"^vit\.layernorm\.", "norm."),
    (r"^vit\.embeddings\.patch_embeddings\.projection\.", "patches."),
    (r"^vit\.embeddings\.cls_token$", "token"),
    (r"^vit\.embeddings\.position_embeddings$", "places"),
    (r"^classifier\.", "scores."),
    (r"attention\.attention\.", "attention."),
    (r"\bq_proj", "query"),
    (r"\bk_proj", "key"),
    (r"\bv_proj", "value"),
    (r"attention\.(output\.dense|o_proj)", "attention.out"),
    (r"intermediate\.dense|mlp\.fc1", "ffn.first"),
    (r"output\.dense|mlp\.fc2", "ffn.second"),
    (r"layernorm_before", "norm1"),
    (r"layernorm_after", "norm2"),
    (r"(norm\d?)\.weight$", r"\1.gamma"),
    (r"(norm\d?)\.bias$", r"\1.beta"),
]


class ViT(HybridBlock):
    """Scores (batch, classes) of images (batch, 3, size, size)."""

    def __init__(self, classes=1000, size=224, patch=16, units=768, hidden_size=3072, layers=12, heads=12, dropout=0.0, **kwargs):
        super().__init__(**kwargs)
        with self.name_scope():
            self.patches = nn.Conv2D(units, patch, strides=patch)
            self.token = self.params.get("token", shape=(1, 1, units), init="zeros")
            self.places = self.params.get("places", shape=(1, 1 + (size // patch) ** 2, units))
            self.layers = nn.HybridSequential()
            for _ in range(layers):
                layer = nn.TransformerEncoderLayer(
                    units, heads, hidden_size, dropout=dropout, activation="gelu", pre_norm=True, epsilon=1e-12
                )
                self.layers.add(layer)
            self.norm = nn.LayerNorm(epsilon=1e-12)
            self.scores = nn.Dense(classes)

    def hybrid_forward(self, F, images, token, places):
        """A token whose vector stands for the whole image goes before the patches."""
        x = F.transpose(F.reshape(self.patches(images), shape=(0, 0, -1)), axes=(0, 2, 1))
        first = F.broadcast_like(token, F.slice_axis(x, axis=1, begin=0, end=1), lhs_axes=(0,), rhs_axes=(0,))
        x = self.layers(F.broadcast_add(F.concat(first, x, dim=1), places))
        return self.scores(self.norm(F.slice_axis(x, axis=1, begin=0, end=1)))


if __name__ == "__main__":
    net = ViT(classes=10, size=32, patch=8, units=32, hidden_size=64, layers=2, heads=4)
    net.initialize()
    print(net(nd.ones((2, 3, 32, 32))).shape)

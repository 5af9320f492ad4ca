"""ConvNeXt: a convolutional network built as vision transformers are.

Liu et al., A ConvNet for the 2020s, CVPR 2022. `RULES` are for the weights that transformers publishes.
"""

from twofold import nd
from twofold.gluon import HybridBlock, nn

RULES = [
    (r"^convnext\.embeddings\.patch_embeddings\.", "stem.0."),
    (r"^convnext\.embeddings\.layernorm\.", "stem.1.norm."),
    (r"^convnext\.encoder\.", ""),
    (r"^convnext\.layernorm\.", "norm."),
    (r"^classifier\.", "scores."),
    (r"downsampling_layer\.0\.", "down.0.norm."),
    (r"downsampling_layer\.1\.", "down.1."),
    (r"\blayernorm\.", "norm."),
    (r"layer_scale_parameter", "scale"),
    (r"norm\.weight$", "norm.gamma"),
    (r"norm\.bias$", "norm.beta"),
]


class ChannelNorm(HybridBlock):
    """Normalizes the channels of each pixel of (batch, channels, height, width)."""

    def __init__(self, **kwargs):
        super().__init__(**kwargs)
        with self.name_scope():
            self.norm = nn.LayerNorm(axis=1, epsilon=1e-6)

    def hybrid_forward(self, F, x):
        """The normalized channels."""
        return self.norm(x)


class Layer(HybridBlock):
    """A depthwise convolution and a network of each pixel's channels, with a residual connection."""

    def __init__(self, channels, drop_path, **kwargs):
        super().__init__(**kwargs)
        with self.name_scope():
            self.dwconv = nn.Conv2D(channels, 7, padding=3, groups=channels, in_channels=channels)
            self.norm = nn.LayerNorm(epsilon=1e-6)
            self.pwconv1 = nn.Dense(4 * channels, flatten=False)
            self.act = nn.GELU()
            self.pwconv2 = nn.Dense(channels, flatten=False)
            self.drop_path = nn.DropPath(drop_path)
            self.scale = self.params.get("scale", shape=(channels,), init="ones")

    def hybrid_forward(self, F, x, scale):
        """The channels after the layer."""
        y = self.norm(F.transpose(self.dwconv(x), axes=(0, 2, 3, 1)))
        y = F.broadcast_mul(self.pwconv2(self.act(self.pwconv1(y))), scale)
        return x + self.drop_path(F.transpose(y, axes=(0, 3, 1, 2)))


class Stage(HybridBlock):
    """Layers, after half of the pixels on each axis but in the first stage."""

    def __init__(self, channels, layers, is_first, drop_path, **kwargs):
        super().__init__(**kwargs)
        with self.name_scope():
            self.down = nn.HybridSequential()
            if not is_first:
                self.down.add(ChannelNorm(), nn.Conv2D(channels, 2, strides=2))
            self.layers = nn.HybridSequential()
            self.layers.add(*[Layer(channels, drop_path) for _ in range(layers)])

    def hybrid_forward(self, F, x):
        """The channels after the stage."""
        return self.layers(self.down(x))


class ConvNeXt(HybridBlock):
    """Scores (batch, classes) of images (batch, 3, height, width). The defaults are those of the smallest model."""

    def __init__(self, classes=1000, channels=(96, 192, 384, 768), layers=(3, 3, 9, 3), drop_path=0.0, **kwargs):
        super().__init__(**kwargs)
        with self.name_scope():
            self.stem = nn.HybridSequential()
            self.stem.add(nn.Conv2D(channels[0], 4, strides=4), ChannelNorm())
            self.stages = nn.HybridSequential()
            for k, (own, count) in enumerate(zip(channels, layers, strict=True)):
                self.stages.add(Stage(own, count, k == 0, drop_path))
            self.norm = nn.LayerNorm(epsilon=1e-12)
            self.scores = nn.Dense(classes)

    def hybrid_forward(self, F, images):
        """The mean over the pixels is classified."""
        return self.scores(self.norm(F.mean(self.stages(self.stem(images)), axis=(2, 3))))


if __name__ == "__main__":
    net = ConvNeXt(classes=10, channels=(8, 16), layers=(1, 2))
    net.initialize()
    print(net(nd.ones((2, 3, 32, 32))).shape)

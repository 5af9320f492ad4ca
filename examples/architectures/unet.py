"""The U-Net of diffusion: the noise in an image, given how noisy it is.

Ho, Jain and Abbeel, Denoising diffusion probabilistic models, NeurIPS 2020. Blocks and names are those of diffusers' ``UNet2DModel``, so
that `RULES` for its weights are few. ``attention`` says which levels attend to their pixels.
"""

from math import log

from twofold import nd
from twofold.gluon import HybridBlock, nn

RULES = [
    (r"to_out\.0\.", "attention.out."),
    (r"\bto_q\.", "attention.query."),
    (r"\bto_k\.", "attention.key."),
    (r"\bto_v\.", "attention.value."),
    (r"((norm\w*)|group_norm)\.weight$", r"\1.gamma"),
    (r"((norm\w*)|group_norm)\.bias$", r"\1.beta"),
    (r"conv_norm_out\.weight$", "conv_norm_out.gamma"),
    (r"conv_norm_out\.bias$", "conv_norm_out.beta"),
    (r"(down|up)samplers\.0\.conv\.", "resampler."),
]


class GroupNorm(HybridBlock):
    """Normalizes groups of channels; each channel has its own scale and shift, where `nn.GroupNorm` has those of groups, as MXNet does."""

    def __init__(self, channels, groups, **kwargs):
        super().__init__(**kwargs)
        self._groups = groups
        with self.name_scope():
            self.gamma = self.params.get("gamma", shape=(channels,), init="ones")
            self.beta = self.params.get("beta", shape=(channels,), init="zeros")

    def hybrid_forward(self, F, x, gamma, beta):
        """The normalized channels."""
        gamma, beta = (F.reshape(p, shape=(1, -1, 1, 1)) for p in (gamma, beta))
        y = F.reshape(x, shape=(0, self._groups, -1))
        y = F.broadcast_sub(y, F.mean(y, axis=2, keepdims=True))
        y = F.broadcast_div(y, F.sqrt(F.mean(y * y, axis=2, keepdims=True) + 1e-5))
        return F.broadcast_add(F.broadcast_mul(F.reshape_like(y, x), gamma), beta)


class Resnet(HybridBlock):
    """Two convolutions with a residual connection; the time is added between them."""

    def __init__(self, inputs, channels, groups, **kwargs):
        super().__init__(**kwargs)
        with self.name_scope():
            self.norm1, self.norm2 = GroupNorm(inputs, groups), GroupNorm(channels, groups)
            self.conv1, self.conv2 = nn.Conv2D(channels, 3, padding=1), nn.Conv2D(channels, 3, padding=1)
            self.time_emb_proj = nn.Dense(channels)
            self.act = nn.SiLU()
            self.conv_shortcut = nn.Conv2D(channels, 1) if inputs != channels else None

    def hybrid_forward(self, F, x, time):
        """The channels (batch, channels, height, width) for the times (batch, size)."""
        shift = F.expand_dims(F.expand_dims(self.time_emb_proj(self.act(time)), axis=2), axis=3)
        y = F.broadcast_add(self.conv1(self.act(self.norm1(x))), shift)
        y = self.conv2(self.act(self.norm2(y)))
        return y + (x if self.conv_shortcut is None else self.conv_shortcut(x))


class PixelAttention(HybridBlock):
    """Attention of pixels to one another, with a residual connection."""

    def __init__(self, channels, depth, groups, **kwargs):
        super().__init__(**kwargs)
        with self.name_scope():
            self.group_norm = GroupNorm(channels, groups)
            self.attention = nn.MultiHeadAttention(channels, channels // depth)

    def hybrid_forward(self, F, x):
        """The channels after attention."""
        y = F.transpose(F.reshape(self.group_norm(x), shape=(0, 0, -1)), axes=(0, 2, 1))
        return x + F.reshape_like(F.transpose(self.attention(y), axes=(0, 2, 1)), x)


class Level(HybridBlock):
    """Blocks of one size of image. Going up, each one also gets what the block of that size has given on the way down."""

    def __init__(self, inputs, channels, attends, resampler, depth, groups, **kwargs):
        super().__init__(**kwargs)
        with self.name_scope():
            self.resnets, self.attentions = nn.HybridSequential(), nn.HybridSequential()
            self.resnets.add(*[Resnet(size, channels, groups) for size in inputs])
            if attends:
                self.attentions.add(*[PixelAttention(channels, depth, groups) for _ in range(attends)])
            self.resampler = resampler

    def block(self, k, x, time):
        """The channels after one block."""
        x = self.resnets[k](x, time)
        return self.attentions[k](x) if k < len(self.attentions) else x


class UNet(HybridBlock):
    """The noise (batch, channels, height, width) in images, for the steps (batch,) of diffusion that they have gone through."""

    def __init__(
        self, channels=(224, 448, 672, 896), blocks=2, attention=(False, True, True, True), outputs=3, depth=8, groups=32, **kwargs
    ):
        super().__init__(**kwargs)
        self._width = channels[0]
        options = {"depth": depth, "groups": groups}
        last = len(channels) - 1
        with self.name_scope():
            self.conv_in = nn.Conv2D(channels[0], 3, padding=1)
            self.time_embedding = TimeEmbedding(4 * channels[0])
            self.down_blocks, self.up_blocks = nn.HybridSequential(), nn.HybridSequential()
            for k, own in enumerate(channels):
                inputs = [channels[max(k - 1, 0)], *[own] * (blocks - 1)]
                half = nn.Conv2D(own, 3, strides=2, padding=1) if k < last else None
                self.down_blocks.add(Level(inputs, own, attention[k] and blocks, half, **options))
            self.mid_block = Level([channels[-1]] * 2, channels[-1], 1, None, **options)
            for k, own in reversed(list(enumerate(channels))):
                same = nn.Conv2D(own, 3, padding=1) if k else None
                # what came before, and what the way down gives: the last block gets that of the level above
                before, given = [channels[min(k + 1, last)], *[own] * blocks], [*[own] * blocks, channels[max(k - 1, 0)]]
                inputs = [a + b for a, b in zip(before, given, strict=True)]
                self.up_blocks.add(Level(inputs, own, attention[k] and blocks + 1, same, **options))
            self.conv_norm_out = GroupNorm(channels[0], groups)
            self.act = nn.SiLU()
            self.conv_out = nn.Conv2D(outputs, 3, padding=1)

    def hybrid_forward(self, F, x, steps):
        """Down to the smallest size, and up again, with what was on the way."""
        time = self.time_embedding(_waves(F, steps, self._width))
        x = self.conv_in(x)
        seen = [x]
        for level in self.down_blocks:
            for k in range(len(level.resnets)):
                x = level.block(k, x, time)
                seen.append(x)
            if level.resampler is not None:
                x = level.resampler(x)
                seen.append(x)
        x = self.mid_block.resnets[1](self.mid_block.block(0, x, time), time)
        for level in self.up_blocks:
            for k in range(len(level.resnets)):
                x = level.block(k, F.concat(x, seen.pop(), dim=1), time)
            if level.resampler is not None:
                x = level.resampler(F.UpSampling(x, scale=2, sample_type="nearest"))
        return self.conv_out(self.act(self.conv_norm_out(x)))


class TimeEmbedding(HybridBlock):
    """A network of the waves of a time."""

    def __init__(self, units, **kwargs):
        super().__init__(**kwargs)
        with self.name_scope():
            self.linear_1, self.act, self.linear_2 = nn.Dense(units), nn.SiLU(), nn.Dense(units)

    def hybrid_forward(self, F, x):
        """The vectors (batch, units)."""
        return self.linear_2(self.act(self.linear_1(x)))


def _waves(F, steps, width):
    """Cosines and sines of the steps (batch,), at width / 2 frequencies from 1 to about 1 / 10000."""
    half = width // 2
    angles = F.broadcast_mul(F.expand_dims(steps, axis=1), F.exp(F.arange(half) * (-log(10000) / half)).expand_dims(axis=0))
    return F.concat(F.cos(angles), F.sin(angles), dim=1)


if __name__ == "__main__":
    net = UNet(channels=(8, 16), blocks=1, attention=(False, True), outputs=1, depth=4, groups=4)
    net.initialize()
    print(net(nd.ones((2, 1, 8, 8)), nd.array([3, 500])).shape)

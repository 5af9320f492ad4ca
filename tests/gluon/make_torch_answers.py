"""Store PyTorch's answers for `test_as_torch`, in an environment that has PyTorch: ``python tests/gluon/make_torch_answers.py``."""

from pathlib import Path

import numpy as np
import torch
from torch import nn
from torch.nn import functional as F

FOUND = {}


def numbers(*shape, start=0, scale=0.5):
    """The same numbers in both libraries."""
    count = int(np.prod(shape))
    return torch.tensor((np.sin(np.arange(count) * 0.7 + start) * scale).reshape(shape), dtype=torch.float64)


def filled(module):
    """A module whose parameters are `numbers`."""
    module = module.double().eval()
    with torch.no_grad():
        for k, (name, p) in enumerate(sorted(module.named_parameters())):
            p.copy_(numbers(*p.shape, start=k, scale=0.3) + (1 if "norm" in name and name.endswith("weight") else 0))
    for name, p in module.named_parameters():
        FOUND[f"{CURRENT}.{name}"] = p.detach().numpy().copy()
    return module


def store(name, out, *inputs):
    """The result, and the gradients of its weighted sum."""
    (out * numbers(*out.shape, start=9)).sum().backward()
    FOUND[f"{name}:out"] = out.detach().numpy()
    for k, x in enumerate(inputs):
        FOUND[f"{name}:grad{k}"] = x.grad.numpy().copy()


def variable(*shape, start=0):
    return numbers(*shape, start=start, scale=1).requires_grad_()


CURRENT = ""


def layers():
    global CURRENT
    for name, causal, kv in (("sdpa", False, 4), ("sdpa causal", True, 4), ("sdpa groups", True, 2)):
        q, k, v = variable(2, 4, 6, 8), variable(2, kv, 6, 8, start=1), variable(2, kv, 6, 5, start=2)
        store(name, F.scaled_dot_product_attention(q, k, v, is_causal=causal, enable_gqa=kv < 4), q, k, v)
    q, k, v, mask = variable(2, 4, 5, 8), variable(2, 4, 7, 8, start=1), variable(2, 4, 7, 8, start=2), numbers(2, 1, 5, 7) > -0.2
    mask[..., 0] = True
    store("sdpa mask", F.scaled_dot_product_attention(q, k, v, attn_mask=mask), q, k, v)
    q = variable(2, 4, 5, 8)
    added = numbers(5, 7).requires_grad_()
    store("sdpa added", F.scaled_dot_product_attention(q, k, v, attn_mask=added, scale=0.3), q, added)
    for CURRENT, heads in (("attention", 2), ("attention 4", 4)):
        layer, x, y = filled(nn.MultiheadAttention(8, heads, batch_first=True)), variable(2, 3, 8), variable(2, 5, 8, start=1)
        store(CURRENT, layer(x, y, y)[0], x, y)
    for CURRENT, pre in (("encoder", False), ("encoder pre", True)):
        layer = filled(nn.TransformerEncoderLayer(8, 2, 16, dropout=0, activation="gelu", norm_first=pre, batch_first=True))
        x = variable(2, 4, 8)
        store(CURRENT, layer(x), x)
    for CURRENT, pre in (("decoder", False), ("decoder pre", True)):
        layer = filled(nn.TransformerDecoderLayer(8, 2, 16, dropout=0, norm_first=pre, batch_first=True))
        x, memory = variable(2, 4, 8), variable(2, 5, 8, start=1)
        store(CURRENT, layer(x, memory, tgt_mask=nn.Transformer.generate_square_subsequent_mask(4).double()), x, memory)
    CURRENT = "rms"
    layer, x = filled(nn.RMSNorm(6, eps=1e-6)), variable(3, 6)
    store("rms", layer(x), x)
    x = variable(4, 5)
    store("silu", F.silu(x), x)
    x = variable(2, 3, 7, 5)
    store("pool", F.adaptive_avg_pool2d(x, (3, 2)), x)
    x = variable(2, 3, 7)
    store("pool 1d", F.adaptive_avg_pool1d(x, 3), x)
    x = variable(4, 5)
    store("smoothing", F.cross_entropy(x, torch.tensor([1, 0, 4, 2]), label_smoothing=0.1, reduction="none"), x)


OPTIMIZERS = {
    "AdamW": lambda p: torch.optim.AdamW(p, lr=0.1, weight_decay=0.2),
    "RAdam": lambda p: torch.optim.RAdam(p, lr=0.1),
    "RAdam decay": lambda p: torch.optim.RAdam(p, lr=0.1, weight_decay=0.1),
    "Adafactor": lambda p: torch.optim.Adafactor(p, lr=0.1, weight_decay=0.1),
    "Muon": lambda p: torch.optim.Muon(p, lr=0.1, weight_decay=0.1, adjust_lr_fn="match_rms_adamw"),
}


def optimizers():
    # Muon makes matrices orthogonal in bfloat16, whose rounding is no part of the method
    torch.bfloat16 = torch.float32
    for name, make in OPTIMIZERS.items():
        for shape in ((3, 4), (5, 2), (4,)):
            if name == "Muon" and len(shape) < 2:
                continue
            weight = torch.nn.Parameter(numbers(*shape).float())
            optimizer = make([weight])
            rows = []
            for step in range(8):
                weight.grad = numbers(*shape, start=step).float()
                optimizer.step()
                rows.append(weight.detach().numpy().copy())
            FOUND[f"{name} {shape}"] = np.stack(rows)


if __name__ == "__main__":
    layers()
    optimizers()
    np.savez_compressed(Path(__file__).with_name("torch_answers.npz"), **FOUND)
    print(len(FOUND), "answers of PyTorch", torch.__version__)

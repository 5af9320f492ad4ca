"""Stores what published implementations answer: python make_answers.py FILE, where torch, transformers and diffusers are installed.

``make .venv-torch/architectures`` installs them, for the networks of `examples/architectures`.
Weights and inputs are numbers by a formula, so that the file holds names, shapes and answers only.
"""

import json
import sys
import zlib

import numpy as np
import torch
import transformers
from diffusers import UNet2DModel


def numbers(name, shape):
    """Numbers that look random; those of one axis are near 1 if they scale."""
    size = int(np.prod(shape))
    found = np.sin(np.arange(size) * 0.7 + zlib.crc32(name.encode()) % 1000) * 0.3
    return (found + (len(shape) == 1 and name.endswith("weight"))).reshape(shape).astype("float32")


def tokens(vocabulary, *shape):
    return torch.tensor((np.arange(np.prod(shape)) * 7 % vocabulary).reshape(shape))


def image(*shape):
    return torch.tensor(numbers("image", shape))


def gpt2():
    config = transformers.GPT2Config(vocab_size=31, n_positions=12, n_embd=16, n_layer=2, n_head=4)
    return transformers.GPT2LMHeadModel(config), lambda net: net(tokens(31, 2, 7)).logits


def llama():
    config = transformers.LlamaConfig(
        vocab_size=31, hidden_size=16, intermediate_size=24, num_hidden_layers=2, num_attention_heads=4, num_key_value_heads=2
    )
    return transformers.LlamaForCausalLM(config), lambda net: net(tokens(31, 2, 7)).logits


def bert():
    config = transformers.BertConfig(
        vocab_size=31, hidden_size=16, num_hidden_layers=2, num_attention_heads=4, intermediate_size=24, max_position_embeddings=12
    )
    kinds, mask = torch.tensor([[0] * 4 + [1] * 3] * 2), torch.tensor([[1] * 7, [1] * 5 + [0] * 2])
    return transformers.BertModel(config), lambda net: net(tokens(31, 2, 7), token_type_ids=kinds, attention_mask=mask).pooler_output


def vit():
    config = transformers.ViTConfig(
        hidden_size=16, num_hidden_layers=2, num_attention_heads=4, intermediate_size=24, image_size=16, patch_size=8, num_labels=5
    )
    return transformers.ViTForImageClassification(config), lambda net: net(image(2, 3, 16, 16)).logits


def convnext():
    config = transformers.ConvNextConfig(hidden_sizes=[8, 16], depths=[1, 2], num_stages=2, num_labels=5)
    return transformers.ConvNextForImageClassification(config), lambda net: net(image(2, 3, 32, 32)).logits


def unet():
    net = UNet2DModel(
        sample_size=8,
        in_channels=1,
        out_channels=1,
        block_out_channels=(8, 16),
        layers_per_block=1,
        norm_num_groups=4,
        attention_head_dim=4,
        down_block_types=("DownBlock2D", "AttnDownBlock2D"),
        up_block_types=("AttnUpBlock2D", "UpBlock2D"),
    )
    return net, lambda net: net(image(2, 1, 8, 8), torch.tensor([3, 500])).sample


def whisper():
    config = transformers.WhisperConfig(
        num_mel_bins=6, d_model=16, encoder_layers=2, encoder_attention_heads=4, encoder_ffn_dim=24, max_source_positions=10
    )
    net = transformers.models.whisper.modeling_whisper.WhisperEncoder(config)
    return net, lambda net: net(image(2, 6, 20)).last_hidden_state


def main(path):
    """Write the names, shapes and answers of all."""
    found = {}
    for make in (gpt2, llama, bert, vit, convnext, unet, whisper):
        net, run = make()
        net.eval()
        state = net.state_dict()
        # of arrays with two names, which are one parameter, the last one counts
        net.load_state_dict({name: torch.tensor(numbers(name, tuple(a.shape))) for name, a in state.items()})
        with torch.no_grad():
            answer = run(net)
        shapes = {name: list(a.shape) for name, a in state.items()}
        found[make.__name__] = {
            "shapes": shapes,
            "shape": list(answer.shape),
            "answer": [float(f"{x:.7g}") for x in answer.ravel().tolist()],
        }
    with open(path, "w") as file:
        json.dump(found, file, indent=1)


if __name__ == "__main__":
    main(sys.argv[1])

"""The networks that are exported whole: torchvision's classifiers and small ones of our own.

Each entry is built with the given width and depth, so that the same operators run in other
sizes; weights are random from a fixed seed.
"""

import dataclasses
import math
from typing import Callable

import torch
from torch import nn
from torch.nn import functional as F


@dataclasses.dataclass
class Network:
    """A network, its example inputs, and which axes of them may change.

    axes: one {axis: name} a tensor; equal names mean equal sizes.
    inputs: a function of {name: size} to the tuple of input tensors.
    """

    name: str
    build: Callable[[], nn.Module]
    inputs: Callable[[dict], tuple]
    axes: list
    sizes: dict
    min_opset: int = 9
    atol: float = 1e-5
    fronts: tuple = ("pt2", "pt")


# ---------------------------------------------------------------- our own


class UNet(nn.Module):
    """Encoder, decoder and skips; the decoder resizes bilinearly or by transposed convolution."""

    def __init__(self, width=8, depth=3, transposed=False):
        super().__init__()
        widths = [width * 2**i for i in range(depth + 1)]
        self.down = nn.ModuleList(self.block(a, b) for a, b in zip([3] + widths, widths))
        self.up = nn.ModuleList(
            nn.ConvTranspose2d(b, a, 2, 2)
            if transposed
            else nn.Sequential(
                nn.Upsample(scale_factor=2, mode="bilinear", align_corners=False),
                nn.Conv2d(b, a, 3, padding=1),
            )
            for a, b in zip(widths[:-1], widths[1:])
        )
        self.join = nn.ModuleList(self.block(2 * a, a) for a in widths[:-1])
        self.head = nn.Conv2d(width, 2, 1)

    @staticmethod
    def block(a, b):
        return nn.Sequential(
            nn.Conv2d(a, b, 3, padding=1, bias=False), nn.BatchNorm2d(b), nn.ReLU(inplace=True)
        )

    def forward(self, x):
        skips = []
        for i, block in enumerate(self.down):
            x = block(F.max_pool2d(x, 2) if i else x)
            skips.append(x)
        skips.pop()
        for up, join in zip(reversed(self.up), reversed(self.join)):
            x = join(torch.cat([skips.pop(), up(x)], dim=1))
        return self.head(x)


class WrittenAttention(nn.Module):
    """Attention as matrix products and a softmax, with a padding mask."""

    def __init__(self, width, heads):
        super().__init__()
        self.heads = heads
        self.qkv = nn.Linear(width, 3 * width)
        self.out = nn.Linear(width, width)

    def forward(self, x, mask):
        b, s, w = x.shape
        q, k, v = self.qkv(x).view(b, s, 3, self.heads, w // self.heads).permute(2, 0, 3, 1, 4)
        scores = q @ k.transpose(-2, -1) / math.sqrt(w // self.heads)
        scores = scores.masked_fill(mask[:, None, None, :] == 0, float("-inf"))
        return self.out((scores.softmax(-1) @ v).transpose(1, 2).reshape(b, s, w))


class Bert(nn.Module):
    """Encoder with token and position embeddings, post-norm, and a classifier on the first token."""

    def __init__(self, width=32, depth=2, heads=4, vocabulary=100, positions=64):
        super().__init__()
        self.tokens = nn.Embedding(vocabulary, width, padding_idx=0)
        self.positions = nn.Embedding(positions, width)
        self.norm = nn.LayerNorm(width, eps=1e-12)
        self.layers = nn.ModuleList(
            nn.ModuleDict(
                {
                    "attention": WrittenAttention(width, heads),
                    "norm1": nn.LayerNorm(width),
                    "mlp": nn.Sequential(
                        nn.Linear(width, 4 * width), nn.GELU(), nn.Linear(4 * width, width)
                    ),
                    "norm2": nn.LayerNorm(width),
                }
            )
            for _ in range(depth)
        )
        self.pooler = nn.Linear(width, width)

    def forward(self, ids, mask):
        steps = torch.arange(ids.size(1), device=ids.device)
        x = self.norm(self.tokens(ids) + self.positions(steps)[None])
        for layer in self.layers:
            x = layer["norm1"](x + layer["attention"](x, mask))
            x = layer["norm2"](x + layer["mlp"](x))
        return x, torch.tanh(self.pooler(x[:, 0]))


class GptBlock(nn.Module):
    def __init__(self, width, heads, fused):
        super().__init__()
        self.heads, self.fused = heads, fused
        self.norm1, self.norm2 = nn.LayerNorm(width), nn.LayerNorm(width)
        self.qkv = nn.Linear(width, 3 * width)
        self.out = nn.Linear(width, width)
        self.up, self.down = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)

    def attention(self, x):
        b, s, w = x.shape
        q, k, v = (
            t.view(b, s, self.heads, -1).transpose(1, 2) for t in self.qkv(x).split(w, dim=2)
        )
        if self.fused:
            y = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        else:
            scores = q @ k.transpose(-2, -1) * (1 / math.sqrt(k.size(-1)))
            causal = torch.ones(s, s, dtype=torch.bool).tril()
            y = scores.masked_fill(~causal, float("-inf")).softmax(-1) @ v
        return self.out(y.transpose(1, 2).contiguous().view(b, s, w))

    def forward(self, x):
        x = x + self.attention(self.norm1(x))
        return x + self.down(F.gelu(self.up(self.norm2(x)), approximate="tanh"))


class Gpt(nn.Module):
    """Causal decoder; the head shares the weight of the embedding."""

    def __init__(self, width=32, depth=2, heads=4, vocabulary=100, positions=64, fused=True):
        super().__init__()
        self.tokens = nn.Embedding(vocabulary, width)
        self.positions = nn.Parameter(torch.randn(1, positions, width) * 0.02)
        self.blocks = nn.ModuleList(GptBlock(width, heads, fused) for _ in range(depth))
        self.norm = nn.LayerNorm(width)
        self.head = nn.Linear(width, vocabulary, bias=False)
        self.head.weight = self.tokens.weight

    def forward(self, ids):
        x = self.tokens(ids) + self.positions[:, : ids.size(1)]
        for block in self.blocks:
            x = block(x)
        return self.head(self.norm(x))


class Vit(nn.Module):
    """Patches, a class token, pre-norm encoder layers."""

    def __init__(self, width=32, depth=2, heads=4, patch=8, image=32):
        super().__init__()
        self.patch = nn.Conv2d(3, width, patch, patch)
        self.token = nn.Parameter(torch.zeros(1, 1, width))
        self.position = nn.Parameter(torch.randn(1, (image // patch) ** 2 + 1, width) * 0.02)
        layer = nn.TransformerEncoderLayer(
            width, heads, 4 * width, 0.1, "gelu", batch_first=True, norm_first=True
        )
        self.encoder = nn.TransformerEncoder(layer, depth, enable_nested_tensor=False)
        self.norm = nn.LayerNorm(width)
        self.head = nn.Linear(width, 10)

    def forward(self, x):
        x = self.patch(x).flatten(2).transpose(1, 2)
        x = torch.cat([self.token.expand(x.shape[0], -1, -1), x], dim=1) + self.position
        return self.head(self.norm(self.encoder(x))[:, 0])


# ---------------------------------------------------------------- the list


def images(channels=3):
    def make(sizes):
        h, w = sizes.get("H", sizes["size"]), sizes.get("W", sizes["size"])
        return (torch.randn(sizes["N"], channels, h, w),)

    return make


def image_net(name, build, size=64, free=False, **kwargs):
    """A classifier of images: the batch may change, and with `free` height and width too."""
    axes = [{0: "N", 2: "H", 3: "W"} if free else {0: "N"}]
    sizes = {"N": 2, "size": size}
    if free:
        sizes.update(H=size, W=size)
    return Network(name, build, images(), axes, sizes, **kwargs)


def tokens(with_mask):
    def make(sizes):
        n, s = sizes["N"], sizes["S"]
        ids = torch.randint(1, 100, (n, s))
        if not with_mask:
            return (ids,)
        mask = torch.ones(n, s, dtype=torch.int64)
        mask[:, s - 2 :] = 0
        return (ids, mask)

    return make


def text_net(name, build, with_mask, **kwargs):
    axes = [{0: "N", 1: "S"}] * (2 if with_mask else 1)
    return Network(name, build, tokens(with_mask), axes, {"N": 2, "S": 12}, **kwargs)


def torchvision_nets():
    import torchvision_shim  # noqa: F401  (before torchvision)
    from torchvision import models

    def net(builder, **kwargs):
        return lambda: builder(weights=None, num_classes=10, **kwargs)

    inception = dict(aux_logits=False, init_weights=False)
    return [
        image_net("alexnet", net(models.alexnet), 96),
        image_net("vgg11", net(models.vgg11)),
        image_net("vgg11_bn", net(models.vgg11_bn)),
        image_net("resnet18", net(models.resnet18), free=True),
        image_net("resnet50", net(models.resnet50)),
        image_net("resnext_wide", net(models.resnet18, width_per_group=64, norm_layer=nn.InstanceNorm2d)),
        image_net("mobilenet_v3", net(models.mobilenet_v3_small)),
        image_net("efficientnet", net(models.efficientnet_b0)),
        image_net("densenet121", net(models.densenet121)),
        image_net("inception_v3", net(models.inception_v3, **inception), 96),
        image_net("squeezenet", net(models.squeezenet1_1), 75),
    ]


def detector():
    import detection

    def image(sizes):
        return (torch.rand(3, sizes["H"], sizes["W"]),)

    axes, sizes = [{1: "H", 2: "W"}], {"H": 64, "W": 96}
    # torch.export refuses what decides by the values of tensors.
    return Network("detector", detection.Detector, image, axes, sizes, 11, 1e-3, ("pt",))


def own_nets():
    unet = {"N": 2, "size": 32, "H": 32, "W": 32}
    free = [{0: "N", 2: "H", 3: "W"}]
    return [
        Network("unet", lambda: UNet(), images(), free, unet, min_opset=9),
        Network("unet_deep", lambda: UNet(5, 4, transposed=True), images(), free, unet),
        image_net("vit", lambda: Vit(), 32, min_opset=9),
        image_net("vit_wide", lambda: Vit(48, 3, 6, 4), 32),
        text_net("bert", lambda: Bert(), True, min_opset=9),
        text_net("bert_deep", lambda: Bert(24, 4, 3), True),
        text_net("gpt", lambda: Gpt(), False),
        text_net("gpt_written", lambda: Gpt(24, 3, 3, fused=False), False, min_opset=14),
    ]


def all_networks():
    return torchvision_nets() + own_nets() + [detector()]

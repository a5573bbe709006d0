"""Networks of words in plain PyTorch, with random weights: `npuflow import benchmarks/networks/language.py:gpt2_block`.

Each function gives a module and its inputs.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.nn import functional

Network = tuple[nn.Module, tuple[Tensor, ...]]

# Llama-3.2-1B.
LLAMA_WIDTH, LLAMA_HEADS, LLAMA_KV_HEADS, LLAMA_HIDDEN, LLAMA_BASE = 2048, 32, 8, 8192, 500000.0
LLAMA_TOKENS, LLAMA_LAYERS, LLAMA_VOCABULARY = 2048, 16, 128256


def bert_block() -> Network:
    """A layer of BERT-base, 128 tokens."""
    return BertBlock(768, 12, 3072).eval(), (torch.randn(1, 128, 768),)


def gpt2_block() -> Network:
    """A layer of the smallest GPT-2, 256 tokens."""
    return Gpt2Block(768, 12).eval(), (torch.randn(1, 256, 768),)


def lstm() -> Network:
    """32 steps of one layer."""
    return nn.LSTM(128, 256, batch_first=True).eval(), (torch.randn(1, 32, 128),)


def llama_prefill() -> Network:
    """A layer of Llama-3.2-1B that reads 2048 tokens."""
    return LlamaPrefill().eval(), (torch.randn(1, LLAMA_TOKENS, LLAMA_WIDTH),)


def llama_decode() -> Network:
    """The same for the last of 2048 tokens; the others' keys and values are in caches of bf16, and its own go there."""
    return LlamaDecode().eval(), (torch.randn(1, 1, LLAMA_WIDTH), *(cache.bfloat16() for cache in caches()))


def llama_decode_cat() -> Network:
    """The same for one token behind 2048 others, whose caches of f32 become new ones that have its own there, too."""
    return LlamaDecodeCat().eval(), (torch.randn(1, 1, LLAMA_WIDTH), *caches())


def llama() -> Network:
    """All of it for the last of 2048 tokens; the caches of all layers are one tensor of bf16 each."""
    kept = (torch.stack([cache.bfloat16()] * LLAMA_LAYERS) for cache in caches())
    return Llama().eval(), (torch.zeros(1, 1, dtype=torch.int64), *kept)


def caches() -> tuple[Tensor, Tensor]:
    shape = (1, LLAMA_KV_HEADS, LLAMA_TOKENS, LLAMA_WIDTH // LLAMA_HEADS)
    return torch.randn(shape), torch.randn(shape)


class SelfAttention(nn.Module):
    """Attention of a sequence to itself, with one layer for queries, keys and values."""

    def __init__(self, width: int, heads: int, is_causal: bool) -> None:
        super().__init__()
        self.heads, self.is_causal = heads, is_causal
        self.qkv = nn.Linear(width, 3 * width)
        self.out = nn.Linear(width, width)

    def forward(self, x: Tensor) -> Tensor:
        q, k, v = (one.unflatten(-1, (self.heads, -1)).transpose(1, 2) for one in self.qkv(x).chunk(3, dim=-1))
        mixed = functional.scaled_dot_product_attention(q, k, v, is_causal=self.is_causal)
        return self.out(mixed.transpose(1, 2).flatten(2))


class BertBlock(nn.Module):
    """A norm behind attention, and one behind two layers with GELU."""

    def __init__(self, width: int, heads: int, hidden: int) -> None:
        super().__init__()
        self.attention = SelfAttention(width, heads, is_causal=False)
        self.between = nn.LayerNorm(width)
        self.layers = nn.Sequential(nn.Linear(width, hidden), nn.GELU(), nn.Linear(hidden, width))
        self.after = nn.LayerNorm(width)

    def forward(self, x: Tensor) -> Tensor:
        x = self.between(x + self.attention(x))
        return self.after(x + self.layers(x))


class Gpt2Block(nn.Module):
    """A norm in front of causal attention, and one in front of two layers with GELU by its tanh."""

    def __init__(self, width: int, heads: int) -> None:
        super().__init__()
        self.before = nn.LayerNorm(width)
        self.attention = SelfAttention(width, heads, is_causal=True)
        self.between = nn.LayerNorm(width)
        self.layers = nn.Sequential(
            nn.Linear(width, 4 * width), nn.GELU(approximate="tanh"), nn.Linear(4 * width, width)
        )

    def forward(self, x: Tensor) -> Tensor:
        x = x + self.attention(self.before(x))
        return x + self.layers(self.between(x))


class LlamaLayer(nn.Module):
    """Grouped-query attention with rotary embedding, and a gated pair of layers."""

    def __init__(self) -> None:
        super().__init__()
        self.size = LLAMA_WIDTH // LLAMA_HEADS
        self.before = nn.RMSNorm(LLAMA_WIDTH, eps=1e-5)
        self.q = nn.Linear(LLAMA_WIDTH, LLAMA_WIDTH, bias=False)
        self.k = nn.Linear(LLAMA_WIDTH, LLAMA_KV_HEADS * self.size, bias=False)
        self.v = nn.Linear(LLAMA_WIDTH, LLAMA_KV_HEADS * self.size, bias=False)
        self.out = nn.Linear(LLAMA_WIDTH, LLAMA_WIDTH, bias=False)
        self.between = nn.RMSNorm(LLAMA_WIDTH, eps=1e-5)
        self.gate = nn.Linear(LLAMA_WIDTH, LLAMA_HIDDEN, bias=False)
        self.up = nn.Linear(LLAMA_WIDTH, LLAMA_HIDDEN, bias=False)
        self.down = nn.Linear(LLAMA_HIDDEN, LLAMA_WIDTH, bias=False)

    def projected(self, x: Tensor, first: int) -> tuple[Tensor, Tensor, Tensor]:
        """Queries, keys and values of tokens from position `first` on."""
        given = self.before(x)
        q, k, v = (one(given).unflatten(-1, (-1, self.size)).transpose(1, 2) for one in (self.q, self.k, self.v))
        return rotated(q, first), rotated(k, first), v

    def finished(self, x: Tensor, mixed: Tensor) -> Tensor:
        x = x + self.out(mixed.transpose(1, 2).flatten(2))
        given = self.between(x)
        return x + self.down(functional.silu(self.gate(given)) * self.up(given))


class LlamaPrefill(LlamaLayer):
    """All tokens at once."""

    def forward(self, x: Tensor) -> Tensor:
        q, k, v = self.projected(x, 0)
        mixed = functional.scaled_dot_product_attention(q, for_all_heads(k), for_all_heads(v), is_causal=True)
        return self.finished(x, mixed)


class LlamaDecode(LlamaLayer):
    """The last token that caches have room for, which are updated in place."""

    def forward(self, x: Tensor, keys: Tensor, values: Tensor) -> Tensor:
        place = keys.shape[2] - 1
        q, k, v = self.projected(x, place)
        keys[:, :, place], values[:, :, place] = k[:, :, 0], v[:, :, 0]
        mixed = functional.scaled_dot_product_attention(q, *(for_all_heads(one.to(q.dtype)) for one in (keys, values)))
        return self.finished(x, mixed)


class Llama(nn.Module):
    """A token's embedding, all layers, and scores of the tokens that may follow."""

    def __init__(self) -> None:
        super().__init__()
        self.embedding = nn.Embedding(LLAMA_VOCABULARY, LLAMA_WIDTH)
        self.layers = nn.ModuleList(LlamaDecode() for _ in range(LLAMA_LAYERS))
        self.after = nn.RMSNorm(LLAMA_WIDTH, eps=1e-5)

    def forward(self, token: Tensor, keys: Tensor, values: Tensor) -> Tensor:
        x = self.embedding(token)
        for number, layer in enumerate(self.layers):
            x = layer(x, keys[number], values[number])
        return functional.linear(self.after(x), self.embedding.weight)


class LlamaDecodeCat(LlamaLayer):
    """The token behind those that are in caches."""

    def forward(self, x: Tensor, keys: Tensor, values: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        q, k, v = self.projected(x, keys.shape[2])
        keys, values = torch.cat([keys, k], dim=2), torch.cat([values, v], dim=2)
        mixed = functional.scaled_dot_product_attention(q, for_all_heads(keys), for_all_heads(values))
        return self.finished(x, mixed), keys, values


def for_all_heads(x: Tensor) -> Tensor:
    """Each head of keys or values as often as heads of queries read it."""
    return x.repeat_interleave(LLAMA_HEADS // LLAMA_KV_HEADS, dim=1)


def rotated(x: Tensor, first: int) -> Tensor:
    """Pairs of elements turned by an angle that grows with the position."""
    half = x.shape[-1] // 2
    rates = LLAMA_BASE ** (-torch.arange(half, dtype=torch.float32, device=x.device) / half)
    angles = torch.arange(first, first + x.shape[2], dtype=torch.float32, device=x.device)[:, None] * rates
    low, high = x[..., :half], x[..., half:]
    return torch.cat([low * angles.cos() - high * angles.sin(), high * angles.cos() + low * angles.sin()], dim=-1)

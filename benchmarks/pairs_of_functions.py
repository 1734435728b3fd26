"""Pairs of functions as users compare them: healthy ones of several libraries, and ones with a planted fault."""

from __future__ import annotations

import contextlib
import functools
import inspect
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import scipy.special
import torch
import torch.nn.functional as F

Function = Callable[..., Any]
_LOCK = threading.Lock()
"""Cannot be sent to another process: a function that holds it is called in this one."""


@dataclass(frozen=True)
class Pair:
    """Functions to check against each other."""

    name: str
    functions: tuple[Function, ...]
    inputs: dict[str, Any]
    planted: bool = False
    dtype: str = "float32"


def kept(function: Function) -> Function:
    """The function, tied to this process."""

    def inside(*arguments: Any, **named: Any) -> Any:
        assert _LOCK is not None
        return function(*arguments, **named)

    inside.__name__ = inside.__qualname__ = getattr(function, "__name__", "f").replace("<lambda>", "f")
    with contextlib.suppress(TypeError, ValueError):  # a function of C shows none
        inside.__signature__ = inspect.signature(function)  # type: ignore[attr-defined]
    inside.lock = _LOCK  # type: ignore[attr-defined]
    return inside


NORMAL = {"x": "normal(0,1)[500]"}
WIDE = {"x": "signed(loguniform(1e-6,1e2))[500]"}
POSITIVE = {"x": "loguniform(1e-4,1e3)[500]"}
UNIT = {"x": "uniform(-0.99,0.99)[500]"}
ROWS = {"x": "normal(0,1)[8,300]"}
LONG = {"x": "normal(0,1)[4,20000]"}
OFFSET = {"x": "offset(1000,1)[8,300]"}
CANCELLING = {"a,b": "cancelling(normal(0,1),1e-3)[1000]"}
PRODUCT = {"x": "normal(0,1)[24,200]", "w": "normal(0,1)[200,16]"}
IMAGES = {"x": "normal(0,1)[3,4,12,12]", "w": "normal(0,1)[6,4,3,3]"}
ATTENTION = {"q": "normal(0,1)[2,16,32]", "k": "normal(0,1)[2,16,32]", "v": "normal(0,1)[2,16,32]"}


def _elementwise() -> Iterator[Pair]:
    for name, inputs in (
        ("tanh", WIDE),
        ("exp", NORMAL),
        ("expm1", WIDE | {"x": "signed(loguniform(1e-6,50))[500]"}),
        ("log", POSITIVE),
        ("log1p", POSITIVE),
        ("sin", WIDE),
        ("cos", WIDE),
        ("sqrt", POSITIVE),
        ("arctan", WIDE),
        ("arcsinh", WIDE),
        ("arctanh", UNIT),
        ("sinh", NORMAL),
        ("floor", NORMAL),
    ):
        yield Pair(f"{name} torch/jax", (getattr(torch, name), getattr(jnp, name)), inputs)
        yield Pair(f"{name} jax/numpy", (getattr(jnp, name), getattr(np, name)), inputs)
    for name, inputs in (
        ("erf", NORMAL),
        ("erfinv", UNIT),
        ("gammaln", POSITIVE),
        ("digamma", POSITIVE),
        ("i0e", WIDE),
        ("expit", NORMAL),
    ):
        yield Pair(f"{name} torch/jax", (getattr(torch.special, name), getattr(jax.scipy.special, name)), inputs)
        yield Pair(f"{name} jax/scipy", (getattr(jax.scipy.special, name), getattr(scipy.special, name)), inputs)
    yield Pair("silu torch/jax", (F.silu, jax.nn.silu), NORMAL)
    yield Pair("softplus torch/jax", (F.softplus, jax.nn.softplus), NORMAL)
    yield Pair("elu torch/jax", (F.elu, jax.nn.elu), WIDE)
    yield Pair("step torch/jax", (lambda x: torch.floor(torch.cos(x)), lambda x: jnp.floor(jnp.cos(x))), NORMAL)
    yield Pair("round torch/jax", (lambda x: torch.round(x * 10) / 10, lambda x: jnp.round(x * 10) / 10), NORMAL)


def _reductions() -> Iterator[Pair]:
    for where, inputs in (("normal", ROWS), ("offset", OFFSET), ("long", LONG)):
        yield Pair(f"sum {where}", (lambda x: torch.sum(x, -1), lambda x: jnp.sum(x, -1)), inputs)
        yield Pair(f"mean {where}", (lambda x: torch.mean(x, -1), lambda x: np.mean(x, -1)), inputs)
        yield Pair(f"variance {where}", (lambda x: torch.var(x, -1, correction=0), lambda x: jnp.var(x, -1)), inputs)
        yield Pair(f"softmax {where}", (lambda x: torch.softmax(x, -1), lambda x: jax.nn.softmax(x, -1)), inputs)
        yield Pair(f"logsumexp {where}", (lambda x: torch.logsumexp(x, -1), lambda x: jax.nn.logsumexp(x, -1)), inputs)
        yield Pair(
            f"norm {where}", (lambda x: torch.linalg.norm(x, dim=-1), lambda x: jnp.linalg.norm(x, axis=-1)), inputs
        )
        yield Pair(
            f"layer norm {where}",
            (
                lambda x: F.layer_norm(x, x.shape[-1:]),
                lambda x: (x - jnp.mean(x, -1, keepdims=True)) / jnp.sqrt(jnp.var(x, -1, keepdims=True) + 1e-5),
            ),
            inputs,
        )
    yield Pair("cumsum", (lambda x: torch.cumsum(x, -1), lambda x: jnp.cumsum(x, -1)), ROWS)
    yield Pair("dot cancelling", (lambda a, b: torch.dot(a, b), lambda a, b: jnp.vdot(a, b)), CANCELLING)
    yield Pair("argmax", (lambda x: torch.argmax(x, -1), lambda x: np.argmax(x, -1)), ROWS)
    yield Pair("sort", (lambda x: torch.sort(x, -1)[0], lambda x: jnp.sort(x, -1)), ROWS)


def _products() -> Iterator[Pair]:
    yield Pair("matmul torch/jax", (lambda x, w: torch.matmul(x, w), lambda x, w: jnp.matmul(x, w)), PRODUCT)
    yield Pair("rows torch", (lambda x, w: x @ w, lambda x, w: torch.stack([row @ w for row in x])), PRODUCT)
    yield Pair(
        "einsum torch", (lambda x, w: torch.einsum("ij,jk->ik", x, w), lambda x, w: (x[:, :, None] * w).sum(1)), PRODUCT
    )
    yield Pair(
        "conv batch",
        (
            lambda x, w: torch.conv2d(x, w, padding=1),
            lambda x, w: torch.cat([torch.conv2d(image[None], w, padding=1) for image in x]),
        ),
        IMAGES,
    )
    yield Pair(
        "conv torch/jax",
        (
            lambda x, w: torch.conv2d(x, w, padding=1),
            lambda x, w: jax.lax.conv_general_dilated(x, w, (1, 1), ((1, 1), (1, 1))),
        ),
        IMAGES,
    )
    yield Pair(
        "solve",
        (lambda x, b: torch.linalg.solve(x, b), lambda x, b: jnp.linalg.solve(x, b)),
        {"x": "normal(0,1)[12,12]", "b": "normal(0,1)[12,2]"},
    )
    yield Pair("inverse", (torch.linalg.inv, jnp.linalg.inv), {"A": "normal(0,1)[10,10]"})
    yield Pair("determinant", (torch.linalg.det, jnp.linalg.det), {"A": "normal(0,1)[10,10]"})


def _parameters(*shapes: tuple[int, ...]) -> list[np.ndarray[Any, Any]]:
    random = np.random.default_rng(0)
    return [(random.standard_normal(shape) / np.sqrt(shape[-1])).astype(np.float32) for shape in shapes]


def _nets() -> Iterator[Pair]:
    w1, w2, w3 = _parameters((32, 64), (64, 64), (64, 10))
    t1, t2, t3 = (torch.from_numpy(w) for w in (w1, w2, w3))
    yield Pair(
        "MLP torch/jax",
        (
            lambda x: torch.relu(torch.relu(x @ t1.to(x.dtype)) @ t2.to(x.dtype)) @ t3.to(x.dtype),
            lambda x: jax.nn.relu(jax.nn.relu(x @ w1) @ w2) @ w3,
        ),
        {"x": "normal(0,1)[16,32]"},
    )
    torch.manual_seed(0)
    net = torch.nn.Sequential(
        torch.nn.Conv2d(3, 8, 3), torch.nn.BatchNorm2d(8), torch.nn.ReLU(), torch.nn.Flatten(), torch.nn.Linear(800, 10)
    ).eval()

    def batch(x: Any) -> Any:
        return net.to(x.dtype)(x)

    def single(x: Any) -> Any:
        return torch.cat([net.to(x.dtype)(image[None]) for image in x])

    yield Pair("conv net batch/single", (batch, single), {"x": "normal(0,1)[4,3,12,12]"})

    def fused(q: Any, k: Any, v: Any) -> Any:
        return F.scaled_dot_product_attention(q, k, v)

    def spelt(q: Any, k: Any, v: Any) -> Any:
        return torch.softmax(q @ k.transpose(-1, -2) / q.shape[-1] ** 0.5, -1) @ v

    def in_jax(q: Any, k: Any, v: Any) -> Any:
        return jax.nn.softmax(q @ jnp.swapaxes(k, -1, -2) / q.shape[-1] ** 0.5, -1) @ v

    yield Pair("attention fused/spelt", (fused, spelt), ATTENTION)
    yield Pair("attention torch/jax", (spelt, in_jax), ATTENTION)
    deep = [torch.from_numpy(w) for w in _parameters(*[(64, 64)] * 20)]

    def chain(x: Any) -> Any:
        return functools.reduce(lambda y, w: torch.tanh(y @ w.to(y.dtype)), deep, x)

    def alone(x: Any) -> Any:
        return torch.stack([chain(row) for row in x])

    yield Pair("deep net batch/single", (chain, alone), {"x": "normal(0,1)[8,64]"})


def _planted() -> Iterator[Pair]:
    def planted(name: str, good: Function, bad: Function, inputs: dict[str, Any], dtype: str = "float32") -> Pair:
        return Pair(f"planted: {name}", (good, bad), inputs, True, dtype)

    def norm(eps: float) -> Function:
        return lambda x: F.layer_norm(x, x.shape[-1:], eps=eps)

    yield planted("eps 1e-6 for 1e-5", norm(1e-5), norm(1e-6), ROWS)
    yield planted("eps 1e-6 for 1e-5, double", norm(1e-5), norm(1e-6), ROWS, "float64")
    yield planted("bfloat16 inside", torch.tanh, lambda x: torch.tanh(x.bfloat16()).to(x.dtype), NORMAL)
    yield planted(
        "bfloat16 product", lambda x, w: x @ w, lambda x, w: (x.bfloat16() @ w.bfloat16()).to(x.dtype), PRODUCT
    )
    yield planted("float32 inside", torch.tanh, lambda x: torch.tanh(x.float()).to(x.dtype), NORMAL, "float64")
    yield planted("tanh approximation", F.silu, lambda x: x * (0.5 + 0.4999 * torch.tanh(x / 2)), NORMAL)
    yield planted("missing last term", lambda x: x.sum(-1), lambda x: x[:, :-1].sum(-1), ROWS)
    yield planted(
        "one-pass variance",
        lambda x: torch.var(x, -1, correction=0),
        lambda x: (x * x).mean(-1) - x.mean(-1) ** 2,
        OFFSET,
    )
    yield planted("correction 1", lambda x: torch.var(x, -1, correction=0), lambda x: torch.var(x, -1), ROWS)
    yield planted(
        "softmax without maximum",
        lambda x: torch.softmax(x, -1),
        lambda x: torch.exp(x) / torch.exp(x).sum(-1, keepdim=True),
        {"x": "normal(0,60)[8,30]"},
    )
    yield planted("log of 1 + x", torch.log1p, lambda x: torch.log(1 + x), WIDE | {"x": "loguniform(1e-8,1)[500]"})
    yield planted("exp - 1", torch.expm1, lambda x: torch.exp(x) - 1, {"x": "loguniform(1e-8,1)[500]"})
    yield planted("padding of ones", lambda x: F.pad(x, (1, 1)), lambda x: F.pad(x, (1, 1), value=1.0), ROWS)
    yield planted(
        "transposed product",
        lambda x, w: x @ w,
        lambda x, w: x @ w.T,
        {"x": "normal(0,1)[9,9]", "w": "normal(0,1)[9,9]"},
    )
    yield planted("argmin for argmax", lambda x: torch.argmax(x, -1), lambda x: torch.argmin(x, -1), ROWS)
    yield planted("floor for round", torch.round, torch.floor, NORMAL)
    yield planted("NaN at zero", torch.relu, lambda x: x * (x > 0) / (x != 0), {"x": "integers(-1,1)[30]"})


PROVEN = {
    "arctanh torch/jax": "jax computes it by log1p: 145 u at -0.414 in float64",
    "arctanh jax/numpy": "jax computes it by log1p: 145 u at -0.414 in float64",
    "erfinv jax/scipy": "the approximation of XLA for float64",
    "erfinv torch/jax": "the approximation of XLA for float64",
    "gammaln torch/jax": "Lanczos in jax: cancels beside the roots 1 and 2",
    "gammaln jax/scipy": "Lanczos in jax: cancels beside the roots 1 and 2",
}
"""Pairs of which one is inaccurate, as mpmath shows (benchmarks/quality_defects.py): a finding there is right."""

PAIRS: tuple[Pair, ...] = (*_elementwise(), *_reductions(), *_products(), *_nets(), *_planted())

"""Elementwise operators in JAX: jax.numpy, jax.nn, jax.lax and jax.scipy.special."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from fuzz.backends.base import EVERY_FLOAT, Lazy
from fuzz.backends.jax_backend import BACKEND, JaxArray, jnp, nn

lax: Any = Lazy("jax.lax")
special: Any = Lazy("jax.scipy.special")

FUNCTIONS: dict[str, tuple[str, Any, str]] = {
    "sigmoid": ("jax.nn", nn, "sigmoid"),
    "silu": ("jax.nn", nn, "silu"),
    "relu": ("jax.nn", nn, "relu"),
    "log_sigmoid": ("jax.nn", nn, "log_sigmoid"),
    "mish": ("jax.nn", nn, "mish"),
    "softsign": ("jax.nn", nn, "soft_sign"),
    "selu": ("jax.nn", nn, "selu"),
    "hard_swish": ("jax.nn", nn, "hard_swish"),
    "sign": ("jax.numpy", jnp, "sign"),
    "exp2": ("jax.numpy", jnp, "exp2"),
    "expm1": ("jax.numpy", jnp, "expm1"),
    "log": ("jax.numpy", jnp, "log"),
    "log2": ("jax.numpy", jnp, "log2"),
    "log1p": ("jax.numpy", jnp, "log1p"),
    "sqrt": ("jax.numpy", jnp, "sqrt"),
    "rsqrt": ("jax.lax", lax, "rsqrt"),
    "reciprocal": ("jax.numpy", jnp, "reciprocal"),
    "sin": ("jax.numpy", jnp, "sin"),
    "cos": ("jax.numpy", jnp, "cos"),
    "tan": ("jax.numpy", jnp, "tan"),
    "asinh": ("jax.numpy", jnp, "arcsinh"),
    "atanh": ("jax.numpy", jnp, "arctanh"),
    "sinh": ("jax.numpy", jnp, "sinh"),
    "cosh": ("jax.numpy", jnp, "cosh"),
    "erf": ("jax.scipy.special", special, "erf"),
    "erfc": ("jax.scipy.special", special, "erfc"),
    "erfinv": ("jax.scipy.special", special, "erfinv"),
    "lgamma": ("jax.scipy.special", special, "gammaln"),
    "add": ("jax.numpy", jnp, "add"),
    "multiply": ("jax.numpy", jnp, "multiply"),
    "divide": ("jax.numpy", jnp, "divide"),
}
"""Operator -> (module, the module when imported, name in it)."""


def calling(module: Any, name: str) -> Callable[..., JaxArray]:
    """The module's function of that name, looked up when it is first called."""

    def call(*inputs: JaxArray) -> JaxArray:
        return getattr(module, name)(*inputs)

    return call


for _operator, (_path, _module, _name) in FUNCTIONS.items():
    BACKEND.implementation(_operator, _name, f"{_path}.{_name}", dtypes=EVERY_FLOAT)(calling(_module, _name))


@BACKEND.implementation("elu", "elu", "jax.nn.elu", dtypes=EVERY_FLOAT)
def elu(x: JaxArray, *, alpha: float) -> JaxArray:
    return nn.elu(x, alpha)


@BACKEND.implementation("clip", "clip", "jax.numpy.clip", dtypes=EVERY_FLOAT)
def clip(x: JaxArray, *, low: float, high: float) -> JaxArray:
    return jnp.clip(x, low, high)


@BACKEND.implementation("leaky_relu", "leaky_relu", "jax.nn.leaky_relu", dtypes=EVERY_FLOAT)
def leaky_relu(x: JaxArray, *, alpha: float) -> JaxArray:
    return nn.leaky_relu(x, alpha)

"""JAX: jax.numpy and jax.nn, compiled (mode=jit) or operation by operation (mode=eager).

float64 needs jax's x64 mode. It is a context around tracing and calling of a float64 kernel, never process-wide: set
globally it would change what every other jax function in the process computes.
The cuda path copies inputs to the device at each call; it runs only where a GPU is present.
"""

from __future__ import annotations

import contextlib
import functools
import importlib.metadata
from collections.abc import Callable, Iterator, Sequence
from typing import Any, TypeAlias

import numpy as np

from fuzz.backends import jax_batching, jax_gradients
from fuzz.backends.base import (
    EVERY_FLOAT,
    Array,
    Backend,
    Kernel,
    Lazy,
    OptionSpec,
    Request,
    SimpleKernel,
    Unsupported,
    as_tuple,
    multiplies,
)
from fuzz.backends.jax_spelling import spelled
from fuzz.backends.spelling import Spelling, Wanted

jax: Any = Lazy("jax")
jnp: Any = Lazy("jax.numpy")
nn: Any = Lazy("jax.nn")
JaxArray: TypeAlias = Any


EAGER_KERNELS_KEPT = 32
"""jax keeps a compiled program for every operation and shape it ran eagerly, about 9 MB a layer_norm, for ever: its
caches are emptied after so many eager kernels. Living kernels go on; the next call of an eager one compiles again."""


class JaxBackend(Backend):
    """On the CPU the inputs are shared, not copied (but for bfloat16). Results are owned by jax and read-only."""

    name = "jax"
    doc = "JAX on XLA"
    module = "jax"
    differentiates = "jax.vjp"
    install = "pip install 'ulpfuzz[jax]'"
    options = (
        OptionSpec("mode", "jit", "jit: one compiled program; eager: each operation by itself", ("jit", "eager")),
        OptionSpec(
            "precision",
            "default",
            "jax.default_matmul_precision, trace and call",
            ("default", "high", "highest"),
            suits=multiplies,
        ),
        jax_batching.OPTION,
    )

    def __init__(self) -> None:
        super().__init__()
        self._eager_kernels = 0

    def devices(self) -> tuple[str, ...]:
        gpus = [d for d in jax.devices() if d.platform in ("cuda", "gpu")]
        return ("cpu", *(f"cuda:{i}" for i in range(len(gpus))))

    def versions(self) -> dict[str, str]:
        names = ("jax", "jaxlib")
        return {name: importlib.metadata.version(name) for name in names}

    def warm_up(self) -> None:
        """Import jax and start its CPU client."""
        jax.devices("cpu")

    def prepare(self, request: Request) -> Kernel:
        device = _device(request.device)
        compiled = request.options.get("mode", "jit") == "jit"
        if not compiled:
            self._eager_kernels += 1
            if self._eager_kernels % EAGER_KERNELS_KEPT == 0:
                jax.clear_caches()
        scope = functools.partial(_scope, request.dtype, request.options.get("precision", "default"), device)
        function: Callable[..., Any] = functools.partial(request.implementation.function, **request.attributes)
        if (batch := request.options.get("batch", "whole")) != "whole":
            axes = jax_batching.axes(request.implementation, request.attributes)
            function = jax_batching.mapped(function, batch, axes)
        if request.implementation.derivative is not None:
            d = request.implementation.derivative
            function = self.vjp(function, inputs=d.inputs, wrt=d.wrt, outputs=d.outputs)
        shared = request.device == "cpu" and request.dtype != "bfloat16"  # DLPack has none in NumPy
        with scope():
            send = _view if shared else _sender(device)
            inputs = tuple(send(array) for array in request.inputs.values())
            if compiled:
                function = jax.jit(function).lower(*inputs).compile()
        if shared:
            launch = functools.partial(function, *inputs)
        else:
            launch = functools.partial(_launch_with_copies, function, send, tuple(request.inputs.values()))
        if compiled and request.dtype != "float64":  # nothing is left for the scope to change
            return SimpleKernel(functools.partial(_collect, launch))
        return SimpleKernel(functools.partial(_collect_inside, scope, launch))

    def vjp(
        self, function: Callable[..., Any], *, inputs: int, wrt: Sequence[int], outputs: Sequence[int] = (0,)
    ) -> Callable[..., tuple[Any, ...]]:
        return jax_gradients.vjp(function, inputs=inputs, wrt=wrt, outputs=outputs)

    def spell(self, wanted: Wanted) -> Spelling:
        return spelled(wanted)


def _device(name: str) -> Any:
    kind, _, index = name.partition(":")
    try:
        return jax.devices(kind)[int(index or 0)]
    except (RuntimeError, IndexError, ValueError):
        raise Unsupported(f"jax has no device {name} here: it has {', '.join(BACKEND.devices())}") from None


def _view(array: Array) -> JaxArray:
    """The array as jax's, sharing its memory: jax takes it for immutable, and no call outlives a refill."""
    return jnp.from_dlpack(array, copy=False if array.size else None)  # empty arrays have any address


def _sender(device: Any) -> Callable[[Array], JaxArray]:
    return functools.partial(jax.device_put, device=device, may_alias=False)


def _launch_with_copies(
    function: Callable[..., Any], send: Callable[[Array], JaxArray], arrays: tuple[Array, ...]
) -> Any:
    return function(*(send(array) for array in arrays))


@contextlib.contextmanager
def _scope(dtype: str, precision: str, device: Any) -> Iterator[None]:
    matmul = None if precision == "default" else precision
    with jax.enable_x64(dtype == "float64"), jax.default_matmul_precision(matmul), jax.default_device(device):
        yield


def _collect(launch: Callable[[], Any]) -> tuple[Array, ...]:
    # np.asarray waits for the result and, on the CPU, shares its memory.
    return tuple(np.asarray(result, order="C") for result in as_tuple(launch()))


def _collect_inside(
    scope: Callable[[], contextlib.AbstractContextManager[None]], launch: Callable[[], Any]
) -> tuple[Array, ...]:
    with scope():
        return _collect(launch)


BACKEND = JaxBackend()


@BACKEND.implementation(
    "batch_norm", "formula", "(x - mean) / sqrt(var + eps) * gamma + beta", "composed", dtypes=EVERY_FLOAT
)
def batch_norm(x: JaxArray, mean: JaxArray, var: JaxArray, gamma: JaxArray, beta: JaxArray, *, eps: float) -> JaxArray:
    def channel(p: JaxArray) -> JaxArray:
        return p[:, None, None]

    return (x - channel(mean)) / jnp.sqrt(channel(var) + eps) * channel(gamma) + channel(beta)


@BACKEND.implementation("matmul", "matmul", "jax.numpy.matmul", dtypes=EVERY_FLOAT)
def matmul(a: JaxArray, b: JaxArray) -> JaxArray:
    return jnp.matmul(a, b)


@BACKEND.implementation("softmax", "softmax", "jax.nn.softmax", dtypes=EVERY_FLOAT)
def softmax(x: JaxArray, *, axis: int) -> JaxArray:
    return nn.softmax(x, axis=axis)


@BACKEND.implementation(
    "layer_norm",
    "formula",
    "d / sqrt(mean(d*d) + eps) * gamma + beta with d = x - mean(x)",
    "composed",
    dtypes=EVERY_FLOAT,
)
def layer_norm(x: JaxArray, gamma: JaxArray, beta: JaxArray, *, eps: float) -> JaxArray:
    centred = x - jnp.mean(x, axis=-1, keepdims=True)
    variance = jnp.mean(centred * centred, axis=-1, keepdims=True)
    return centred / jnp.sqrt(variance + eps) * gamma + beta


@BACKEND.implementation(
    "layer_norm", "standardize", "jax.nn.standardize(x, epsilon=eps) * gamma + beta", "composed", dtypes=EVERY_FLOAT
)
def layer_norm_standardize(x: JaxArray, gamma: JaxArray, beta: JaxArray, *, eps: float) -> JaxArray:
    return nn.standardize(x, axis=-1, epsilon=eps) * gamma + beta


@BACKEND.implementation("gelu", "gelu", "jax.nn.gelu(approximate=False)", dtypes=EVERY_FLOAT)
def gelu(x: JaxArray) -> JaxArray:
    return nn.gelu(x, approximate=False)


@BACKEND.implementation("gelu_tanh", "gelu", "jax.nn.gelu(approximate=True)", dtypes=EVERY_FLOAT)
def gelu_tanh(x: JaxArray) -> JaxArray:
    return nn.gelu(x, approximate=True)


@BACKEND.implementation("tanh", "tanh", "jax.numpy.tanh", dtypes=EVERY_FLOAT)
def tanh(x: JaxArray) -> JaxArray:
    return jnp.tanh(x)


@BACKEND.implementation("exp", "exp", "jax.numpy.exp", dtypes=EVERY_FLOAT)
def exp(x: JaxArray) -> JaxArray:
    return jnp.exp(x)


@BACKEND.implementation("softplus", "softplus", "jax.nn.softplus", dtypes=EVERY_FLOAT)
def softplus(x: JaxArray) -> JaxArray:
    return nn.softplus(x)


@BACKEND.implementation("sum", "sum", "jax.numpy.sum", dtypes=EVERY_FLOAT)
def total(x: JaxArray, *, axis: int) -> JaxArray:
    return jnp.sum(x, axis=axis)

"""PyTorch, eager mode: torch and torch.nn.functional on views of the engine's arrays.

The cuda path copies inputs to the device and results back at each call; it runs only where a GPU is present.
"""

from __future__ import annotations

import contextlib
import functools
import importlib.metadata
from collections.abc import Callable, Iterator, Mapping
from typing import Any, TypeAlias

import numpy as np

from fuzz.backends.base import (
    BFLOAT16,
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
)
from fuzz.backends.spelling import Spelling, Wanted
from fuzz.backends.torch_spelling import spelled

torch: Any = Lazy("torch")
F: Any = Lazy("torch.nn.functional")
Tensor: TypeAlias = Any
Context: TypeAlias = Callable[[], contextlib.AbstractContextManager[Any]]


class TorchBackend(Backend):
    """Results are owned by torch, so writes beyond their ends are not detectable here."""

    name = "torch"
    doc = "PyTorch eager mode"
    module = "torch"
    install = "pip install 'ulpfuzz[torch]'"
    options = (
        OptionSpec("mkldnn", "on", "oneDNN kernels (matmul, convolution, some activations)", ("on", "off")),
        OptionSpec(
            "matmul_precision",
            "highest",
            "torch.set_float32_matmul_precision: lower ones may use bfloat16 or TF32 inside a float32 matmul",
            ("highest", "high", "medium"),
        ),
    )

    def devices(self) -> tuple[str, ...]:
        return ("cpu", *(f"cuda:{i}" for i in range(torch.cuda.device_count())))

    def versions(self) -> dict[str, str]:
        return {
            "torch": importlib.metadata.version("torch"),
            "torch cpu capability": str(torch.backends.cpu.get_cpu_capability()),
            "torch mkldnn": str(torch.backends.mkldnn.is_available()),
            "torch mkl": str(torch.backends.mkl.is_available()),
            "torch cuda": str(torch.version.cuda),
        }

    def warm_up(self) -> None:
        """Import torch and use one thread inside an operator: parallel ones come from several workers."""
        torch.set_num_threads(1)

    def prepare(self, request: Request) -> Kernel:
        if request.device not in self.devices():
            raise Unsupported(f"torch has no device {request.device} here: it has {', '.join(self.devices())}")
        function = functools.partial(request.implementation.function, **request.attributes)
        views = tuple(_view(array) for array in request.inputs.values())
        if request.device == "cpu":
            run = functools.partial(_run_cpu, function, views)
        else:
            run = functools.partial(_run_cuda, function, views, torch.device(request.device))
        contexts = _contexts(request.options)
        facts = {"threads": str(torch.get_num_threads())}
        return SimpleKernel(functools.partial(_run_inside, contexts, run) if contexts else run, facts=facts)

    def spell(self, wanted: Wanted) -> Spelling:
        return spelled(wanted)


def _run_cpu(function: Callable[..., Any], views: tuple[Tensor, ...]) -> tuple[Array, ...]:
    with torch.inference_mode():
        return tuple(_array(tensor) for tensor in as_tuple(function(*views)))


def _run_cuda(function: Callable[..., Any], views: tuple[Tensor, ...], device: Any) -> tuple[Array, ...]:
    with torch.inference_mode():
        results = as_tuple(function(*(view.to(device, copy=True) for view in views)))
        return tuple(_array(tensor.contiguous().cpu()) for tensor in results)  # cpu() waits for the device


def _view(array: Array) -> Tensor:
    """The array as torch's, sharing its memory. torch does not know the bfloat16 that NumPy has from ml_dtypes."""
    if array.dtype == BFLOAT16:
        return torch.from_numpy(array.view(np.int16)).view(torch.bfloat16)
    return torch.from_numpy(array)


def _array(tensor: Tensor) -> Array:
    tensor = tensor.contiguous()
    if tensor.dtype == torch.bfloat16:
        bits: Array = tensor.view(torch.int16).numpy()
        return bits.view(BFLOAT16)
    array: Array = tensor.numpy()
    return array


def _run_inside(contexts: tuple[Context, ...], run: Callable[[], tuple[Array, ...]]) -> tuple[Array, ...]:
    with contextlib.ExitStack() as stack:
        for context in contexts:
            stack.enter_context(context())
        return run()


def _contexts(options: Mapping[str, str]) -> tuple[Context, ...]:
    """What has to be set around each call: nothing for the defaults."""
    contexts: list[Context] = []
    if options.get("mkldnn", "on") == "off":
        contexts.append(_without_mkldnn)
    precision = options.get("matmul_precision", "highest")
    if precision != "highest":
        contexts.append(functools.partial(_matmul_precision, precision))
    return tuple(contexts)


@contextlib.contextmanager
def _without_mkldnn() -> Iterator[None]:
    before = torch.backends.mkldnn.enabled
    torch.backends.mkldnn.enabled = False
    try:
        yield
    finally:
        torch.backends.mkldnn.enabled = before


@contextlib.contextmanager
def _matmul_precision(precision: str) -> Iterator[None]:
    before = torch.get_float32_matmul_precision()
    torch.set_float32_matmul_precision(precision)
    try:
        yield
    finally:
        torch.set_float32_matmul_precision(before)


BACKEND = TorchBackend()


@BACKEND.implementation(
    "batch_norm", "batch_norm", "torch.nn.functional.batch_norm(training=False)", dtypes=EVERY_FLOAT
)
def batch_norm(x: Tensor, mean: Tensor, var: Tensor, gamma: Tensor, beta: Tensor, *, eps: float) -> Tensor:
    return F.batch_norm(x, mean, var, gamma, beta, training=False, eps=eps)


@BACKEND.implementation("matmul", "matmul", "torch.matmul", dtypes=EVERY_FLOAT)
def matmul(a: Tensor, b: Tensor) -> Tensor:
    return torch.matmul(a, b)


@BACKEND.implementation("softmax", "softmax", "torch.nn.functional.softmax", dtypes=EVERY_FLOAT)
def softmax(x: Tensor, *, axis: int) -> Tensor:
    return F.softmax(x, dim=axis)


@BACKEND.implementation("layer_norm", "layer_norm", "torch.nn.functional.layer_norm", dtypes=EVERY_FLOAT)
def layer_norm(x: Tensor, gamma: Tensor, beta: Tensor, *, eps: float) -> Tensor:
    return F.layer_norm(x, gamma.shape, gamma, beta, eps)


@BACKEND.implementation("gelu", "gelu", "torch.nn.functional.gelu(approximate='none')", dtypes=EVERY_FLOAT)
def gelu(x: Tensor) -> Tensor:
    return F.gelu(x, approximate="none")


@BACKEND.implementation("gelu_tanh", "gelu", "torch.nn.functional.gelu(approximate='tanh')", dtypes=EVERY_FLOAT)
def gelu_tanh(x: Tensor) -> Tensor:
    return F.gelu(x, approximate="tanh")


@BACKEND.implementation("tanh", "tanh", "torch.tanh", dtypes=EVERY_FLOAT)
def tanh(x: Tensor) -> Tensor:
    return torch.tanh(x)


@BACKEND.implementation("exp", "exp", "torch.exp", dtypes=EVERY_FLOAT)
def exp(x: Tensor) -> Tensor:
    return torch.exp(x)


@BACKEND.implementation("softplus", "softplus", "torch.nn.functional.softplus", dtypes=EVERY_FLOAT)
def softplus(x: Tensor) -> Tensor:
    return F.softplus(x)


@BACKEND.implementation("sum", "sum", "torch.sum", dtypes=EVERY_FLOAT)
def total(x: Tensor, *, axis: int) -> Tensor:
    return torch.sum(x, dim=axis)

"""PyTorch: torch and torch.nn.functional on views of the engine's arrays, eager or compiled.

The cuda path copies inputs to the device and results back at each call; it runs only where a GPU is present.
"""

from __future__ import annotations

import contextlib
import functools
import importlib.metadata
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from fuzz.backends import torch_gradients
from fuzz.backends.base import (
    BFLOAT16,
    EVERY_FLOAT,
    Array,
    Backend,
    Kernel,
    Lazy,
    Request,
    SimpleKernel,
    Unsupported,
    as_tuple,
)
from fuzz.backends.spelling import Spelling, Wanted
from fuzz.backends.torch_options import OPTIONS, Context, Tensor, channels_last, contexts, inductor, require_compiler
from fuzz.backends.torch_spelling import spelled

torch: Any = Lazy("torch")
F: Any = Lazy("torch.nn.functional")


class TorchBackend(Backend):
    """Results are owned by torch, so writes beyond their ends are not detectable here."""

    name = "torch"
    doc = "PyTorch, eager or torch.compile"
    module = "torch"
    install = "pip install 'ulpfuzz[torch]'"
    options = OPTIONS
    differentiates = "torch.autograd.grad"
    layouts = ("strided", "offset", "F", "channels_last")  # it has no negative strides

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
        options = request.options
        around = contexts(options, request.implementation)
        function: Callable[..., Any] = functools.partial(request.implementation.function, **request.attributes)
        views = tuple(_view(array) for array in request.inputs.values())
        derivative = request.implementation.derivative
        primals = views[: derivative.inputs] if derivative is not None else views
        if options.get("compile", "eager") == "inductor":
            function = inductor(function, primals)
        if options.get("memory_format", "contiguous") == "channels_last":
            function = channels_last(function, tuple(view.dim() for view in primals))
        if derivative is not None:
            function = self.vjp(function, inputs=derivative.inputs, wrt=derivative.wrt, outputs=derivative.outputs)
        mode = torch.inference_mode if derivative is None else torch.no_grad
        if request.device == "cpu":
            run = functools.partial(_run_cpu, mode, function, views)
        else:
            run = functools.partial(_run_cuda, mode, function, views, torch.device(request.device))
        facts = {"threads": options.get("threads", "1")}
        call = functools.partial(_run_inside, around, run) if around else run
        if options.get("compile", "eager") == "inductor":
            _compile(call)
        return SimpleKernel(call, facts=facts)

    def vjp(
        self, function: Callable[..., Any], *, inputs: int, wrt: Sequence[int], outputs: Sequence[int] = (0,)
    ) -> Callable[..., tuple[Any, ...]]:
        return torch_gradients.vjp(function, inputs=inputs, wrt=wrt, outputs=outputs)

    def spell(self, wanted: Wanted) -> Spelling:
        return spelled(wanted)


def _run_cpu(mode: Any, function: Callable[..., Any], views: tuple[Tensor, ...]) -> tuple[Array, ...]:
    with mode():
        return tuple(_array(tensor) for tensor in as_tuple(function(*views)))


def _run_cuda(mode: Any, function: Callable[..., Any], views: tuple[Tensor, ...], device: Any) -> tuple[Array, ...]:
    with mode():
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


def _compile(call: Callable[[], object]) -> None:
    """The first call compiles: now, under the limit for compilation and with the options in force."""
    try:
        call()
    except Exception as error:
        require_compiler(error)
        raise


def _run_inside(around: tuple[Context, ...], run: Callable[[], tuple[Array, ...]]) -> tuple[Array, ...]:
    with contextlib.ExitStack() as stack:
        for context in around:
            stack.enter_context(context())
        return run()


BACKEND = TorchBackend()


@BACKEND.implementation(
    "batch_norm", "batch_norm", "torch.nn.functional.batch_norm(training=False)", dtypes=EVERY_FLOAT
)
def batch_norm(x: Tensor, mean: Tensor, var: Tensor, gamma: Tensor, beta: Tensor, *, eps: float) -> Tensor:
    return F.batch_norm(x, mean, var, gamma, beta, training=False, eps=eps)


@BACKEND.implementation("matmul", "matmul", "torch.matmul", dtypes=EVERY_FLOAT)
def matmul(a: Tensor, b: Tensor) -> Tensor:
    return torch.matmul(a, b)


@BACKEND.implementation("matmul", "einsum", "torch.einsum('ik,kj->ij')", dtypes=EVERY_FLOAT)
def matmul_einsum(a: Tensor, b: Tensor) -> Tensor:
    return torch.einsum("ik,kj->ij", a, b)


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

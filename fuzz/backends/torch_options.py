"""Options of PyTorch: what is set around each call and put back after it, tensors in another layout, torch.compile."""

from __future__ import annotations

import contextlib
import functools
from collections.abc import Callable, Iterator, Mapping
from types import FunctionType
from typing import Any, TypeAlias

from fuzz.backends.base import Implementation, Lazy, OptionSpec, Unsupported, multiplies
from strategies.contract import Contract, ContractError

torch: Any = Lazy("torch")
Tensor: TypeAlias = Any
Context: TypeAlias = Callable[[], contextlib.AbstractContextManager[Any]]
Function: TypeAlias = Callable[..., Any]

IMAGE = 4
"""Dims of tensors that have a layout channels_last: (N, C, H, W)."""
MOST_THREADS = 256
_NO_COMPILER = "InvalidCxxCompiler"
_INPUTS = "option memory_format=channels_last is about inputs of four dims: there is none here"


def threads(text: str) -> str:
    """The canonical spelling of a number of threads; ContractError for what is none."""
    if not text.isdecimal() or not 1 <= int(text) <= MOST_THREADS:
        raise ContractError(f"threads={text}: use a whole number from 1 to {MOST_THREADS}")
    return str(int(text))


def has_images(contract: Contract, implementation: Implementation) -> bool:
    """Whether an input has four dims."""
    return any(len(spec.dims) == IMAGE for spec in contract.inputs)


def is_einsum(contract: Contract, implementation: Implementation) -> bool:
    """Whether the formulation says that it calls torch.einsum."""
    return "torch.einsum" in implementation.source


OPTIONS = (
    OptionSpec(
        "compile", "eager", "inductor: torch.compile, which needs a C++ compiler", ("eager", "inductor"), drawn=()
    ),
    OptionSpec(
        "threads",
        "1",
        "torch.set_num_threads: threads inside an operator",
        canonical=threads,
        example="4",
        drawn=("1", "2", "3", "8"),
    ),
    OptionSpec("mkldnn", "on", "oneDNN kernels (matmul, convolution, some activations)", ("on", "off")),
    OptionSpec(
        "memory_format",
        "contiguous",
        "of inputs with four dims: contiguous (NCHW) or channels_last (NHWC in memory)",
        ("contiguous", "channels_last"),
        suits=has_images,
    ),
    OptionSpec(
        "opt_einsum",
        "on",
        "torch.einsum of three or more operands in the order that opt_einsum finds, where that is installed",
        ("on", "off"),
        suits=is_einsum,
    ),
    OptionSpec(
        "matmul_precision",
        "highest",
        "torch.set_float32_matmul_precision: lower ones may use bfloat16 or TF32 inside a float32 matmul",
        ("highest", "high", "medium"),
        suits=multiplies,
    ),
)


def contexts(options: Mapping[str, str], implementation: Implementation) -> tuple[Context, ...]:
    """What has to be set around each call: nothing for the defaults. Unsupported where an option has no meaning."""
    found: list[Context] = []
    if (number := options.get("threads", "1")) != "1":
        found.append(functools.partial(_threads, int(number)))
    if options.get("mkldnn", "on") == "off":
        found.append(_without_mkldnn)
    if options.get("opt_einsum", "on") == "off":
        if "torch.einsum" not in implementation.source:
            raise Unsupported(f"option opt_einsum is about torch.einsum: {implementation.source} does not call it")
        found.append(_without_opt_einsum)
    if (precision := options.get("matmul_precision", "highest")) != "highest":
        found.append(functools.partial(_matmul_precision, precision))
    return tuple(found)


def channels_last(function: Function, ranks: tuple[int, ...]) -> Function:
    """`function` of tensors that have the layout channels_last where they have four dims; Unsupported for none."""
    if IMAGE not in ranks:
        raise Unsupported(_INPUTS)

    def call(*tensors: Tensor) -> Any:
        images = torch.channels_last
        return function(*(t.contiguous(memory_format=images) if t.dim() == IMAGE else t for t in tensors))

    return call


def inductor(function: Function, tensors: tuple[Tensor, ...]) -> Function:
    """`function` through torch.compile, for tensors of these shapes. It is compiled at its first call.

    torch keeps what it compiled with the code of a function, eight versions of it: each kernel gets code of its own.
    Nothing falls back to eager mode: what cannot be compiled whole raises.
    """
    from torch._inductor import config

    config.compile_threads = 1  # workers of its own would outlive ours
    with torch.inference_mode():
        function(*tensors)  # modules are imported when first used, which the compiler cannot follow

    def call(*tensors: Tensor) -> Any:
        return function(*tensors)

    own = FunctionType(call.__code__.replace(), call.__globals__, "call", None, call.__closure__)
    made: Function = torch.compile(own, fullgraph=True, dynamic=False)
    return made


def require_compiler(error: BaseException) -> None:
    """Unsupported where `error` is that of a machine without a C++ compiler."""
    if _NO_COMPILER in str(error):
        raise Unsupported(
            "torch option compile=inductor needs a C++ compiler: install g++, or name one in CXX"
        ) from None


@contextlib.contextmanager
def _threads(number: int) -> Iterator[None]:
    before = torch.get_num_threads()
    torch.set_num_threads(number)
    try:
        yield
    finally:
        torch.set_num_threads(before)


@contextlib.contextmanager
def _without_mkldnn() -> Iterator[None]:
    before = torch.backends.mkldnn.enabled
    torch.backends.mkldnn.enabled = False
    try:
        yield
    finally:
        torch.backends.mkldnn.enabled = before


@contextlib.contextmanager
def _without_opt_einsum() -> Iterator[None]:
    before = torch.backends.opt_einsum.enabled
    torch.backends.opt_einsum.enabled = False
    try:
        yield
    finally:
        torch.backends.opt_einsum.enabled = before


@contextlib.contextmanager
def _matmul_precision(precision: str) -> Iterator[None]:
    before = torch.get_float32_matmul_precision()
    torch.set_float32_matmul_precision(precision)
    try:
        yield
    finally:
        torch.set_float32_matmul_precision(before)

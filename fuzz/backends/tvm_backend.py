"""TVM on the CPU through LLVM: one compiled function per kernel, called on views of the engine's arrays.

The operators are in `tvm_operators`. Each implementation's `function` takes the request's arrays (for their shapes and
dtypes) and the attributes, and returns the PrimFunc (inputs, then outputs) to compile.
"""

from __future__ import annotations

import functools
import importlib.metadata
import platform
from collections.abc import Mapping
from typing import Any

import numpy as np

from fuzz.backends.base import (
    BFLOAT16,
    Array,
    Backend,
    Kernel,
    Lazy,
    OptionSpec,
    Request,
    SimpleKernel,
    Unsupported,
    last_line,
)
from fuzz.backends.spelling import Spelling, Wanted
from fuzz.backends.tvm_host import host
from fuzz.backends.tvm_options import OPTIONS, SCHEDULES, scheduled_by
from fuzz.backends.tvm_schedules import Scheduled
from fuzz.backends.tvm_spelling import spelled

tvm: Any = Lazy("tvm")


class CompileError(RuntimeError):
    """TVM could not compile the function. The message is the last line of TVM's own."""


class TvmBackend(Backend):
    """The results are written into the engine's buffers.

    TVM's plain "llvm" target is the baseline x86-64 of 2003, without fused multiply-add, on whatever machine it runs:
    that is the default here too. LLVM contracts a*b + c whenever the target has FMA.
    """

    name = "tvm"
    doc = "Apache TVM, llvm code generator"
    module = "tvm"
    install = "pip install 'ulpfuzz[tvm]'"
    default_device = "llvm"
    options = (
        OptionSpec("mcpu", "generic", "generic: baseline of the architecture; host: this CPU", ("generic", "host")),
        OptionSpec("fma", "default", "fused multiply-add: as mcpu has it, or forced", ("default", "on", "off")),
        OptionSpec("fast_math", "off", "LLVM fast-math flags: reassociation, reciprocals, no NaN", ("off", "on")),
        *OPTIONS,
    )

    def versions(self) -> dict[str, str]:
        names = ("apache-tvm", "apache-tvm-ffi")
        return {name: importlib.metadata.version(name) for name in names}

    def warm_up(self) -> None:
        """Import TVM and start its LLVM code generator."""
        _ = tvm.compile, tvm.target.Target("llvm")

    def prepare(self, request: Request) -> Kernel:
        if request.device != "llvm":
            raise Unsupported(f"tvm has no device {request.device!r} here: it has llvm")
        inputs, outputs = tuple(request.inputs.values()), request.outputs
        made = _scheduled(request)
        target = _target(request.options)
        entry = _compile(made.function, target)
        views = tuple(_view(array) for array in (*inputs, *outputs))
        call = functools.partial(_call, functools.partial(entry, *views), outputs)
        keeps = made.keeps_bits and made.primitives and not _merges(request)
        facts = _facts(target) | ({"schedule": "; ".join(made.primitives)} if made.primitives else {})
        return SimpleKernel(call, engine_owned=True, facts=facts, same_bits=SCHEDULES if keeps else ())

    def endangers(self, options: Mapping[str, str]) -> bool:
        return bool(options.get("unsafe_schedule"))

    def explain(self, request: Request) -> tuple[str, ...]:
        """The primitives of the schedule."""
        return _scheduled(request).primitives

    def source(self, request: Request) -> str:
        """The scheduled function as TVMScript."""
        made = _scheduled(request)
        return str(made.function.script()) if made.primitives else ""

    def spell(self, wanted: Wanted) -> Spelling:
        return spelled(wanted)


def _view(array: Array) -> Any:
    """The array as TVM's, sharing its memory.

    TVM would take a NumPy array in the call itself, but unchecked: vector code crashes where it is not aligned.
    """
    if array.size == 0:  # nothing to share, and NumPy gives empty arrays any address
        return tvm.runtime.empty(array.shape, array.dtype.name)
    if array.dtype == BFLOAT16:  # no DLPack type in NumPy
        return tvm.runtime.from_dlpack(array.view(np.int16))._create_view(array.shape, "bfloat16")
    return tvm.runtime.from_dlpack(array)


def _call(run: Any, outputs: tuple[Array, ...]) -> tuple[Array, ...]:
    run()
    return outputs


def _function(request: Request) -> Any:
    """The function to compile, in its default schedule."""
    try:
        return request.implementation.function(*request.inputs.values(), **request.attributes)
    except tvm.error.InternalError as error:  # how topi and relax refuse a dtype or a form
        reason = last_line(error).rpartition(" is false: ")[2]  # leaves out the C++ condition, where there is one
        raise Unsupported(f"{request.implementation.source}: {reason}") from None


def _scheduled(request: Request) -> Scheduled:
    function = _function(request)
    try:
        return scheduled_by(request.options, function)
    except (RuntimeError, TypeError, ValueError) as error:
        raise CompileError(f"TVM cannot schedule this: {last_line(error)}") from None


def _merges(request: Request) -> bool:
    """Whether operations that a schedule moves next to each other may be merged, so that bits depend on schedules.

    LLVM makes a*b + c one operation where the target has FMA, and reassociates under fast-math. TVM computes bfloat16
    in float32 and keeps it there in small buffers, without the rounding between.
    """
    options = request.options
    if request.dtype == "bfloat16":
        return True
    if options.get("fast_math", "off") == "on" or platform.machine().lower() not in ("x86_64", "amd64"):
        return True
    fma = options.get("fma", "default")
    return fma == "on" or (fma == "default" and options.get("mcpu", "generic") != "generic")


def _compile(function: Any, target: Any) -> Any:
    module = tvm.IRModule({"main": function.with_attr("global_symbol", "main")})
    try:
        return tvm.compile(module, target=target)["main"]  # the lookup is when LLVM generates the code
    except (RuntimeError, TypeError, ValueError) as error:  # tvm.error.InternalError is a RuntimeError
        raise CompileError(f"TVM cannot compile this: {last_line(error)}") from None


def _target(options: Mapping[str, str]) -> Any:
    """The TVM target of the options; Unsupported for FMA switches where they mean nothing."""
    wanted: dict[str, Any] = {"kind": "llvm"}
    switches: list[str] = []
    if options.get("mcpu", "generic") == "host":
        wanted["mcpu"], hidden = host()
        switches += hidden
    fma = options.get("fma", "default")
    if fma != "default":
        if platform.machine().lower() not in ("x86_64", "amd64"):
            raise Unsupported(f"tvm option fma={fma} exists on x86-64 only: this is {platform.machine()}")
        switches = [*(switch for switch in switches if switch != "-fma"), "+fma" if fma == "on" else "-fma"]
    if switches:
        wanted["mattr"] = switches
    if options.get("fast_math", "off") == "on":
        wanted["fast-math"] = True
    return tvm.target.Target(wanted)


def _facts(target: Any) -> dict[str, str]:
    attributes = dict(target.attrs)
    return {
        "mcpu": str(attributes.get("mcpu", "generic")),
        "mattr": " ".join(map(str, attributes.get("mattr", ()))),
        "mtriple": str(attributes.get("mtriple", "")),
    }


BACKEND = TvmBackend()

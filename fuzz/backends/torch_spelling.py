"""PyTorch kernels as text: the call itself on tensors made of the script's arrays."""

from __future__ import annotations

from fuzz.backends.spelling import Spelling, Wanted
from fuzz.backends.torch_options import IMAGE

_SAID = ("mkldnn", "memory_format", "opt_einsum", "matmul_precision")


def spelled(wanted: Wanted) -> Spelling:
    """The kernel that TorchBackend.prepare would bind."""
    found = wanted.extract()
    narrow = wanted.dtype == "bfloat16"  # which torch and NumPy cannot exchange: float32 holds its numbers
    return Spelling(
        imports=("import torch", *found.imports),
        definitions=(*_set(wanted), *found.definitions),
        body=(
            *(f"{name} = torch.from_numpy({name}){_sent(name, wanted, narrow)}" for name in wanted.inputs),
            *found.statements,
            *_result(wanted, found.result),
            f"return result{'.float()' if narrow else ''}{'' if wanted.device == 'cpu' else '.cpu()'}.numpy()",
        ),
        versions=(("torch", "torch.__version__"),),
        dtype="float32" if narrow else "",
        settings=_settings(wanted),
        requires=("torch",),
    )


def _result(wanted: Wanted, call: str) -> tuple[str, ...]:
    """Statements that compute `result`; of a gradient by torch.autograd.grad."""
    called = _called(wanted, call)
    if wanted.implementation.derivative is None:
        return (f"result = {called}{f'[{wanted.output}]' if wanted.several else ''}",)
    y = wanted.differentiated("computed" if wanted.several_results else called)
    before = (f"computed = {called}",) if wanted.several_results else ()
    results, cotangents = ", ".join(y), ", ".join(wanted.cotangents)
    if len(y) > 1:
        results, cotangents = f"[{results}]", f"[{cotangents}]"
    return (*before, f"result = torch.autograd.grad({results}, {wanted.moving}, {cotangents})[0]")


def _called(wanted: Wanted, call: str) -> str:
    if wanted.options.get("compile", "eager") == "eager":
        return call
    names = ", ".join(wanted.primals)
    return f"torch.compile(lambda {names}: {call}, dynamic=False)({names})"


def _sent(name: str, wanted: Wanted, narrow: bool) -> str:
    arguments = [] if wanted.device == "cpu" else [repr(wanted.device)]
    arguments += ["torch.bfloat16"] if narrow else []
    if wanted.options.get("memory_format", "contiguous") != "contiguous" and len(wanted.inputs[name]) == IMAGE:
        arguments += ["memory_format=torch.channels_last"]
    sent = f".to({', '.join(arguments)})" if arguments else ""
    moves = wanted.implementation.derivative is not None and name == wanted.moving
    return f"{sent}.requires_grad_()" if moves else sent


def _set(wanted: Wanted) -> tuple[str, ...]:
    """Statements for the options that differ from torch's defaults."""
    lines: list[str] = []
    if wanted.options.get("mkldnn", "on") == "off":
        lines.append("torch.backends.mkldnn.enabled = False")
    if (precision := wanted.options.get("matmul_precision", "highest")) != "highest":
        lines.append(f"torch.set_float32_matmul_precision({precision!r})")
    if wanted.options.get("opt_einsum", "on") == "off":
        lines.append("torch.backends.opt_einsum.enabled = False")
    if (threads := wanted.options.get("threads", "1")) != "1" or wanted.one_thread:
        lines.append(f"torch.set_num_threads({threads})")
    return tuple(lines)


def _settings(wanted: Wanted) -> str:
    changed = [f"{key}={value}" for key, value in wanted.options.items() if key in _SAID]
    number = wanted.options.get("threads", "1")
    threads = f"{number} threads" if number != "1" else "one thread" if wanted.one_thread else "default threads"
    mode = "eager mode" if wanted.options.get("compile", "eager") == "eager" else "torch.compile"
    return f"{mode}, {wanted.device}, {', '.join(changed)}, {threads}"

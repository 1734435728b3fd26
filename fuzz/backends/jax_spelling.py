"""JAX kernels as text: jitted or eager, with x64 switched on where the arrays are float64."""

from __future__ import annotations

from fuzz.backends import jax_batching
from fuzz.backends.spelling import Spelling, Unspellable, Wanted


def spelled(wanted: Wanted) -> Spelling:
    """The kernel that JaxBackend.prepare would compile."""
    found = wanted.extract()
    names = ", ".join(wanted.inputs)
    jitted = wanted.options.get("mode", "jit") == "jit"
    narrow = wanted.dtype == "bfloat16"
    part = f"[{wanted.output}]" if wanted.several else ""
    how, result, statements = wanted.options.get("batch", "whole"), found.result, tuple[str, ...]()
    if how != "whole":
        axes = jax_batching.axes(wanted.implementation, wanted.attributes)
        statements, result = jax_batching.text(wanted.primals, result, how, axes, _mapped_output(wanted))
        part = ""
    if wanted.implementation.derivative is not None:
        y = [result] if how != "whole" else wanted.differentiated(result)
        result, part = _gradient(wanted, y), ""
    call = f"jax.jit(lambda {names}: {result})({names})" if jitted else result
    body = [f"{name} = {_sent(name, wanted, narrow)}" for name in wanted.inputs]
    body += [*statements, f"result = {call}{part}"]
    body += [f"return np.asarray(result{', np.float32' if narrow else ''})"]
    return Spelling(
        imports=("import jax", "import jax.numpy as jnp", *found.imports),
        definitions=(*_set(wanted), *found.definitions),
        body=tuple(body),
        versions=(("jax", "jax.__version__"),),
        dtype="float32" if narrow else "",
        settings=f"{'jit' if jitted else 'eager'}, {wanted.device}, batch {how}, matmul precision "
        f"{wanted.options.get('precision', 'default')}, x64 {'on' if wanted.dtype == 'float64' else 'off'}",
        requires=("jax",),
    )


def _mapped_output(wanted: Wanted) -> int:
    """The output that the mapped function is to return; of a gradient the one with a cotangent."""
    derivative = wanted.implementation.derivative
    if derivative is None:
        return wanted.output
    if len(derivative.outputs) > 1:
        raise Unspellable("a mapped function has one output here, and the gradient needs several")
    return derivative.outputs[0]


def _gradient(wanted: Wanted, y: list[str]) -> str:
    """The gradient that is asked for, by jax.vjp of the function of one input; `y` are the outputs with cotangents."""
    results = y[0] if len(y) == 1 else f"({', '.join(y)})"
    cotangents = ", ".join(wanted.cotangents)
    pulled = cotangents if len(y) == 1 else f"({cotangents})"
    return f"jax.vjp(lambda {wanted.moving}: {results}, {wanted.moving})[1]({pulled})[0]"


def _sent(name: str, wanted: Wanted, narrow: bool) -> str:
    text = f"jnp.asarray({name}{', jnp.bfloat16' if narrow else ''})"
    if wanted.device == "cpu":
        return text
    kind, _, index = wanted.device.partition(":")
    return f"jax.device_put({text}, jax.devices({kind!r})[{int(index or 0)}])"


def _set(wanted: Wanted) -> tuple[str, ...]:
    lines: list[str] = []
    if wanted.device == "cpu":
        lines.append('jax.config.update("jax_platforms", "cpu")')
    if wanted.dtype == "float64":
        lines.append('jax.config.update("jax_enable_x64", True)')
    if (precision := wanted.options.get("precision", "default")) != "default":
        lines.append(f'jax.config.update("jax_default_matmul_precision", {precision!r})')
    return tuple(lines)

"""JAX kernels as text: jitted or eager, with x64 switched on where the arrays are float64."""

from __future__ import annotations

from fuzz.backends import jax_batching
from fuzz.backends.spelling import Spelling, Wanted


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
        statements, result = jax_batching.text(tuple(wanted.inputs), result, how, axes, wanted.output)
        part = ""
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

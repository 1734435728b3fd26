"""Ways of calling that a backend has an option for."""

from __future__ import annotations

from fuzz.backends.base import Array, Unsupported
from fuzz.variants.base import Around, Family, Wrapped
from fuzz.variants.values import counted


def with_option(around: Around, name: str, value: str) -> Wrapped:
    """The kernel with an option of the backend at another value. Unsupported where it has no such option or value."""
    spec = next((spec for spec in around.declared if spec.name == name), None)
    if spec is None or (spec.choices and value not in spec.choices):
        raise Unsupported(f"{around.backend} has no option {name} with such a value")
    if around.request.options.get(name, spec.default) != spec.default:
        raise Unsupported(f"the target sets the option {name} itself")
    if value == spec.default:
        raise Unsupported(f"{name} has this value anyway")
    inputs = around.request.inputs
    shapes = {key: array.shape for key, array in inputs.items()}
    part = around.parts.get(shapes, around.shapes, options={name: value})

    def call() -> tuple[Array, ...]:
        for key, values in inputs.items():
            part.fill(key, values)
        return part.call()

    return Wrapped(call)


THREADS = Family(
    "threads",
    "so many threads inside an operator instead of one, where the backend has an option for it",
    "schedule_variant",
    ("2", "4"),
    counted("number of threads", least=2),
    lambda around, value: with_option(around, "threads", value),
)
FAMILIES = (THREADS,)

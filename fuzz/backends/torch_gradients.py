"""Gradients by torch.autograd: an adapter for any function of tensors."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from fuzz.backends.base import Lazy, as_tuple
from fuzz.backends.torch_options import Tensor

torch: Any = Lazy("torch")
_CUT = (
    "no gradient flows from the outputs to the inputs (requires_grad is False): detach(), no_grad(), NumPy or integers "
    "inside cut it off"
)


def vjp(
    function: Callable[..., Any], *, inputs: int, wrt: Sequence[int], outputs: Sequence[int] = (0,)
) -> Callable[..., tuple[Tensor, ...]]:
    """A function of the `inputs` inputs of `function` and of the cotangents of its outputs number `outputs`, that gives
    the gradients with respect to the inputs number `wrt`, by torch.autograd.grad.

    An input that nothing flows to has gradient 0, and an output that depends on none adds nothing; where that is true
    of every output, RuntimeError, because torch would not differentiate either. The function runs in grad mode, also
    where the caller is in no_grad; in inference mode, whose tensors know no gradients, it cannot.
    """

    def gradients(*tensors: Tensor) -> tuple[Tensor, ...]:
        primals, cotangents = tensors[:inputs], tensors[inputs:]
        with torch.enable_grad():
            leaves = [x.detach().requires_grad_(n in wrt) for n, x in enumerate(primals)]
            results = as_tuple(function(*leaves))
            flowing = [(results[n], d) for n, d in zip(outputs, cotangents, strict=True) if results[n].requires_grad]
            if not flowing:
                raise RuntimeError(_CUT)
            ends, directions = zip(*flowing, strict=True)
            moving = [leaves[number] for number in wrt]
            return tuple(torch.autograd.grad(ends, moving, directions, materialize_grads=True))

    return gradients

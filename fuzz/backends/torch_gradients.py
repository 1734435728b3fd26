"""Gradients by torch.autograd: an adapter for any function of tensors."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from fuzz.backends.base import Derivative, Lazy, as_tuple
from fuzz.backends.torch_options import Tensor

torch: Any = Lazy("torch")


def vjp(function: Callable[..., Any], derivative: Derivative) -> Callable[..., tuple[Tensor, ...]]:
    """A function of the inputs of `function` and of cotangents that gives the gradients, by torch.autograd.grad.

    An input that nothing flows to has gradient 0. The function runs in grad mode, whatever mode the caller is in.
    """

    def gradients(*tensors: Tensor) -> tuple[Tensor, ...]:
        primals, cotangents = tensors[: derivative.inputs], tensors[derivative.inputs :]
        with torch.enable_grad():
            leaves = [x.detach().requires_grad_(n in derivative.wrt) for n, x in enumerate(primals)]
            results = as_tuple(function(*leaves))
            return tuple(
                torch.autograd.grad(
                    [results[number] for number in derivative.outputs],
                    [leaves[number] for number in derivative.wrt],
                    cotangents,
                    materialize_grads=True,
                )
            )

    return gradients

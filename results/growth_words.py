"""What is said beside figures of growth, in the terminal and on the pages."""

from __future__ import annotations

from collections.abc import Sequence

from results.growths import Panel

LENGTHS = (
    "Against the length n of the reduction: the largest error of an output (root mean square over outputs), in units "
    "of what is excused where a reduction is rounded once. About constant is what trees and blocks of sums give; the "
    "square root of n is a running sum with independent roundings; n is a warning. On data of both signs every law is "
    "flatter."
)
DIMS = (
    "Against another dim: the root mean square error of an output relative to the mean of |y|, while the other dims "
    "stay as they are. Independent roundings of a chain of layers grow like the square root of its depth; an error of "
    "one sign in each layer grows like the depth itself."
)


def explained(panels: Sequence[Panel]) -> tuple[str, ...]:
    """What the figures are, of the kinds that occur."""
    lengths = [LENGTHS] if any(not panel.dim for panel in panels) else []
    return (*lengths, *([DIMS] if any(panel.dim for panel in panels) else []))

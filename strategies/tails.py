"""Recipes with heavy tails: a few elements far larger than the others."""

from __future__ import annotations

import numpy as np

from strategies.elements import generated, settle
from strategies.precision import DType, precision
from strategies.recipe import Array, ParameterError, Recipe, Support, register

MOST_FREEDOM = 32
"""Degrees of freedom of student(): one more normal number an element each, and hardly heavier than normal beyond."""


@register("student", example="student(3)")
class Student(Recipe, frozen=True):
    """Student's t with nu degrees of freedom, z0 / sqrt((z1**2 + ... + znu**2) / nu), all z standard normal: the tail
    falls like |x|**-(nu+1), nu = 1 is Cauchy's distribution.

    Evaluated in the home dtype (float32 for 16-bit formats, then rounded), the root taken as u where it is less, the
    result as the largest number of the home dtype where it is more.
    """

    nu: int

    def validate(self) -> None:
        if not 1 <= self.nu <= MOST_FREEDOM:
            raise ParameterError(f"nu of student is {self.nu}: use 1 to {MOST_FREEDOM} degrees of freedom", "nu")

    def support(self, home: DType) -> Support:
        largest = precision(home).largest
        return -largest, largest

    def fill(self, stream: np.random.Generator, out: Array) -> None:
        values = generated(out)
        kind = values.dtype.type
        stream.standard_normal(dtype=values.dtype, out=values)
        squares = np.zeros(values.shape, values.dtype)
        for _ in range(self.nu):
            z = stream.standard_normal(size=values.shape, dtype=values.dtype)
            squares += z * z
        squares /= kind(self.nu)
        values /= np.maximum(np.sqrt(squares), kind(precision(values.dtype.name).unit_roundoff))
        largest = kind(precision(out.dtype.name).largest)
        np.clip(values, -largest, largest, out=values)
        settle(values, out)

"""A backend whose tanh is half of what it should be."""

import numpy as np

from fuzz.extend import FunctionBackend, register

mine = FunctionBackend("mine")


@mine.operator("tanh")
def half(x):
    return np.tanh(x) * np.float32(0.5)


register(mine)

"""Metrics of one output against the truth, or of two outputs against each other, with preallocated buffers.

`Yardstick` prepares once a trial what all targets share (1/|v|, 1/(uE), 1/ulp); each target then costs one pass a
figure. Elements where a side is not finite are taken out first and counted.
"""

from fuzz.measure.measurement import Measurement, Spot
from fuzz.measure.pair import PairYardstick
from fuzz.measure.yardstick import Yardstick

__all__ = ["Measurement", "PairYardstick", "Spot", "Yardstick"]

"""Metrics of one output against the truth, or of two outputs against each other, with preallocated buffers.

`Yardstick` prepares once a trial what all targets share (1/|v|, 1/(uE), 1/ulp); each target then costs one pass a
figure. `BoundYardstick` knows those in units of the bound only, which suffice to explain an error. Elements where a
side is not finite are taken out first and counted.
"""

from fuzz.measure.against_bound import BoundYardstick
from fuzz.measure.measurement import BoundFigures, Measurement, Spot
from fuzz.measure.pair import PairYardstick
from fuzz.measure.yardstick import Yardstick

__all__ = ["BoundFigures", "BoundYardstick", "Measurement", "PairYardstick", "Spot", "Yardstick"]

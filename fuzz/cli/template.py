"""`ulpfuzz init`: a commented campaign file to start from."""

from __future__ import annotations

from pathlib import Path

from fuzz.errors import StorageError, UserError

TEMPLATE = """# A campaign of ulpfuzz: ulpfuzz run {name}
# Lines that are commented out show the default or a possible value.

title = "Are tanh and softmax healthy here?"

# fixed: the problems below; survey: problems drawn at random, one a trial (then without dims and inputs);
# explore: problems chosen to find failures (no rates); search: inputs with large errors are sought (no rates).
plan = "fixed"
seed = 0

# When it ends. Without any of the three: after 1000 trials a problem.
trials = 200                                # a problem, of each dtype
# time = "8h"                               # all runs together; `ulpfuzz resume` goes on with what is left of it
# until = "decided"                         # once the rate is above or below that of fail_on or published

# What makes exit code 1: new (a finding that is not known), wrong, none, or a rate of flagged trials.
# fail_on = "rate>0.01"
# known = "known.toml"                      # known findings and reasons; `ulpfuzz findings` writes one

dtype = ["float32"]                         # also float64, float16, bfloat16
# targets = ["numpy", "torch", "jax", "tvm", "tvm:llvm[mcpu=host]"]     # default: every backend installed
# pairs = [["torch", "tvm"]]                # compare two targets with each other, too
# variants = ["batch", "layout[strided]"]   # call each target in other ways, too: `ulpfuzz list variants`
# extensions = ["mine.py"]                  # Python files that register backends or operators

# A rate that somebody reported, to be compared with this campaign's.
# [published]
# rate = "38/5000"
# pair = ["torch", "tvm"]
# above = 1                                 # counts trials with a relative error above 1e-1

# As many as you like. A list stands for one problem with each of its values.
[[problem]]
operator = "tanh"                           # `ulpfuzz list operators`
dims = {{ n = [1000, 4096] }}
inputs = {{ x = ["normal(0,1)", "loguniform(1e-9,1)"] }}    # `ulpfuzz list recipes`

[[problem]]
operator = "softmax"
dims = {{ rows = 16, n = 256 }}
# attributes = {{ axis = -1 }}
# inputs: left out, the operator's own default
"""


def write(path: Path) -> None:
    """Write the file. UserError where there is one already, StorageError where it cannot be written."""
    try:
        with path.open("x", encoding="utf-8") as file:
            file.write(TEMPLATE.format(name=path))
    except FileExistsError:
        raise UserError(f"{path} exists already: name another file") from None
    except OSError as error:
        raise StorageError(f"cannot write {path}: {error.strerror or error}: name another file") from None

"""What mcpu=host is: LLVM's name of this processor, without the vector units that a hypervisor hides.

LLVM goes by the model. A virtual machine may have its AVX-512 or AMX switched off, and code for them ends the process
with SIGILL.
"""

from __future__ import annotations

import functools
from collections.abc import Collection, Iterable
from typing import Any

from fuzz.backends.base import Lazy

tvm: Any = Lazy("tvm")

UNITS = ("avx", "amx", "fma", "xop", "f16c")
"""How the names of such features begin, with LLVM and with Linux."""


@functools.cache
def host() -> tuple[str, tuple[str, ...]]:
    """LLVM's name of this processor, and the features it would use that are not there, e.g. "-avx512f"."""
    from fuzz.campaigns.environment import cpu

    name = str(tvm.target.Target.from_device("cpu").attrs["mcpu"])
    supposed = tvm.target.codegen.llvm_get_cpu_features(tvm.target.Target({"kind": "llvm", "mcpu": name}))
    return name, hidden(map(str, supposed), cpu()[1])


def hidden(supposed: Iterable[str], present: Collection[str]) -> tuple[str, ...]:
    """Switches for the vector features in `supposed` (LLVM's names) that `present` (Linux's) lacks; none where that
    is not known."""
    plain = {name.replace("_", "").replace(".", "") for name in present}
    if not plain:
        return ()
    lacking = (name for name in supposed if name.startswith(UNITS) and name.replace("-", "") not in plain)
    return tuple(f"-{name}" for name in sorted(lacking))

"""Samples of the design space that TVM's meta_schedule has for a function: the schedules its tuner would choose from.

Neither its tuner nor its database is used. The rules are given one by one: those that it derives from a target
crash it (TVM 0.27, llvm).
"""

from __future__ import annotations

import contextlib
import re
import sys
from collections.abc import Iterator
from types import ModuleType
from typing import Any

from fuzz.backends.base import Lazy, Unsupported, last_line
from fuzz.backends.tvm_nests import vectorizable
from fuzz.backends.tvm_orders import order_kept
from fuzz.backends.tvm_schedules import Scheduled
from fuzz.backends.tvm_traces import Replay
from strategies.canonical import identity
from strategies.contract import ContractError

tvm: Any = Lazy("tvm")
s_tir: Any = Lazy("tvm.s_tir")
ms: Any = Lazy("tvm.s_tir.meta_schedule")

LARGEST = 999_999
"""Of a seed: far more than are drawn, and short to write."""

_FORM = re.compile("[0-9]{1,6}")
_CORES = 4
"""What parallel loops and partial results are made for, on every machine: a sample means the same everywhere."""
_JOBS_A_CORE = 16
_WIDEST_VECTOR = 64
_INNERMOST = 64
"""Most iterations of the innermost part of a loop that is split. These three are meta_schedule's own for llvm."""
_NO_VECTORS = -1
_STATES = 2**31 - 2
"""States of the generator behind TVM's sampling, from 1 on: a linear congruential one modulo 2^31 - 1."""
_INTRINSICS = "tvm.s_tir.tensor_intrin"


def canonical_seed(text: str) -> str:
    """The canonical spelling of a seed, "" for none; ContractError for what is neither."""
    if text and not _FORM.fullmatch(text):
        raise ContractError(f"cannot read meta_schedule {text!r}: write a whole number from 0 to {LARGEST}, a seed")
    return str(int(text)) if text else ""


def sampled(function: Any, seed: str) -> Scheduled:
    """`function` (a PrimFunc with named blocks) under sample number `seed`; Unsupported where meta_schedule has none.

    A pure function of the two. Bits are kept where both programs show that every reduction has its order.
    """
    replay = Replay(function).run(sample_statements(function, seed))
    if not replay.primitives:
        raise Unsupported("meta_schedule finds nothing to schedule in this function")
    return Scheduled(replay.function, tuple(replay.primitives), order_kept(function, replay.function))


def sample_statements(function: Any, seed: str) -> tuple[str, ...]:
    """The sample as Python statements on `sch`, an s_tir.Schedule of `function`: TVM's own trace of it."""
    return tuple(str(line) for line in sample(function, seed).trace.simplified(False).as_python())


def sample(function: Any, seed: str) -> Any:
    """The sample as an s_tir.Schedule with its trace; Unsupported where meta_schedule has none."""
    number = int(identity({"meta_schedule": int(seed)}), 16)  # seeds next to each other start that generator alike
    try:
        postprocessors = _postprocessors()
        spaces = _spaces(function, postprocessors)
        which, state = number % len(spaces), 1 + number // len(spaces) % _STATES
        schedule = s_tir.Schedule(function, seed=state, error_render_level="none")
        instructions, _ = spaces[which].trace.as_json(True)
        s_tir.schedule.Trace.apply_json_to_schedule([instructions, []], schedule)  # without decisions: drawn anew
        schedule.enter_postproc()
        for name, postprocessor in postprocessors.items():
            if not postprocessor.apply(schedule):
                raise Unsupported(f"meta_schedule refuses sample {seed}: {name}")
    except RuntimeError as error:  # tvm.error.InternalError and ScheduleError are RuntimeErrors
        raise Unsupported(f"meta_schedule cannot schedule this: {last_line(error)}") from None
    return schedule


def _spaces(function: Any, postprocessors: dict[str, Any]) -> list[Any]:
    """The schedules without decisions that differ in their primitives; samples of one differ in sizes and places."""
    space = ms.space_generator.PostOrderApply(
        sch_rules=_rules(vectorizable(function)), postprocs=list(postprocessors.values()), mutator_probs={}
    )
    module = s_tir.Schedule(function).mod  # a copy: schedules of a module may change statements that it shares
    target = tvm.target.Target({"kind": "llvm", "num-cores": _CORES})
    with _without_intrinsics():
        context = ms.TuneContext(module, target=target, space_generator=space, rand_state=1, num_threads=1)
    return list(context.generate_design_space())


def _rules(vectors: bool) -> list[Any]:
    """What meta_schedule has for llvm, less what is about intrinsics of some processor."""
    rule = ms.schedule_rule
    return [
        rule.AutoInline(
            into_producer=False,
            into_consumer=True,
            inline_const_tensor=True,
            disallow_if_then_else=True,
            require_injective=True,
            require_ordered=True,
            disallow_op=["tirx.exp"],
        ),
        rule.AddRFactor(max_jobs_per_core=_JOBS_A_CORE, max_innermost_factor=_INNERMOST),
        rule.MultiLevelTiling(
            structure="SSRSRS",
            tile_binds=None,
            max_innermost_factor=_INNERMOST,
            vector_load_lens=None,
            reuse_read=None,
            reuse_write=rule.ReuseType(req="may", levels=[1, 2], scope="global"),
        ),
        rule.ParallelizeVectorizeUnroll(
            max_jobs_per_core=_JOBS_A_CORE,
            max_vectorize_extent=_WIDEST_VECTOR if vectors else _NO_VECTORS,
            unroll_max_steps=[0, 16, 64],
            unroll_explicit=True,
        ),
        rule.RandomComputeLocation(),
    ]


def _postprocessors() -> dict[str, Any]:
    kinds = ("DisallowDynamicLoop", "RewriteParallelVectorizeUnroll", "RewriteReductionBlock")
    return {kind: getattr(ms.postproc, kind)() for kind in kinds}


@contextlib.contextmanager
def _without_intrinsics() -> Iterator[None]:
    """An empty module in the place of TVM's intrinsics of CUDA, Hexagon and others, where they are not loaded yet.

    TuneContext imports them when it is made, which takes half a minute of parsing, and none of our rules uses one. The
    module is taken away again: whoever wants them after that gets TVM's.
    """
    if _INTRINSICS in sys.modules:
        yield
        return
    sys.modules[_INTRINSICS] = ModuleType(_INTRINSICS)
    try:
        yield
    finally:
        del sys.modules[_INTRINSICS]

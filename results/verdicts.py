"""The verdicts: names, order of severity, sentences, and which are findings. One table, read everywhere."""

from __future__ import annotations

from msgspec import Struct

from results.quoting import quoted


class Verdict(Struct, frozen=True):
    """One kind of answer to "bug or rounding?"."""

    name: str
    severity: int
    """Position in the order: the worst element's verdict, the one with the highest severity, is the trial's."""
    finding: bool
    """Counts against the implementation (exit code 1). The rest is explained, or says nothing about it."""
    sentence: str
    """What the verdict means, completing "The result ..."."""


_TABLE: tuple[tuple[str, bool, str], ...] = (
    ("exact", False, "equals the correctly rounded truth bit for bit"),
    ("rounding", False, "differs from the truth by no more than rounding explains"),
    (
        "ill_conditioned",
        False,
        "has a large relative error that the input causes: any implementation that rounds has it",
    ),
    ("borderline", False, "lies between one and two error bounds: still within what rounding explains"),
    ("unsupported", False, "does not exist: the backend does not offer this operator in this form"),
    ("indeterminate", False, "cannot be judged: the oracle says why"),
    (
        "accumulation_order",
        False,
        "is explained by a long chain of additions in working precision: a choice, not a defect",
    ),
    ("subnormals_flushed", True, "treats subnormal numbers as zero and is otherwise within rounding"),
    ("not_correctly_rounded", True, "is not correctly rounded although IEEE 754 requires it for this operation"),
    ("low_precision", True, "is explained by a coarser unit roundoff than its dtype has (TF32, bfloat16)"),
    ("silent_downcast", True, "has a wide dtype but was computed in a narrower one"),
    ("dtype_mismatch", True, "has another dtype than its inputs promise"),
    ("batch_variant", True, "depends on the size of the batch beyond what rounding explains"),
    ("layout_variant", True, "depends on the memory layout beyond what rounding explains"),
    ("position_variant", True, "depends on the position in the array beyond what rounding explains"),
    ("schedule_variant", True, "depends on a schedule or an option that may not change it"),
    ("nondeterministic", True, "changes from run to run on the same input beyond what rounding explains"),
    ("unstable", True, "loses more than rounding and conditioning explain, in proportion to the precision"),
    ("identity_broken", True, "breaks an identity that the operator must keep"),
    ("out_of_range", True, "lies outside the operator's range"),
    ("nonfinite_mismatch", True, "is NaN or infinite where the truth is finite, or the reverse"),
    ("wrong", True, "has an error that does not shrink with precision: the formula, a constant or the data is wrong"),
    ("input_modified", True, "came with a change of the caller's input"),
    ("out_of_bounds_write", True, "came with a write outside the output buffer"),
    ("raised", True, "does not exist: the implementation raised an error"),
    ("out_of_memory", True, "does not exist: memory ran out"),
    ("timed_out", True, "does not exist: the call did not end within its limit"),
    ("crashed", True, "does not exist: the process died"),
)

VERDICTS: dict[str, Verdict] = {
    name: Verdict(name, severity, finding, sentence) for severity, (name, finding, sentence) in enumerate(_TABLE)
}
"""Every verdict by name, in order of severity."""

NO_VALUE: frozenset[str] = frozenset({"unsupported", "raised", "out_of_memory", "timed_out", "crashed"})
"""Verdicts of trials that produced no output to measure."""


def worst(names: list[str]) -> str:
    """The most severe of `names` (at least one)."""
    return max(names, key=lambda name: VERDICTS[name].severity)


def verdicts_sql() -> str:
    """The verdicts in order of severity, as the query behind the view `verdicts`.

    In SQL and not as an Arrow table: making one of Python values would import pandas where it is there.
    """
    rows = ", ".join(
        f"({quoted(verdict.name)}, {verdict.severity}::BIGINT, {verdict.finding}, {quoted(verdict.sentence)})"
        for verdict in VERDICTS.values()
    )
    return f"SELECT * FROM (VALUES {rows}) AS v(name, severity, finding, sentence)"

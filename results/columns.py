"""The row: one table of columns. docs/schema.md is generated from it; columns are only ever added."""

from __future__ import annotations

from typing import Literal, TypeAlias

from msgspec import Struct

Kind: TypeAlias = Literal["string", "int64", "float64"]
Cell: TypeAlias = str | int | float | None
Row: TypeAlias = dict[str, Cell]
"""Values by column name; a missing column is null."""

SCHEMA_VERSION = 6
FLAG = 2.0
"""An element with a larger rho is flagged (fuzz.thresholds)."""

INTERNAL = ("float32", "storage", "beyond")
"""Values of the column `internal`, the most accurate first."""

RUNGS: tuple[int, ...] = tuple(range(1, 13))
"""k of the relative-error ladder 1e-k."""


ALLOWANCES: tuple[int, ...] = (1, 2, 4, 8, 16, 32, 128, 512, 2048)
"""Values of rtol, in units of u, beside which the atol is kept that a trial needs; with rtol = 0 it is `abs_max`."""


class Column(Struct, frozen=True):
    """One column: its Arrow type, its unit, what it says, the schema version that brought it."""

    name: str
    kind: Kind
    unit: str
    doc: str
    since: int = 1


def _rung_columns() -> tuple[Column, ...]:
    return tuple(
        Column(rung_column(k), "int64", "elements", f"elements with relative error above 1e-{k}") for k in RUNGS
    )


def rung_column(k: int) -> str:
    """Name of the column that counts relative errors above 1e-k."""
    return f"above_1e{k:02d}"


def allowance_column(multiple: int) -> str:
    """Name of the column with the atol that a trial needs beside rtol = multiple * u."""
    return f"atol_{multiple:04d}u"


def _allowance_columns() -> tuple[Column, ...]:
    return tuple(
        Column(
            allowance_column(k),
            "float64",
            "output units",
            f"largest |error| - {k} u |truth|, 0 where none is positive: smallest atol that passes with rtol = {k} u "
            "(rounded up to 12 bits)",
            since=4,
        )
        for k in ALLOWANCES
    )


_BITS = "; only where the input is bits(...)"
_ACCURACY: tuple[Column, ...] = (
    Column("ulp_value", "float64", "output units", f"output at the largest ulp error{_BITS}", since=3),
    Column("ulp_truth", "float64", "output units", f"truth there{_BITS}", since=3),
    Column("ulp_input", "float64", "input units", f"input there{_BITS}", since=3),
    Column(
        "ulp_normal_max",
        "float64",
        "ulp",
        f"largest error in ulp where neither input nor truth is subnormal; null where there is none such{_BITS}",
        since=3,
    ),
    Column("ulp_normal_input", "float64", "input units", f"input there{_BITS}", since=3),
    Column(
        "nonfinite_input",
        "float64",
        "input units",
        f"input of the first element counted in nonfinite_mismatch{_BITS}",
        since=3,
    ),
    Column(
        "correctly_rounded",
        "int64",
        "elements",
        "outputs that are the number nearest to the exact value (ties to even; zeros of either sign are one value, NaN "
        f"agrees with NaN); null for float64{_BITS}",
        since=3,
    ),
    Column(
        "rounding_undecided",
        "int64",
        "elements",
        f"outputs not counted there because it was not decided which number is nearest{_BITS}",
        since=3,
    ),
)
"""What an accuracy table needs."""

COLUMNS: tuple[Column, ...] = (
    # row key
    Column("problem_id", "string", "", "hash of operator, attributes, dims, home dtype and recipes"),
    Column("seed", "int64", "", "campaign seed"),
    Column(
        "index", "int64", "", "number of the draw within the problem; inputs are a function of (draw_id, seed, index)"
    ),
    Column("output", "string", "", "name of the output"),
    Column("target", "string", "", "backend, device and options in canonical spelling"),
    Column("variant", "string", "", "wrapper of the kernel (batch, layout, ...); empty for none"),
    Column(
        "against",
        "string",
        "",
        "what the output is compared with: 'truth', another target, or under a variant the same one without",
    ),
    # what was run
    Column("trial", "string", "", "short name of the trial for `ulpfuzz repro`"),
    Column("draw_id", "string", "", "hash of dims, home dtype and recipes"),
    Column("operator", "string", "", "operator"),
    Column("attributes", "string", "", "attributes, canonical JSON"),
    Column("dims", "string", "", "sizes, e.g. C=32,H=28,N=2,W=28"),
    Column("recipes", "string", "", "input recipes as expressions"),
    Column("home", "string", "", "dtype at which the inputs were drawn"),
    Column("backend", "string", "", "backend of the target"),
    Column("device", "string", "", "device of the target"),
    Column("options", "string", "", "options of the target"),
    Column("dtype", "string", "", "dtype in which the target computes"),
    Column("implementation", "string", "", "named formulation that ran"),
    Column(
        "provenance", "string", "", "library (the library offers it), composed (written from its primitives) or user"
    ),
    Column("elements", "int64", "elements", "size of the output"),
    Column("reduction_length", "int64", "summands", "longest reduction inside the operator; 0 if none"),
    Column("environment", "string", "", "hash of the environment record in environments.json"),
    # verdict
    Column("verdict", "string", "", "see docs/verdicts.md"),
    Column("detail", "string", "", "why, in one sentence"),
    Column(
        "region",
        "string",
        "",
        "where the worst element of a finding lies, coarsely (docs/findings.md); null where the row is no finding",
        since=2,
    ),
    Column("profile", "string", "", "profile of elementary-function constants used by the bound"),
    Column("known_by", "string", "", "arithmetic in which the truth was computed"),
    # absolute error
    Column("abs_max", "float64", "output units", "largest absolute error"),
    Column("abs_rms", "float64", "output units", "root mean square error"),
    Column("abs_mean", "float64", "output units", "mean signed error (bias)"),
    Column(
        "rms_ratio",
        "float64",
        "1",
        "of a row against another target: abs_rms against the truth of `target` divided by that of `against`; 1 where "
        "they are equal, null where one is missing or has elements that are not finite",
        since=6,
    ),
    # relative error: no mean, it has no expectation
    Column("rel_max", "float64", "1", "largest relative error; 0 where both agree, inf where only the truth is 0"),
    Column("rel_index", "int64", "", "flat index of the largest relative error"),
    Column("rel_value", "float64", "output units", "output there"),
    Column("rel_truth", "float64", "output units", "truth (or the other target's value) there"),
    Column(
        "rel_amplification",
        "float64",
        "1",
        "amplification there: E/|truth|, error relative to the result per unit roundoff",
    ),
    *_rung_columns(),
    # tolerances
    Column(
        "truth_mean",
        "float64",
        "output units",
        "mean of |truth|, or of the other target's; 12 bits",
        since=4,
    ),
    *_allowance_columns(),
    # ulp
    Column("ulp_max", "float64", "ulp", "largest error in units in the last place of the truth at the target's dtype"),
    Column("ulp_index", "int64", "", "flat index of the largest ulp error"),
    *_ACCURACY,
    # rho = |error| / (u E)
    Column("rho_max", "float64", "1", "largest rho = |error|/(u E) under the sqrt(n) model: > 2 is flagged"),
    Column("rho_index", "int64", "", "flat index of the largest rho"),
    Column("rho_value", "float64", "output units", "output there"),
    Column("rho_truth", "float64", "output units", "truth there"),
    Column("rho_amplification", "float64", "1", "amplification there"),
    Column("rho_ideal", "float64", "1", "rho at that element if reductions rounded once"),
    Column("rho_tree", "float64", "1", "rho at that element if reductions were pairwise"),
    Column("rho_sequential", "float64", "1", "rho at that element under the worst-case bound n u"),
    Column(
        "rho_tree_max",
        "float64",
        "1",
        "largest rho under the pairwise model; null where it cannot exceed the order threshold",
    ),
    Column("rho_mean", "float64", "1", "mean signed rho (bias in units of the bound)"),
    Column(
        "rho_internal",
        "float64",
        "1",
        "largest |error|/(u32 E + u |truth|), float32 inside and rounded once; null for float32 and float64",
    ),
    Column(
        "internal",
        "string",
        "",
        "float32 (rho_internal <= 2), storage (beyond that, rho <= 2) or beyond: precision inside a 16-bit result",
    ),
    Column(
        "flagged", "int64", "elements", "elements with rho > 2; 0 where reading subnormals as zero explains them all"
    ),
    # nonfinite values
    Column("nan_count", "int64", "elements", "NaN in the output"),
    Column("inf_count", "int64", "elements", "infinities in the output"),
    Column(
        "nonfinite_mismatch", "int64", "elements", "NaN or infinite on one side only, or infinities of opposite sign"
    ),
    Column(
        "overflow_explained", "int64", "elements", "of these, where the formula itself leaves the range of the dtype"
    ),
    # precision ladder
    Column("rung_dtype", "string", "", "dtype of the other rung of the precision ladder; null where it was not run"),
    Column("rung_rho", "float64", "1", "largest rho on that rung"),
    Column("rung_slope", "float64", "1", "s: 0 error shrinks with precision, 1 it does not; null where undefined"),
    Column("rung_abs", "float64", "output units", "largest absolute error on that rung", since=5),
    # certification of the oracle
    Column(
        "certified",
        "int64",
        "elements",
        "elements at which Arb (or mpmath) confirmed the truth or took its place; 0 where their slices are too large, "
        "null where the trial was not chosen: flagged outputs and 1 trial in 1,000 are, and the first of bits(...)",
    ),
    # identity of bits, cost, failure
    Column("input_digest", "string", "", "xxh3-128 of the inputs"),
    Column("output_digest", "string", "", "xxh3-128 of the output: equal digests are equal bits"),
    Column("seconds", "float64", "s", "wall time of the call"),
    Column("error", "string", "", "message of an error, signal of a crash"),
)

TIMINGS: frozenset[str] = frozenset({"seconds"})
"""Columns that differ between two runs of one campaign."""

KEY: tuple[str, ...] = ("problem_id", "seed", "index", "output", "target", "variant", "against")
"""Columns that name a row uniquely."""

ELEMENT_COLUMNS: tuple[Column, ...] = (
    *(column for column in COLUMNS if column.name in (*KEY, "trial", "operator", "dtype")),
    Column("kind", "string", "", "worst (by rho), relative or absolute (by that error) or random"),
    Column("element", "int64", "", "flat index in the output"),
    Column("value", "float64", "output units", "output of the target"),
    Column("truth", "float64", "output units", "truth"),
    Column("bound", "float64", "output units", "E: first-order error bound per unit roundoff"),
    Column("amplification", "float64", "1", "E/|truth|"),
    Column("rho", "float64", "1", "|error|/(u E)"),
    Column("inputs", "string", "", "leading inputs of the element, canonical JSON"),
)
"""Columns of elements/<shard>.parquet: the worst and some random elements of sampled trials."""

FINDING_COLUMNS: tuple[Column, ...] = (
    Column("id", "string", "", "hash of the signature, the next nine columns: the same in every campaign", since=2),
    *(
        Column(name, "string", "", doc, since=2)
        for name, doc in (
            ("operator", "operator"),
            ("output", "name of the output"),
            ("backend", "backend of the target"),
            ("device", "device of the target"),
            ("options", "options of the target"),
            ("dtype", "dtype in which the target computes"),
            ("verdict", "see docs/verdicts.md"),
            ("against", "kind of what the output is compared with: 'truth' or 'target'"),
            ("region", "where, coarsely: see docs/findings.md; empty in campaigns of schema version 1"),
            ("target", "the target as the campaign spells it"),
            ("provenance", "library, composed (not blamed on the library) or user"),
            ("variants", "wrappers of the kernel under which it was seen; empty for the plain kernel"),
            ("title", "the finding in one sentence"),
        )
    ),
    Column("trials", "int64", "trials", "trials that have it", since=2),
    Column("of_trials", "int64", "trials", "trials that the target ran of this operator and dtype", since=2),
    Column("not_run", "int64", "trials", "trials not run, because the target had ended too many workers", since=2),
    Column("rate_low", "float64", "1", "exact 95 % interval of the rate; null where the plan allows none", since=2),
    Column("rate_high", "float64", "1", "its upper end", since=2),
    Column("trial", "string", "", "name of the worst trial for `ulpfuzz repro`", since=2),
    Column("worst_rho", "float64", "1", "largest rho; null where there was no output", since=2),
    Column("worst_relative", "float64", "1", "largest relative error", since=2),
    Column("worst_ulp", "float64", "ulp", "largest error in ulp", since=2),
    Column("detail", "string", "", "why, in one sentence, at the worst trial", since=2),
    Column("environments", "string", "", "environments in which it was seen, the first first, JSON", since=2),
    Column("versions", "string", "", "versions of the library concerned in them, JSON", since=2),
)
"""Columns of findings.parquet: a table computed from the rows, which can be computed again at any time."""

CAMPAIGN = Column("campaign", "string", "", "directory of the campaign, as it was named on opening", since=0)
"""One more column of every table that SQL sees and `export` writes: no file holds it."""

"""What a check says: a verdict, a sentence, figures. Made from the campaign's rows alone."""

from __future__ import annotations

from pathlib import Path

from msgspec import Struct, structs

from fuzz.checking.made import Made, Subject
from fuzz.checking.places import where_flagged, where_largest
from fuzz.operators.gradients import gradient_name, is_gradient
from results.closer import CloserLine, closer_lines
from results.reading import Results
from results.reading import open as open_results
from results.statistics.proportions import Interval, rate_interval
from results.tallies import PAIRS
from results.variant_words import answer, bits
from results.variants import VariantTally, by_family, variant_bits, variant_tallies
from results.verdicts import NO_VALUE, VERDICTS, worst


class Line(Struct, frozen=True):
    """One function against the truth, over all trials."""

    name: str
    library: str
    gradient: bool
    """Whether this is about its gradients."""
    verdict: str
    detail: str
    trials: int
    failed: Interval
    """Trials whose verdict is a finding."""
    abs_max: float | None
    abs_mean: float | None
    """Mean signed error over all trials: a bias, not the size of errors."""
    abs_rms: float | None
    rel_max: float | None
    rho_max: float | None
    slope: float | None
    rung_dtype: str | None
    rung_abs: float | None
    empty: bool
    """Whether no element of any output is a finite number."""
    explained: int
    """NaN or infinities on one side only that the inputs' rounding or the range of the format explain."""
    where: str
    """Inputs at the largest absolute error, where an element depends on few; else empty."""
    furthest: str
    """Inputs, value and truth of the element with the largest rho that is flagged; empty where none is."""

    @property
    def label(self) -> str:
        return f"gradient of {self.name}" if self.gradient else self.name


class PairLine(Struct, frozen=True):
    """Two functions against each other."""

    a: str
    b: str
    gradient: bool
    trials: int
    equal: int
    """Trials in which all bits agree."""
    abs_max: float | None
    abs_mean: float | None


class Result(Struct, frozen=True):
    """The answer of a check. `str(result)` is the report; a notebook shows a table."""

    verdict: str
    sentence: str
    lines: tuple[Line, ...]
    pairs: tuple[PairLine, ...]
    notes: tuple[str, ...]
    directory: Path
    dtype: str
    truth: str
    """The function that is taken to be right."""
    known_by: str
    reproduce: str
    closer: tuple[CloserLine, ...] = ()
    """Which of two functions has the smaller errors, output by output."""
    varied: tuple[VariantTally, ...] = ()
    """What calling them in another way changed, a line a family."""
    bits: tuple[str, ...] = ()
    """Which ways of calling give the same bits, in words."""
    example: str = ""
    """The smallest inputs found on which the first of the guilty fails."""

    @property
    def ok(self) -> bool:
        """Whether nothing counts against any function."""
        return not VERDICTS[self.verdict].finding and self.verdict != "indeterminate"

    def __str__(self) -> str:
        from fuzz.checking.text import text

        return text(self)

    __repr__ = __str__

    def _repr_html_(self) -> str:
        from fuzz.checking.page import html

        return html(self)

    def results(self) -> Results:
        """The campaign's rows, for further questions."""
        return open_results(self.directory)


def result_of(path: Path, made: Made, notes: tuple[str, ...], *, in_process: bool) -> Result:
    """Read the campaign of a check."""
    from fuzz.checking.sentence import sentence

    results = open_results(path)
    operators = [made.operator, *([gradient_name(made.operator)] if _has_gradients(results) else [])]
    every = [_marked(_line(results, s.name, s.library, name), s) for name in operators for s in made.subjects]
    lines = tuple(line for line in every if not (line.gradient and line.verdict == "unsupported"))
    no_gradient = [line.name for line in every if line not in lines]
    if no_gradient:
        notes = (*notes, f"nothing differentiates {', '.join(no_gradient)} here")
    pairs = tuple(_pairs(results))
    tallies = variant_tallies(results)
    facts = results.sql("SELECT any_value(dtype) AS dtype, any_value(known_by) AS known_by FROM trials").to_pylist()[0]
    if in_process:
        notes = (*notes, "the functions cannot be sent to another process: they ran in this one, without limits")
    verdict, text = sentence(lines, pairs, made, str(facts["dtype"]), by_family(tallies))
    told = made.traced or not VERDICTS[verdict].finding  # a function is closest to its own float64 results
    finding = results.findings[0].id if VERDICTS[verdict].finding and results.findings else ""
    reproduce = f"ulpfuzz repro {path} {finding}" if finding else f"ulpfuzz report {path}"
    return Result(
        verdict=verdict,
        sentence=text,
        lines=lines,
        pairs=pairs,
        notes=notes,
        directory=path,
        dtype=str(facts["dtype"]),
        truth=made.truth.name,
        known_by=str(facts["known_by"] or ""),
        reproduce=reproduce,
        closer=tuple(line for line in closer_lines(results).lines if line.closer) if told else (),
        varied=tuple(tally for tally in by_family(tallies) if tally.trials),
        bits=(*answer(tallies), *bits(variant_bits(results))) if tallies else (),
        example=_example(path, finding),
    )


def _example(path: Path, finding: str) -> str:
    """What a finding was shrunk to."""
    from fuzz.shrinking.record import stored

    case = stored(path, finding) if finding else None
    return case.shrunk.summary if case is not None and case.shrunk is not None else ""


_FIGURES = """
    SELECT count(DISTINCT CASE WHEN coalesce(error, '') NOT LIKE 'not run:%' THEN (problem_id, seed, "index") END)
           AS trials, list(DISTINCT verdict) AS verdicts,
           max(abs_max) AS abs_max, avg(abs_mean) AS abs_mean, sqrt(avg(abs_rms * abs_rms)) AS abs_rms,
           max(rel_max) AS rel_max, max(rho_max) AS rho_max, median(rung_slope) AS slope,
           any_value(rung_dtype) AS rung_dtype, max(rung_abs) AS rung_abs,
           coalesce(sum(overflow_explained), 0)::BIGINT AS explained,
           coalesce(bool_and(nan_count + inf_count = elements), false) AS empty
    FROM trials WHERE backend = '{name}' AND operator = '{operator}'
"""


def _has_gradients(results: Results) -> bool:
    return bool(results.sql("SELECT 1 FROM trials WHERE operator LIKE '%.grad' LIMIT 1").num_rows)


def _line(results: Results, name: str, library: str, operator: str) -> Line:
    mine = f"backend = '{name}' AND operator = '{operator}'"
    row = results.sql(_FIGURES.format(name=name, operator=operator)).to_pylist()[0]
    verdict = worst(list(row["verdicts"]))
    told = results.sql(
        f"SELECT detail FROM trials WHERE {mine} AND verdict = '{verdict}' ORDER BY rho_max DESC NULLS LAST"
    ).to_pylist()
    findings = ", ".join(f"'{v.name}'" for v in VERDICTS.values() if v.finding)
    failed = results.sql(
        f"""SELECT count(DISTINCT (problem_id, seed, "index")) AS k FROM trials
            WHERE {mine} AND verdict IN ({findings}) AND coalesce(error, '') NOT LIKE 'not run:%'"""
    ).to_pylist()[0]["k"]
    return Line(
        name=name,
        library=library,
        gradient=is_gradient(operator),
        verdict=verdict,
        detail=str(told[0]["detail"] or "") if told else "",
        trials=int(row["trials"]),
        failed=rate_interval(int(failed), int(row["trials"])),
        where=where_largest(results, name, operator),
        furthest=where_flagged(results, name, operator),
        empty=bool(row["empty"]),
        explained=int(row["explained"]),
        **{
            key: row[key]
            for key in ("abs_max", "abs_mean", "abs_rms", "rel_max", "rho_max", "slope", "rung_dtype", "rung_abs")
        },
    )


def _marked(line: Line, subject: Subject) -> Line:
    """With the verdict of the first calls: what changes its input or varies from call to call, is that above all."""
    if not subject.mark or line.verdict in NO_VALUE or line.gradient:
        return line
    return structs.replace(line, verdict=subject.mark, detail=_MARKS[subject.mark])


_MARKS = {
    "input_modified": "the figures are those of calls with copies of the inputs",
    "nondeterministic": "two calls on one input differ; figures of it say nothing but how much it varies",
}


def _pairs(results: Results) -> list[PairLine]:
    rows = results.sql(
        f"""SELECT backend AS a, split_part(against, ':', 1) AS b, operator LIKE '%.grad' AS gradient,
                  count(DISTINCT (problem_id, seed, "index")) AS trials,
                  count(DISTINCT CASE WHEN NOT same THEN (problem_id, seed, "index") END) AS different,
                  max(abs_max) AS abs_max, avg(abs_mean) AS abs_mean
           FROM (SELECT *, coalesce(verdict, '') = 'exact' AS same FROM measurements
                 WHERE {PAIRS})
           GROUP BY a, b, gradient ORDER BY gradient, a, b"""
    ).to_pylist()
    return [
        PairLine(r["a"], r["b"], r["gradient"], r["trials"], r["trials"] - r["different"], r["abs_max"], r["abs_mean"])
        for r in rows
    ]

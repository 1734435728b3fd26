"""`ulpfuzz repro DIR TRIAL|FINDING`: compute a trial again in a fresh process, compare bits, show the worst."""

from __future__ import annotations

import contextlib
import math
import multiprocessing
import signal
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from rich.console import Console
from rich.table import Table
from rich.text import Text

from fuzz.backends import BACKENDS
from fuzz.backends.base import Unsupported
from fuzz.campaigns.campaign import Campaign
from fuzz.campaigns.directory import CampaignDirectory
from fuzz.campaigns.environment import environment, environment_id
from fuzz.cli.variant_rows import show_variants
from fuzz.errors import FOUND, InternalError, UserError
from fuzz.extensions import load_entry_points, load_extension
from fuzz.oracle.arithmetic import CERTIFY, adjudicator
from fuzz.oracle.element import Element, SliceTooLarge, evaluate
from fuzz.oracle.slices import slice_size
from fuzz.reproduction.command import show_case, write
from fuzz.reproduction.subject import trial_of
from fuzz.reproduction.writing import Wanted
from fuzz.say import say, tell
from fuzz.terminal import console
from fuzz.trial import Cell, Death, Session, run_trial
from fuzz.workbench import Bench
from fuzz.workers.worker_process import joined, start
from results.columns import Row
from results.errors import ResultsError, StoreError
from results.verdicts import NO_VALUE, VERDICTS
from results.visible import visible_lines
from strategies.given import STORE
from strategies.sampling import draw

SHOWN_INPUTS = 24
DIGITS = 20
MOST_WORK = 200_000
"""Scalar operations behind an element that is shown exactly: some seconds."""


def files(script: Path | None, markdown: Path | None, pytest: Path | None, json: Path | None) -> Wanted:
    """The files that `--script`, `--markdown`, `--pytest` and `--json` ask for."""
    return Wanted(script, markdown, pytest, json)


def repro(place: Path, name: str | None, wanted: Wanted, extensions: Sequence[Path], source: bool = False) -> int:
    """Run a case file, write files about a finding or a trial, or show a trial (`source`: with its programs)."""
    if source and (wanted or place.is_file()):
        raise UserError("--source prints programs beside a trial that is shown: leave it out, or the other files")
    if place.is_file() or (name is None and place.suffix == ".json"):
        if name is not None or wanted:
            raise UserError(
                f"{place} is a case file: `ulpfuzz repro {place}` runs it, other arguments go with a directory"
            )
        return show_case(place, extensions)
    if name is None:
        raise UserError(f"name a trial or a finding: `ulpfuzz findings {place}` lists them")
    if wanted:
        return write(place, name, wanted, extensions)
    return run(place, trial_of(place, name), source)


def run(directory: Path, trial: str, source: bool = False) -> int:
    """Recompute in a fresh process of this interpreter; its exit code is 1 when the trial is a finding.

    `source` also prints the program of targets whose options are a schedule.
    """
    CampaignDirectory(directory).read_manifest()
    process = start(multiprocessing.get_context("spawn"), _child, directory, trial, source)
    code = joined(process)
    if code < 0:
        with contextlib.suppress(ValueError):
            name = signal.Signals(-code).name
            print(f"the trial ended its process with {name}", file=sys.stderr)
        return FOUND
    return code


def _child(directory: Path, trial: str, source: bool) -> None:
    """Entry point of the fresh process: errors become one line here too."""
    try:
        code = recompute(directory, trial, source)
        sys.stdout.flush()
    except (UserError, ResultsError, InternalError) as error:
        tell(f"ulpfuzz: {error}")
        code = error.exit_code
    sys.exit(code)


def recompute(directory: Path, trial: str, source: bool = False) -> int:
    """What the fresh process does."""
    place = CampaignDirectory(directory)
    load_entry_points()
    for path in place.extensions():
        load_extension(path)
    STORE.register(directory / "given")
    campaign = Campaign(place, place.read_manifest())
    cell, index = campaign.find(trial)
    stored = _stored(directory, cell, index)
    deaths = _deaths(cell, stored)
    deadly = [cell.spelled(number) for number in deaths if not cell.call(number)[1]]
    spared = {number: death for number, death in deaths.items() if cell.call(number)[1]}
    if spared:
        say(f"not called again, `ulpfuzz replay {directory}` does: {', '.join(map(cell.spelled, spared))}")
    if deadly:
        say(f"careful: {', '.join(map(str, deadly))} ended its process on this trial and may do so again")
    for target in cell.targets:
        BACKENDS[target.backend].warm_up()
    _explain(cell, source)
    seed = campaign.manifest.seed
    session = Session(environment_id(environment()))
    rows = run_trial(cell, seed, index, session, ladder=True, deaths=spared).rows
    return _show(cell, seed, index, session, rows, stored)


def _deaths(cell: Cell, stored: Sequence[Row]) -> dict[int, Death]:
    """By call: what ended a process on this trial in the campaign."""
    spellings = [target.spelling(cell.problem.home) for target in cell.targets]
    return {
        cell.number(spellings.index(str(row["target"])), str(row["variant"] or "")): Death(
            str(row["verdict"]), str(row["error"] or row["detail"] or "")
        )
        for row in stored
        if row["verdict"] in ("crashed", "timed_out", "out_of_memory")
    }


def _explain(cell: Cell, source: bool) -> None:
    """What options such as schedules stand for here, before anything runs: it may be the last that is said."""
    bench = Bench(cell.problem)
    for target in cell.targets:
        with contextlib.suppress(Unsupported, RuntimeError):  # said in the row of the target
            if lines := bench.explain(target):
                say(f"{target.spelling(cell.problem.home)}: {'; '.join(lines)}")
                if source:
                    print(visible_lines(bench.source(target)), flush=True)


def _stored(directory: Path, cell: Cell, index: int) -> list[Row]:
    """The rows the campaign holds for this trial; empty when its shard was not finished. StoreError when damaged."""
    from results.reading import open as open_results

    try:
        results = open_results(directory)
    except StoreError:
        raise
    except ResultsError:
        return []
    query = f"select * from measurements where problem_id = '{cell.problem.id}' and \"index\" = {index}"
    return results.records(query)


def _show(cell: Cell, seed: int, index: int, session: Session, rows: list[Row], stored: list[Row]) -> int:
    out = console()
    problem = cell.problem
    sizes = ", ".join(f"{name}={size}" for name, size in problem.dims)
    out.print(Text(f"{problem.operator} ({sizes}), {problem.home}, draw {index} of seed {seed}", style="bold"))
    truth_rows = [row for row in rows if row["against"] == "truth" and not row["variant"]]
    _bits(out, [row for row in rows if row["against"] == "truth"], stored)
    bench = session.workbench.bench(problem)
    _draw_again(bench, cell, seed, index)
    for output, name in enumerate(spec.name for spec in bench.contract.outputs):
        here = [row for row in truth_rows if row["output"] == name]
        for position, title, kind in _positions(here):
            _element(out, bench, cell, output, position, f"{title} of output {name}", here, kind)
    _verdicts(out, truth_rows)
    show_variants(out, rows)
    found = any(
        VERDICTS[str(row["verdict"])].finding and row.get("provenance") != "composed"
        for row in rows
        if row.get("verdict") is not None
    )
    return FOUND if found else 0


def _draw_again(bench: Bench, cell: Cell, seed: int, index: int) -> None:
    """Home inputs and truth once more: the ladder may have used the buffers."""
    home = bench.rung(cell.problem.home)
    draw(cell.problem, bench.contract, seed, index, home.arena.arrays)
    home.refresh()


def _bits(out: Console, rows: Sequence[Row], stored: Sequence[Row]) -> None:
    """Say whether inputs and outputs equal those of the campaign bit for bit."""
    kept = {(row["target"], row["output"], row["against"], row["variant"] or ""): row for row in stored}
    if not kept:
        out.print("the campaign holds no rows of this trial: nothing to compare with")
        return
    matched = differ = 0
    for row in rows:
        old = kept.get((row["target"], row["output"], "truth", row["variant"] or ""))
        if old is None:
            continue
        if old["input_digest"] != row["input_digest"]:
            out.print(
                "INPUTS DIFFER from the campaign's: another version of the generator or another machine", style="bold"
            )
            return
        if old["output_digest"] is None:
            continue
        if old["output_digest"] == row.get("output_digest"):
            matched += 1
        else:
            differ += 1
            under = f" under {row['variant']}" if row["variant"] else ""
            out.print(
                f"{row['target']}{under}: output bits differ from the campaign's (environment {old['environment']})",
                style="bold",
            )
    if not matched + differ:
        outputs = "the campaign holds no output to compare"
    elif not differ:
        outputs = "outputs equal bit for bit"
    else:
        outputs = f"{matched} of {matched + differ} outputs equal bit for bit"
    out.print(f"inputs equal the campaign's bit for bit; {outputs}")


def _positions(rows: Sequence[Row]) -> list[tuple[int, str, str]]:
    """Which elements to show: the worst by rho, by relative error, and the worst of every target with a finding."""
    with_value = [row for row in rows if row.get("rho_max") is not None and row["verdict"] not in NO_VALUE]
    if not with_value:
        return []
    by_rho = max(with_value, key=lambda row: float(row["rho_max"] or 0))
    by_relative = max(with_value, key=lambda row: float(row["rel_max"] or 0))
    chosen: list[tuple[int, str, str]] = []
    found = [row for row in with_value if VERDICTS[str(row["verdict"])].finding]
    for row, title, column in (
        (by_rho, "largest rho", "rho_index"),
        (by_relative, "largest relative error", "rel_index"),
        *((row, "largest rho", "rho_index") for row in found),
    ):
        position = int(row[column] or 0)
        if position >= 0 and position not in [p for p, _, _ in chosen]:
            chosen.append((position, f"element {position} ({title}, {row['target']})", column))
    return chosen


def _element(
    out: Console, bench: Bench, cell: Cell, output: int, position: int, title: str, rows: Sequence[Row], kind: str
) -> None:
    at = tuple(int(i) for i in np.unravel_index(position, bench.output_shapes[output]))
    out.print()
    out.print(Text(f"{title}, index {at}", style="bold"))
    exact = _exact(bench, cell, output, at)
    if exact is not None:
        _inputs(out, exact[0])
        out.print(f"  truth {exact[1]}  ({exact[2]})")
    rung = bench.rung(cell.problem.home)
    assert rung.truth is not None
    yardstick = rung.yardsticks[output]
    truth, bound = float(yardstick.value[position]), float(yardstick.bound[position])
    if exact is None:
        out.print(f"  truth {truth!r}  ({rung.bound.known_by})")
    amplification = bound / abs(truth) if truth else math.inf
    out.print(
        f"  amplification E/|truth| = {amplification:.4g}: one rounding unit of the inputs moves the result by so many"
    )
    table = Table(box=None, pad_edge=False, header_style="bold")
    for heading in ("target", "value", "error", "relative", "rho"):
        table.add_column(heading, justify="left" if heading == "target" else "right")
    for row in rows:
        if row["verdict"] in NO_VALUE:
            continue
        target = next(t for t in cell.targets if t.spelling(cell.problem.home) == row["target"])
        value = _value_at(bench, target, cell, output, at)
        own = bench.rung(target.dtype).yardsticks[output]
        error = value - float(own.value[position])
        relative = abs(error / truth) if truth else (0.0 if error == 0 else math.inf)
        rho = abs(error) / (own.u * float(own.bound[position])) if own.bound[position] else 0.0
        table.add_row(str(row["target"]), repr(value), f"{error:.3g}", f"{relative:.3g}", f"{rho:.3g}")
    out.print(table)


def _value_at(bench: Bench, target: Any, cell: Cell, output: int, at: tuple[int, ...]) -> float:
    """The target's output there, from one more call on the campaign's inputs."""
    from fuzz.workbench import copy_inputs

    rung = bench.rung(target.dtype)
    if target.dtype != cell.problem.home:
        copy_inputs(bench.rung(cell.problem.home).arena.arrays, rung.arena.arrays)
        rung.refresh()
    return float(bench.prepared(target).call()[output][at])


def _exact(bench: Bench, cell: Cell, output: int, at: tuple[int, ...]) -> tuple[Element, str, str] | None:
    arithmetic = adjudicator()
    if arithmetic is None:
        print(f"  (for the exact value: {CERTIFY})")
        return None
    if slice_size(bench.program, output) > MOST_WORK:
        print("  (the exact value of this element would take minutes)")
        return None
    try:
        element = evaluate(bench.program, output, at, bench.rung(cell.problem.home).inputs(), arithmetic)
    except (SliceTooLarge, ValueError, ZeroDivisionError, OverflowError):
        return None
    return element, arithmetic.text(element.value, DIGITS), arithmetic.name


def _inputs(out: Console, element: Element) -> None:
    for name, at, value in element.inputs[:SHOWN_INPUTS]:
        where = f"[{', '.join(map(str, at))}]" if at else ""
        out.print(Text(f"  {name}{where} = {value!r}  ({float(value).hex()})"))
    if len(element.inputs) > SHOWN_INPUTS:
        out.print(f"  ... and {len(element.inputs) - SHOWN_INPUTS} more inputs")


def _verdicts(out: Console, rows: Sequence[Row]) -> None:
    out.print()
    table = Table(box=None, pad_edge=False, header_style="bold")
    for heading in ("target", "verdict", "why"):
        table.add_column(heading, overflow="fold")
    for row in rows:
        table.add_row(str(row["target"]), str(row["verdict"]), Text(str(row["detail"])))
    out.print(table)

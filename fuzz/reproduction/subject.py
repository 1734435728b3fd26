"""What is to be reproduced: a finding or a trial as the user named it, with its rows and inputs."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from msgspec import Struct, structs

from fuzz.campaigns.campaign import Campaign
from fuzz.campaigns.directory import CampaignDirectory
from fuzz.errors import UserError
from fuzz.extensions import load_entry_points, load_extension
from fuzz.judging.ladder import PAIRS, fill_extra_bits
from fuzz.reproduction.specimen import Specimen
from fuzz.targets import Target
from fuzz.trial import Cell
from fuzz.workbench import Bench, copy_inputs
from results.columns import Row
from results.reading import Results
from results.reading import open as open_results
from results.verdicts import VERDICTS
from strategies.given import STORE
from strategies.sampling import draw

if TYPE_CHECKING:
    from results.findings import FindingGroup

_FINDING = re.compile(r"[0-9a-f]{2,10}")
_TRIAL = re.compile(r"[0-9]{1,9}|[0-9a-f]+-[0-9]+")
_OTHER_PRECISION = re.compile(
    r"in the other precision: |[^:;]* during (?:compile|run) in the other precision|.*only the wider"
)


class Subject(Struct, frozen=True):
    """One output of one target in one trial."""

    directory: Path
    cell: Cell
    seed: int
    index: int
    target: Target
    row: Row
    group: FindingGroup | None
    """The finding it belongs to."""
    results: Results
    extensions: tuple[Path, ...]

    @property
    def verdict(self) -> str:
        return str(self.row["verdict"])

    @property
    def variant(self) -> str:
        """Under which the target was called; empty for the plain call."""
        return str(self.row["variant"] or "")

    def require_plain(self, what: str) -> None:
        """UserError, which says that `what` is not possible, where only another way of calling shows the finding."""
        if self.variant:
            raise UserError(
                f"{what}: it shows under {self.variant} only, against the plain call of the same target; "
                f"`ulpfuzz repro {self.directory} {self.row['trial']}` calls both"
            )

    @property
    def detail(self) -> str:
        """Why, in one sentence."""
        return str(self.row["detail"] or self.row["error"] or "")

    @property
    def other_precision(self) -> bool:
        """Whether only the ladder's other precision shows it."""
        return bool(_OTHER_PRECISION.match(self.detail))


def open_campaign(directory: Path, replacements: tuple[Path, ...] = ()) -> tuple[Campaign, tuple[Path, ...]]:
    """The campaign with its extensions loaded; `replacements` take the place of its copies of the same name."""
    place = CampaignDirectory(directory)
    manifest = place.read_manifest()
    load_entry_points()
    by_name = {path.name: path for path in replacements}
    chosen = tuple(by_name.pop(path.name.partition("_")[2], path) for path in place.extensions())
    if by_name:
        raise UserError(
            f"{directory} has no extension called {', '.join(by_name)}: --extension takes the place of one so called"
        )
    for path in chosen:
        load_extension(path)
    STORE.register(directory / "given")
    return Campaign(place, manifest), chosen


def find(directory: Path, name: str, replacements: tuple[Path, ...] = ()) -> Subject:
    """The finding or trial called `name`: an id of `ulpfuzz findings` or the start of one, or a trial's name.

    UserError where there is none, the start fits several, or the trial has nothing that counts against anybody.
    """
    campaign, extensions = open_campaign(directory, replacements)
    results = open_results(directory)
    groups = every_group(results)
    group: FindingGroup | None = None
    if _TRIAL.fullmatch(name):
        cell, index = campaign.find(name)
        every = _rows(results, cell.problem.id, index)
        row = _worst([r for r in every if _counts(r) and not r["variant"]] or every, name)
        group = next((g for g in groups if _belongs(row, g)), None)
    else:
        group = find_group(groups, name, directory)
        cell, index = campaign.find(group.trial)
        row = _worst([r for r in _rows(results, cell.problem.id, index) if _belongs(r, group)], name)
    target = next(t for t in cell.targets if t.spelling(cell.problem.home) == row["target"])
    return Subject(directory, cell, campaign.manifest.seed, index, target, row, group, results, extensions)


def trial_of(directory: Path, name: str) -> str:
    """The trial called `name`, or the worst one of the finding called so."""
    if _TRIAL.fullmatch(name):
        return name
    CampaignDirectory(directory).read_manifest()
    return find_group(every_group(open_results(directory)), name, directory).trial


def every_group(results: Results) -> list[FindingGroup]:
    """All findings, those of composed formulations last."""
    from results.findings import composed_findings

    return [*results.findings, *composed_findings(results)]


def subject_of(campaign: Campaign, extensions: tuple[Path, ...], results: Results, group: FindingGroup) -> Subject:
    """The worst trial of a finding."""
    cell, index = campaign.find(group.trial)
    row = _worst([r for r in _rows(results, cell.problem.id, index) if _belongs(r, group)], group.id)
    target = next(t for t in cell.targets if t.spelling(cell.problem.home) == row["target"])
    path = campaign.directory.path
    return Subject(path, cell, campaign.manifest.seed, index, target, row, group, results, extensions)


def specimen(subject: Subject) -> Specimen:
    """The inputs of the trial in the target's dtype, or in the ladder's other one where only that shows the failure."""
    problem, target = subject.cell.problem, subject.target
    bench = Bench(problem)
    home = bench.rung(problem.home)
    draw(problem, bench.contract, subject.seed, subject.index, home.arena.arrays)
    own = bench.rung(target.dtype)
    if own is not home:
        copy_inputs(home.arena.arrays, own.arena.arrays)
    dtype = target.dtype
    if subject.other_precision:
        dtype = PAIRS[target.dtype].other(target.dtype)
        other = bench.rung(dtype, "ladder")
        if dtype == PAIRS[target.dtype].high:
            fill_extra_bits(own, other, problem.draw_id, subject.seed, subject.index, salt=0)
        else:
            copy_inputs(own.arena.arrays, other.arena.arrays)
        own = other
    arrays = {name: np.array(values, copy=True) for name, values in own.arena.arrays.items()}
    return Specimen(structs.replace(problem, home=dtype), structs.replace(target, dtype=dtype), arrays)


def _rows(results: Results, problem_id: str, index: int) -> list[Row]:
    """Those against the truth, and those under variants."""
    whose = f"problem_id = '{problem_id}' AND \"index\" = {index}"
    return results.records(f"SELECT * FROM measurements WHERE {whose} AND (against = 'truth' OR variant <> '')")


def find_group(groups: list[FindingGroup], name: str, directory: Path) -> FindingGroup:
    """The finding whose id begins with `name`; UserError where there is none, or several."""
    fitting = [group for group in groups if _FINDING.fullmatch(name) and group.id.startswith(name)]
    if len(fitting) == 1:
        return fitting[0]
    if fitting:
        raise UserError(f"finding {name!r} is ambiguous: it may be {' or '.join(group.id for group in fitting[:4])}")
    raise UserError(f"{directory} has no trial and no finding {name!r}: `ulpfuzz findings {directory}` lists the ids")


def _belongs(row: Row, group: FindingGroup) -> bool:
    """Whether a row has the signature of a finding; an empty output or region stands for any."""
    from results.findings import any_schedule

    names = ("operator", "backend", "device", "dtype", "verdict")
    same = all((row[name] or "") == getattr(group, name) for name in names)
    return (
        same
        and (row["against"] == "truth") == (group.against == "truth")
        and any_schedule(str(row["options"] or "")) == group.options
        and group.output in ("", row["output"] or "")
        and (row["region"] or "") == group.region
        and (row["provenance"] == "composed") == (group.provenance == "composed")
    )


def _counts(row: Row) -> bool:
    """Whether the verdict of a row counts against somebody; some rows have none."""
    return row["verdict"] is not None and VERDICTS[str(row["verdict"])].finding


def _worst(rows: list[Row], name: str) -> Row:
    """The most severe row, the largest rho first. UserError where none is a finding."""
    found = [row for row in rows if _counts(row)]
    if found:
        return max(found, key=lambda row: (VERDICTS[str(row["verdict"])].severity, float(row["rho_max"] or 0)))
    if not rows:
        raise UserError(f"the campaign holds no rows of trial {name}: `ulpfuzz resume` computes what is missing")
    shown = "; ".join(f"{row['target']}: {row['verdict']}" for row in rows[:4])
    orders = [row for row in rows if row["verdict"] == "accumulation_order"]
    if orders:
        shown = f"{orders[0]['target']}: accumulation_order, a choice of the library and not a defect"
    raise UserError(f"trial {name} has no finding ({shown}): there is nothing to reproduce")

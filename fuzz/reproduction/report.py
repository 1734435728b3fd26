"""A report for the maintainers of a library, in Markdown."""

from __future__ import annotations

from fuzz.reproduction.facts import Facts
from fuzz.reproduction.running import Ran
from fuzz.reproduction.script import Text
from fuzz.reproduction.specimen import Specimen
from fuzz.reproduction.subject import Subject
from results.layout import percent
from results.verdicts import VERDICTS
from strategies.precision import precision


def markdown(subject: Subject, specimen: Specimen, text: Text, known: Facts | None, ran: Ran) -> str:
    """Title, script, output, truth, settings, why it is no rounding, how often."""
    parts = [
        f"# {text.title}",
        f"{text.check.claim}.",
        "## Script",
        f"{text.note}\n\n".lstrip() + f"```python\n{text.script().rstrip()}\n```",
        "## Output",
        f"```\n{ran.output.rstrip()}\n```",
        *_truth(text, known),
        "## Settings",
        f"{text.spelling.settings or 'defaults'}. Versions and processor are in the first line of the output.",
        *_why(subject, specimen, known),
        "## How often",
        _often(subject),
    ]
    return "\n\n".join(part.strip("\n") for part in parts) + "\n"


def _truth(text: Text, known: Facts | None) -> list[str]:
    if known is None:
        return []
    return [
        "## Truth",
        f"{known.truth}, computed with {known.known_by} from exactly the inputs of the script ({text.dtype} numbers, "
        "taken as they are).",
    ]


def _why(subject: Subject, specimen: Specimen, known: Facts | None) -> list[str]:
    sentence = f"The result {VERDICTS[subject.verdict].sentence}."
    lines = [sentence]
    if subject.detail:
        lines.append(f"In the trial it was found in: {subject.detail}.")
    if known is not None and known.bound:
        p = precision(specimen.target.dtype)
        lines.append(
            "One rounding of every input and one of every operation of a stable evaluation move this element by up to "
            f"E = {known.bound:.4g} units of u = 2^-{p.digits}, which is {known.amplification:.4g} u relative to the "
            "truth. rho is the error divided by u E: healthy implementations stay below 1, and above 2 the difference "
            "is no rounding, however ill-conditioned the input is."
        )
    row = subject.row
    if row.get("rung_rho") is not None and row.get("rung_dtype"):
        lines.append(
            f"The largest rho of the trial is {_number(row['rho_max'])} in {row['dtype']} and "
            f"{_number(row['rung_rho'])} in {row['rung_dtype']}."
        )
    return ["## Why this is not rounding", " ".join(lines)]


def _often(subject: Subject) -> str:
    row, group = subject.row, subject.group
    inputs = f"Inputs: {row['recipes']}; sizes {row['dims']}; home dtype {row['home']}."
    plan = f"the plan {subject.results.plan}"
    if group is None:
        return f"Seen in trial {row['trial']} of {plan}. {inputs}"
    where = f" where {group.region}" if group.region and not group.region.startswith("any ") else ""
    rate = ""
    if group.rate is not None:
        rate = f" = {percent(group.trials / group.of_trials)} % [{percent(group.rate.low)}, {percent(group.rate.high)}]"
    basis = "exact 95 % interval in brackets" if rate else "no rate: its problems were chosen, not drawn"
    return f"{group.trials} of {group.of_trials} trials{rate}{where} ({plan}; {basis}). {inputs}"


def _number(value: object) -> str:
    return f"{float(value):.3g}" if isinstance(value, int | float) else "-"

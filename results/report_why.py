"""Report sections: why the outliers, whether the published rate, which targets agree bit for bit."""

from __future__ import annotations

from collections.abc import Collection

from rich.console import Console

from results.bitwise import BitwiseClasses, Partition, bitwise_classes
from results.layout import count, heading, percent, percent_of, say, short
from results.outliers import Causes, causes
from results.published import PublishedRow, compare_published
from results.quiet import quiet, without
from results.reading import Results

_PARTITIONS_SHOWN = 5


def print_outliers(results: Results, console: Console) -> None:
    """How relative errors above 1e-1 arise."""
    found = causes(results)
    if found is None:
        return
    heading(console, "How the outliers arise (relative error above 1e-1 against the truth)")
    say(console, f"{count(found.elements)} elements of {count(found.rows)} outputs in {count(found.trials)} trials.")
    for sentence in why_sentences(found):
        say(console, sentence)


def why_sentences(found: Causes) -> list[str]:
    """What explains the outliers, in plain sentences."""
    sentences = []
    explained, rows = found.conditioned, found.rows
    if explained and found.amplification_min is not None and found.moved_min is not None:
        who = "In every one of them" if explained == rows else f"In {count(explained)} of them"
        sentences.append(
            f"{who} the relative error divides by a true value close to 0, and rounding explains its size."
        )
        sentences.append(
            f"Amplification there is {short(found.amplification_min)} at least, {short(found.amplification_median)} in "
            "the median: one rounding unit in the inputs and in each step changes the result by "
            f"{percent(found.moved_min)} % or more, so any implementation that rounds has outliers here."
        )
    if found.underflow:
        sentences.append(f"In {count(found.underflow)} the true value is below the normal range: few digits are left.")
    if rest := rows - explained - found.underflow:
        sentences.append(f"In {count(rest)} the error exceeds what amplification explains: see the findings.")
    if found.ulp_max is not None:
        rho = "" if found.rho_max is None else f"; largest rho {short(found.rho_max)}"
        sentences.append(f"In ulp: {short(found.ulp_median)} in the median, {short(found.ulp_max)} at most{rho}.")
    verdicts = ", ".join(f"{name} {count(n)}" for name, n in found.verdicts.items())
    return [*sentences, f"Verdicts: {verdicts}."]


def print_published(results: Results, console: Console) -> None:
    """The published rate against the campaign's own."""
    found = compare_published(results)
    if found is None:
        return
    heading(console, f"Against the published {found.published} above {found.threshold}")
    if found.refused:
        say(console, f"Not compared: {found.refused}.")
    for row in found.rows:
        sentence, *more = comparison_sentences(row)
        say(console, sentence)
        for line in more:
            say(console, line, indent=4)


def comparison_sentences(row: PublishedRow) -> list[str]:
    """Whether the rate is the published one; the relative risk, where it is not told already."""
    own = row.comparison
    sentences = [f"{row.what}: {own.k1}/{own.n1} = {percent(own.k1 / own.n1)} %: {own.sentence}."]
    if not own.differs and own.ratio is not None and own.ratio_low is not None:
        ends = f"{short(own.ratio_low)} to {short(own.ratio_high)}"
        sentences.append(f"Relative risk {short(own.ratio)}, 95 % interval {ends}.")
    return sentences


def print_bitwise(results: Results, console: Console) -> None:
    """Which targets give identical bits."""
    classes = bitwise_classes(results)
    if not classes.outputs:
        return
    heading(console, f"Identical bits ({count(classes.outputs)} outputs compared)")
    for line in bitwise_lines(classes, quiet(results)):
        say(console, line)


def bitwise_lines(classes: BitwiseClasses, hidden: Collection[str]) -> list[str]:
    """Targets that are always identical, and the splits that occurred. Targets in `hidden` are counted."""
    lines = [f"always identical: {' = '.join(without(group, hidden))}" for group in classes.always]
    if not classes.always:
        lines.append("no two targets gave identical bits in all of them")
    for partition, n in classes.partitions[:_PARTITIONS_SHOWN]:
        lines.append(f"{count(n)} ({percent_of(n, classes.outputs)}): {_braces(partition, hidden)}")
    if (more := len(classes.partitions) - _PARTITIONS_SHOWN) > 0:
        rest = sum(n for _, n in classes.partitions[_PARTITIONS_SHOWN:])
        lines.append(f"{count(rest)} ({percent_of(rest, classes.outputs)}): {more} other splits")
    return lines


def _braces(partition: Partition, hidden: Collection[str]) -> str:
    return " ".join("{" + ", ".join(without(group, hidden)) + "}" for group in partition)

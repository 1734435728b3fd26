"""Report section of a search: the champion of each operator and target, and what became of its population."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec import Struct
from rich.console import Console

from results.layout import count, heading, say, short, table, verdict_text
from results.verdicts import VERDICTS

if TYPE_CHECKING:
    from results.reading import Results

SEARCH = "search"
_SHOWN = 60


class Champion(Struct, frozen=True):
    """The worst input that a search found for one operator, dtype and target: one with a finding and no rho, such as a
    crash, else the one with the largest rho."""

    operator: str
    dtype: str
    target: str
    islands: int
    """Searches with an output of this target, or with its death."""
    rho: float | None
    """None where the target died of the champion, or gave nothing that can be measured."""
    verdict: str
    trial: str
    fresh: int
    """Measured draws of the population that this champion stems from, with seeds of their own."""
    flagged: int
    """Those of them with an element of rho > 2."""


def champions(results: Results) -> list[Champion]:
    """The worst champion of each operator, dtype and target, the worst first. An island has as many trials for each
    target: the champion found for it, then draws of its population."""
    groups = {(group["operator"], group["home"]): group["targets"] for group in results.manifest.get("survey") or ()}
    size = results.manifest.get("shard_trials")
    if not groups or not size:
        return []
    each = size // max(map(len, groups.values()))
    places = ", ".join(
        f"('{operator}', '{home}', '{target}', {place})"
        for (operator, home), targets in groups.items()
        for place, target in enumerate(targets)
    )
    found = ", ".join(f"'{verdict.name}'" for verdict in VERDICTS.values() if verdict.finding)
    worth = f"coalesce(t.rho_max, CASE WHEN t.verdict IN ({found}) THEN 'Infinity'::DOUBLE END)"
    rows = results.records(f"""
        WITH own AS (
            SELECT t.operator, t.home, t.dtype, t.target, t."index" // {size} AS island, t."index" % {each} AS number,
                   max({worth}) AS worth, arg_max(t.verdict, {worth}) AS verdict, max(t.trial) AS trial,
                   max(t.rho_max) AS rho, max(t.flagged) AS flagged
            FROM trials t JOIN (VALUES {places}) AS p(operator, home, target, place)
              ON t.operator = p.operator AND t.home = p.home AND t.target = p.target
            WHERE (t."index" % {size}) // {each} = p.place
            GROUP BY t.operator, t.home, t.dtype, t.target, t."index"
        )
        SELECT c.operator, c.dtype, c.target, arg_max(struct_pack(rho := c.rho), c.worth).rho AS rho,
               arg_max(c.verdict, c.worth) AS verdict, arg_max(c.trial, c.worth) AS trial,
               count(DISTINCT c.island) AS islands, arg_max(coalesce(f.fresh, 0), c.worth) AS fresh,
               arg_max(coalesce(f.flagged, 0), c.worth) AS flagged
        FROM own c LEFT JOIN (
            SELECT operator, home, target, island, count(rho) AS fresh,
                   count(*) FILTER (flagged > 0) AS flagged
            FROM own WHERE number > 0 GROUP BY operator, home, target, island
        ) f ON f.operator = c.operator AND f.home = c.home AND f.target = c.target AND f.island = c.island
        WHERE c.number = 0 AND c.worth IS NOT NULL
        GROUP BY c.operator, c.home, c.dtype, c.target
        ORDER BY max(c.worth) DESC, c.operator, c.target
    """)
    return [Champion(**row) for row in rows]


def print_champions(results: Results, console: Console) -> None:
    """The table, and what it does not say."""
    found = champions(results)
    heading(console, "Champions: the worst inputs that were found")
    rows = [
        (
            champion.operator,
            champion.dtype,
            champion.target,
            count(champion.islands),
            short(champion.rho),
            verdict_text(champion.verdict, VERDICTS[champion.verdict].finding),
            f"{champion.flagged} of {champion.fresh}",
            champion.trial,
        )
        for champion in found[:_SHOWN]
    ]
    table(
        console,
        ("operator", "dtype", "target", "islands", "rho", "verdict", "fresh draws flagged", "trial"),
        rows,
        words=3,
    )
    if len(found) > _SHOWN:
        say(console, f"and {count(len(found) - _SHOWN)} more, less bad")
    say(
        console,
        "A champion is the largest of very many inputs that were steered there: its rho says how bad it can get, not "
        "how often. Fresh draws: inputs of the kind that it stems from (of one number: its binade), drawn anew.",
    )

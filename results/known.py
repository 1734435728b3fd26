"""The file of known findings: what is expected, why, and with which versions (docs/findings.md)."""

from __future__ import annotations

import difflib
import json
import re
import tomllib
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from msgspec import Struct
from packaging.requirements import InvalidRequirement, Requirement
from packaging.version import InvalidVersion, Version

from results.errors import KnownError
from results.findings import ANY_SCHEDULE, SIGNATURE, FindingGroup, findings
from results.libraries import version_in
from results.verdicts import VERDICTS

if TYPE_CHECKING:
    from results.reading import Results

TABLE = "known"
FIELDS = ("id", "target", *SIGNATURE)
"""What an entry may match by; all that it names must hold."""
_RUN = ("target", "operator", "output", "backend", "device", "options", "dtype")
"""Fields that say whether a campaign could have had the finding at all."""
_OTHERS = ("reason", "versions", "link")


class Entry(Struct, frozen=True):
    """One [[known]] table."""

    number: int
    """Position in the file, from 1."""
    fields: tuple[tuple[str, tuple[str, ...]], ...]
    """By name, the values of which one has to be met."""
    reason: str
    versions: tuple[str, ...] = ()
    """Requirements such as "tvm<0.28"; all must hold in every environment in which the finding was seen."""
    link: str = ""

    @property
    def name(self) -> str:
        """For messages: the position, and what it matches."""
        return f"entry {self.number}: {' '.join(_short(values) for _, values in self.fields)}"

    @property
    def said(self) -> str:
        """The reason, with versions and link."""
        versions = f" [{', '.join(self.versions)}]" if self.versions else ""
        return f"{self.reason}{versions}{' ' + self.link if self.link else ''}"

    def matches(self, group: FindingGroup) -> bool:
        """Whether every field fits, whatever the versions."""
        return all(getattr(group, name) in values for name, values in self.fields)

    def misfit(self, environments: Sequence[Mapping[str, Any]]) -> str:
        """Why the versions do not fit these environments; nothing where they do."""
        for text in self.versions:
            wanted = Requirement(text)
            for environment in environments or [{}]:
                ran = version_in(environment, wanted.name)
                if ran is None:
                    return f"it is for {text}, and the campaign does not say which version of {wanted.name} ran"
                if not _satisfies(wanted, ran):
                    return f"it is for {text}, and {ran} ran"
        return ""


class KnownFile(Struct, frozen=True):
    """A file of known findings as read."""

    path: str
    entries: tuple[Entry, ...]


class Sorted(Struct, frozen=True):
    """The findings of a campaign, new and known."""

    path: str
    new: tuple[FindingGroup, ...]
    known: tuple[tuple[FindingGroup, Entry], ...]
    notes: tuple[str, ...]
    """One line for each entry that no longer applies or that matched nothing."""


def read_known(path: Path) -> KnownFile:
    """Read and check the file. KnownError, one line, names the file, the entry and what to write instead."""
    try:
        data = tomllib.loads(path.read_text("utf-8"))
    except FileNotFoundError:
        raise KnownError(
            f"there is no file {path}: `ulpfuzz findings DIR --write-known {path}` writes one to start from"
        ) from None
    except (OSError, UnicodeDecodeError) as error:
        raise KnownError(f"cannot read {path}: {error}: give a TOML file with [[{TABLE}]] tables") from None
    except tomllib.TOMLDecodeError as error:
        raise KnownError(f"{path} is not valid TOML: {error}") from None
    for key in data:
        if key != TABLE:
            raise KnownError(f"{path}: unknown key {key!r}: write [[{TABLE}]] tables, nothing else")
    tables = data.get(TABLE, [])
    if not isinstance(tables, list) or not all(isinstance(table, dict) for table in tables):
        raise KnownError(f"{path}: {TABLE} is no list of tables: write [[{TABLE}]] before each entry")
    return KnownFile(str(path), tuple(_entry(path, number, table) for number, table in enumerate(tables, start=1)))


def sort_findings(results: Results, file: KnownFile | None) -> Sorted:
    """The findings of a campaign by what the file says of them; without a file all are new."""
    groups = findings(results)
    if file is None:
        return Sorted("", tuple(groups), (), ())
    given = {name: f"coalesce({name}, '')" for name in _RUN} | {"options": ANY_SCHEDULE}
    names = ", ".join(f"{value} AS {name}" for name, value in given.items())
    ran = results.records(f"SELECT DISTINCT {names} FROM measurements")
    return sort_out(file, groups, results.environments, ran)


def sort_out(
    file: KnownFile,
    groups: Iterable[FindingGroup],
    environments: Mapping[str, Mapping[str, Any]],
    ran: Sequence[Mapping[str, str]],
) -> Sorted:
    """Match entries and findings. `ran` holds what the campaign ran: an entry about anything else is not stale."""
    new: list[FindingGroup] = []
    known: list[tuple[FindingGroup, Entry]] = []
    notes: list[str] = []
    met: set[int] = set()
    for group in groups:
        here = [environments.get(name, {}) for name in group.environments]
        misfits: list[str] = []
        for entry in file.entries:
            if not entry.matches(group):
                continue
            met.add(entry.number)
            if why := entry.misfit(here):
                misfits.append(f"{entry.name}: no longer applies, {why}; finding {group.id} is new")
                continue
            known.append((group, entry))
            break
        else:
            new.append(group)
            notes += misfits
    for entry in file.entries:
        if entry.number not in met and _could_match(entry, ran):
            notes.append(
                f"{entry.name}: stale, it matches no finding of this campaign: remove it or correct its fields"
            )
    return Sorted(file.path, tuple(new), tuple(known), tuple(notes))


def starting_file(groups: Sequence[FindingGroup], source: str) -> str:
    """A file of known findings with one entry for each of `groups`; the reasons are to be filled in."""
    lines = [
        f"# Findings of {_comment(source)}. An entry matches every finding that has all of its fields: remove lines to",
        "# match more. Say in `reason` why it is accepted: the file is refused until each entry has one. `versions`",
        "# ends the acceptance; `link` may name an upstream report. A field may hold a list of values.",
    ]
    for group in groups:
        output = ("output", group.output)
        fields = [("operator", group.operator), output, ("backend", group.backend), ("device", group.device)]
        fields += [("dtype", group.dtype), ("verdict", group.verdict), ("region", group.region)]
        ran = [f"{name}=={versions[-1]}" for name, versions in group.versions]
        lines += ["", f"# {group.id}: {_comment(group.title)}", f"[[{TABLE}]]"]
        lines += [f"{name} = {_string(value)}" for name, value in fields if value]
        lines += [f"options = {_string(group.options)}"]  # left out, the entry would match all of them
        lines += ['reason = ""']
        lines += [f"# versions = {_string(ran[0])}"] if ran else []
    return "\n".join(lines) + "\n"


def _entry(path: Path, number: int, table: Mapping[str, Any]) -> Entry:
    where = f"{path}: entry {number}"
    for key in table:
        if key not in (*FIELDS, *_OTHERS):
            near = difflib.get_close_matches(key, (*FIELDS, *_OTHERS), n=1, cutoff=0.5)
            hint = f"did you mean {near[0]!r}?" if near else f"use {', '.join((*FIELDS, *_OTHERS))}"
            raise KnownError(f"{where}: unknown key {key!r}: {hint}")
    fields = tuple((name, _values(where, name, table[name])) for name in FIELDS if name in table)
    if not fields:
        raise KnownError(f"{where} would match every finding: name some of {', '.join(FIELDS)}")
    for verdict in dict(fields).get("verdict", ()):
        _check_verdict(where, verdict)
    reason = table.get("reason", "")
    if not isinstance(reason, str) or not reason.strip():
        raise KnownError(f'{where} has no reason: add reason = "why this finding is accepted"')
    link = table.get("link", "")
    if not isinstance(link, str):
        raise KnownError(f"{where}: link is {link!r}: write a string")
    versions = _values(where, "versions", table["versions"]) if "versions" in table else ()
    for text in versions:
        _check_requirement(where, text)
    return Entry(number, fields, " ".join(reason.split()), versions, link.strip())


def _values(where: str, name: str, value: Any) -> tuple[str, ...]:
    values = value if isinstance(value, list) else [value]
    if not values or not all(isinstance(one, str) for one in values):
        raise KnownError(f"{where}: {name} is {value!r}: write a string or a list of strings")
    return tuple(values)


def _check_verdict(where: str, name: str) -> None:
    if name in VERDICTS and VERDICTS[name].finding:
        return
    if name in VERDICTS:
        raise KnownError(f"{where}: verdict {name!r} is no finding: remove the entry")
    near = difflib.get_close_matches(name, VERDICTS, n=1, cutoff=0.5)
    hint = f"did you mean {near[0]!r}?" if near else "docs/verdicts.md lists them"
    raise KnownError(f"{where}: unknown verdict {name!r}: {hint}")


def _check_requirement(where: str, text: str) -> None:
    try:
        wanted = Requirement(text)
    except InvalidRequirement:
        wanted = None
    if wanted is None or not wanted.specifier or wanted.marker or wanted.extras:
        raise KnownError(
            f'{where}: versions is {text!r}: write a name and a range, e.g. "tvm<0.28" or ["tvm>=0.27,<0.28"]'
        )


def _satisfies(wanted: Requirement, ran: str) -> bool:
    try:
        version = Version(ran)
    except InvalidVersion:
        return False
    return wanted.specifier.contains(version, prereleases=True)


def _could_match(entry: Entry, ran: Sequence[Mapping[str, str]]) -> bool:
    fields = [(name, values) for name, values in entry.fields if name in _RUN]
    return any(all(row[name] in values for name, values in fields) for row in ran)


def _short(values: Sequence[str]) -> str:
    return "|".join(values)


def _string(text: str) -> str:
    """A TOML basic string: JSON's, but for the one control character that JSON leaves as it is."""
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")


def _comment(text: str) -> str:
    return re.sub(r"[\x00-\x1f\x7f]+", " ", text)

"""Campaigns that are not as one expects. Add a command to a test over ODD, and it meets them all.

    @pytest.mark.parametrize("name", ODD)
    def test_mine(name, tmp_path): places = ODD[name](tmp_path)

Every builder makes its campaigns below an empty folder and returns their directories. Their rows are those of a real
campaign (tests/golden: tanh, four trials on numpy and on a backend `mine` that halves), changed.
"""

from __future__ import annotations

import json
import math
import shutil
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import results
from results.columns import COLUMNS, ELEMENT_COLUMNS, SCHEMA_VERSION, Row
from results.parts import encode, seal
from results.store import Store

GOLDEN = Path(__file__).parent / "golden"
TRIALS = 4
MEASURED = tuple(column.name for column in COLUMNS if column.kind == "float64" and column.name != "seconds")
"""Columns of errors and values."""
COUNTED = tuple(column.name for column in COLUMNS if column.unit == "elements" and column.name != "elements")
HOSTILE = (
    "<script>alert(1)</script> <b>&amp;",
    "[bold red]x[/] \x1b[31mred\x1b[0m\x07",
    "a|b `c` **d** @e\n::error title=f::g\r\n| --- |",
    "\"q\", 's'; drop -- ]]> \x00\x0b\ufffe\u202e",
    "é漢😀\ud7ff " + "long " * 2000,
)
"""Names, messages and paths that must come out as text."""

Rows = list[Row]


def golden(version: int, folder: Path) -> Path:
    """A copy of a campaign that an older version wrote."""
    return Path(shutil.copytree(GOLDEN / f"schema-{version}", folder / f"schema-{version}"))


def golden_rows() -> tuple[Rows, Rows]:
    """Rows and sampled elements of the real campaign."""
    found = results.open(GOLDEN / "schema-2")
    return found.rows().to_pylist(), found.elements.to_table().to_pylist()


def write(
    directory: Path,
    rows: Rows | None = None,
    elements: Rows | None = None,
    shards: Sequence[int] = (0, 1),
    done: int | None = None,
    **manifest: Any,
) -> Path:
    """A campaign of two shards with two trials each, of which it holds `shards`; `done` makes the last one partial."""
    if rows is None or elements is None:
        all_rows, all_elements = golden_rows()
        rows, elements = all_rows if rows is None else rows, all_elements if elements is None else elements
    directory.mkdir()
    plain = json.loads((GOLDEN / "schema-2/campaign.json").read_text())
    plain |= {"schema_version": SCHEMA_VERSION, "shard_trials": 2, "title": None} | manifest
    (directory / "campaign.json").write_text(json.dumps(plain))
    shutil.copy(GOLDEN / "schema-2/environments.json", directory)
    shutil.copytree(GOLDEN / "schema-2/extensions", directory / "extensions")
    store = Store(directory)
    for shard in shards:
        last = done if shard == shards[-1] else None
        inside = range(2 * shard, 2 * shard + (2 if last is None else last))
        store.commit(
            shard, [r for r in rows if r["index"] in inside], [e for e in elements if e["index"] in inside], done=last
        )
    return directory


def healthy(folder: Path) -> list[Path]:
    rows, elements = golden_rows()
    good = [row for row in rows if row["target"] == "numpy:cpu" and row["against"] == "truth"]
    return [write(folder / "healthy", good, [e for e in elements if e["target"] == "numpy:cpu"])]


def nothing_finished(folder: Path) -> list[Path]:
    return [write(folder / "begun", shards=())]


def no_rows(folder: Path) -> list[Path]:
    return [write(folder / "no-rows", [], [])]


def single_row(folder: Path) -> list[Path]:
    rows, elements = golden_rows()
    return [write(folder / "single", rows[:1], elements[:1], shards=(0,), trials=1)]


def half_written(folder: Path) -> list[Path]:
    """Killed in its second shard: one of its trials is kept, temporary files and elements without a part lie about."""
    directory = write(folder / "half", done=1)
    (directory / "parts/00000002.parquet.77.tmp").write_bytes(b"PAR1 and no more")
    (directory / "elements/00000002.parquet").write_bytes(b"PAR1 and no more")
    (directory / "campaign.part").write_text('{"format": "ulpf')
    return [directory]


def first_shard_only(folder: Path) -> list[Path]:
    return [write(folder / "first", shards=(0,))]


def nan_only(folder: Path) -> list[Path]:
    """Every error and value is NaN."""
    rows, elements = golden_rows()
    nans = dict.fromkeys(MEASURED, math.nan)
    return [write(folder / "nan", [row | nans for row in rows], [e | _nan_element() for e in elements])]


def nan_outputs(folder: Path) -> list[Path]:
    """Outputs are NaN where the truth is finite: nothing can be measured."""
    rows, _ = golden_rows()
    nothing = dict.fromkeys((*MEASURED, *COUNTED)) | {"nan_count": 8, "nonfinite_mismatch": 8}
    told = {"verdict": "nonfinite_mismatch", "detail": "8 elements are NaN"}
    return [write(folder / "nan-outputs", [row | nothing | told for row in rows], [])]


def all_crashed(folder: Path) -> list[Path]:
    rows, _ = golden_rows()
    nothing = dict.fromkeys((*MEASURED, *COUNTED, "output_digest", "rel_index", "rho_index", "ulp_index", "seconds"))
    told = {"verdict": "crashed", "error": "SIGSEGV", "detail": "SIGSEGV during run", "output": ""}
    return [write(folder / "crashed", [r | nothing | told for r in rows if r["against"] == "truth"], [])]


def all_unsupported(folder: Path) -> list[Path]:
    rows, _ = golden_rows()
    nothing = dict.fromkeys((*MEASURED, *COUNTED, "output_digest", "rel_index", "rho_index", "ulp_index", "seconds"))
    told = {"verdict": "unsupported", "detail": "has no tanh"}
    return [write(folder / "unsupported", [r | nothing | told for r in rows if r["against"] == "truth"], [])]


def mixed_schema(folder: Path) -> list[Path]:
    """A campaign begun by an older version and finished by this one."""
    directory = write(folder / "mixed-schema", schema_version=1)
    rows, elements = golden_rows()
    old = [column for column in COLUMNS if column.since == 1]
    first = [{c.name: row[c.name] for c in old} for row in rows if int(str(row["index"])) < 2]
    (directory / "parts/00000000.parquet").write_bytes(encode(first, old, [0]))
    sampled = [element for element in elements if int(str(element["index"])) < 2]
    (directory / "elements/00000000.parquet").write_bytes(encode(sampled, ELEMENT_COLUMNS, [0]))
    return [directory]


def older(folder: Path) -> list[Path]:
    return [golden(1, folder)]


def old_and_new(folder: Path) -> list[Path]:
    return [golden(1, folder), golden(2, folder), write(folder / "present")]


def several_plans(folder: Path) -> list[Path]:
    (one,) = healthy(folder)
    return [write(folder / "fixed"), one, _survey(folder / "survey")]


def hostile(folder: Path) -> list[Path]:
    """Names and messages that a terminal, a page or a workflow would obey."""
    rows, elements = golden_rows()
    names = ("operator", "detail", "error", "recipes", "implementation")
    changed = []
    for number, row in enumerate(rows):
        text = HOSTILE[number % len(HOSTILE)]
        changed.append(row | dict.fromkeys(names, text) | {"options": text, "target": f"{row['target']}[{text}]"})
    sampled = [
        e | {"operator": HOSTILE[0], "target": f"{e['target']}[{HOSTILE[1]}]", "inputs": HOSTILE[2]} for e in elements
    ]
    return [write(folder / "hostile \x1b[31m <i>[b]", changed, sampled, title=HOSTILE[2])]


def damaged_part(folder: Path) -> list[Path]:
    directory = write(folder / "damaged")
    part = directory / "parts/00000001.parquet"
    part.write_bytes(part.read_bytes()[:-100])
    return [directory]


def damaged_manifest(folder: Path) -> list[Path]:
    directory = write(folder / "cut")
    manifest = directory / "campaign.json"
    manifest.write_text(manifest.read_text()[:-300])
    return [directory]


def newer(folder: Path) -> list[Path]:
    """Written by an ulpfuzz of the future."""
    directory = write(folder / "newer", schema_version=SCHEMA_VERSION + 1)
    for path in directory.glob("*/*.parquet"):
        content = bytearray(path.read_bytes())
        for key, length, value in (("schema_version", 1, SCHEMA_VERSION + 1), ("ulpfuzz.checksum", 16, "0" * 16)):
            at = content.rindex(key.encode()) + len(key) + 2  # a type and a length (Thrift)
            content[at : at + length] = str(value).encode()
        path.write_bytes(content)
        with path.open("r+b") as file:
            seal(file)
    return [directory]


def empty_folder(folder: Path) -> list[Path]:
    (folder / "empty").mkdir()
    return [folder / "empty"]


def missing(folder: Path) -> list[Path]:
    return [folder / "nowhere"]


ODD: dict[str, Callable[[Path], list[Path]]] = {
    build.__name__: build
    for build in (
        healthy, nothing_finished, no_rows, single_row, half_written, first_shard_only, nan_only, nan_outputs,
        all_crashed, all_unsupported, mixed_schema, older, old_and_new, several_plans, hostile, damaged_part,
        damaged_manifest, newer, empty_folder, missing,
    )
}  # fmt: skip
"""Every odd campaign by name."""

UNREADABLE = {
    "nothing_finished": (2, "holds no finished trials yet: run `ulpfuzz resume"),
    "damaged_part": (3, "00000001.parquet is damaged: "),
    "damaged_manifest": (3, "campaign.json is damaged: it is not JSON"),
    "newer": (3, f"has schema version {SCHEMA_VERSION + 1}, this ulpfuzz reads up to {SCHEMA_VERSION}: upgrade"),
    "empty_folder": (2, "is not a campaign: it has no campaign.json"),
    "missing": (2, "there is no directory"),
}
"""Those whose rows no command can read: exit code, and what the one line says."""


def _nan_element() -> Row:
    return dict.fromkeys(("value", "truth", "bound", "amplification", "rho"), math.nan)


def _survey(directory: Path) -> Path:
    """Each trial a problem of its own."""
    rows, elements = golden_rows()

    def apart(row: Row) -> Row:
        return row | {"problem_id": f"{int(str(row['index'])):016x}", "trial": f"survey-{row['index']}"}

    return write(
        directory, list(map(apart, rows)), list(map(apart, elements)), plan="survey", trials_per_problem=1,
        cells=[], survey=[{"operator": "tanh", "home": "float32", "targets": ["mine:cpu", "numpy:cpu"], "pairs": []}],
    )  # fmt: skip

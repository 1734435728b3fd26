"""Ten million rows: what reports of a large campaign cost.

    python benchmarks/ten_million.py [--folder FOLDER] [--rows 10000000] [--pandas PYTHON]

Each figure is that of a fresh process, the better of two: CPU seconds of all its threads, in user and system mode, and
its largest resident memory. Exit code 1 where a limit is missed. The campaign of `rows.py` is written into FOLDER
unless it is there. PYTHON is an interpreter with pandas and pyarrow, which reads a tenth of the rows. Linux only.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parent.parent
CHROMIUM = shutil.which("chromium") or "/usr/bin/chromium"
SECONDS, MEGABYTES = 5.0, 512.0
COMPACTED_SECONDS, ANSWER_SECONDS = 2.0, 0.1
PAGE_MEGABYTES, PAGE_SECONDS = 10.0, 3.0

ANSWER = """
import json, resource, sys
import results
opened = results.open(sys.argv[1])
opened.sql("SELECT 1")
def cpu():
    used = resource.getrusage(resource.RUSAGE_SELF)
    return used.ru_utime + used.ru_stime
before = cpu()
answer = opened.sql('''
    SELECT target, count(*) AS outputs, count(*) FILTER (above_1e01 > 0) AS above, max(rel_max) AS largest,
           count(*) FILTER (flagged > 0) AS flagged, quantile_disc(rho_max, [0.5, 0.99]) AS rho
    FROM trials WHERE operator = 'softmax' GROUP BY target ORDER BY target
''')
print(json.dumps([cpu() - before, answer.num_rows]))
"""

PANDAS = """
import sys
import pandas
columns = ["target", "variant", "against", "problem_id", "index", "rel_max", "rho_max", "ulp_max", "above_1e01",
           "above_1e02", "flagged", "verdict"]
rows = pandas.concat([pandas.read_parquet(path, columns=columns) for path in sys.argv[1:]], ignore_index=True)
rows = rows[(rows["against"] == "truth") & (rows["variant"] == "")]
rows["a1"], rows["a2"], rows["f"] = rows["above_1e01"] > 0, rows["above_1e02"] > 0, rows["flagged"] > 0
by = rows.groupby("target")
table = by.agg(run=("index", "size"), trials=("rel_max", "count"), a1=("a1", "sum"), a2=("a2", "sum"), f=("f", "sum"),
               relative=("rel_max", "max"), ulp=("ulp_max", "max"), rho=("rho_max", "max"))
levels = [0.5, 0.9, 0.99, 0.999]
quantiles = by[["rel_max", "rho_max"]].quantile(levels, interpolation="lower").unstack()
verdicts = rows.groupby(["target", "verdict"]).size()
print(table, quantiles, verdicts, sep="\\n", file=sys.stderr)
print(len(rows))
"""


class Cost(NamedTuple):
    """Of one process."""

    seconds: float
    megabytes: float
    output: str


class Line(NamedTuple):
    """One figure: CPU seconds, MB, or wall seconds, and the limit."""

    what: str
    value: float
    unit: str
    limit: float | None

    def __str__(self) -> str:
        if self.limit is None:
            return f"{self.what:<58} {self.value:>8.2f} {self.unit}"
        met = "met" if self.value <= self.limit else "MISSED"
        return f"{self.what:<58} {self.value:>8.2f} {self.unit:<5} (wanted <= {self.limit:g}: {met})"


def cost(command: Sequence[str], times: int = 2) -> Cost:
    """The cheapest of so many runs. SystemExit where one fails: a report may end with 1, it has findings."""
    return min((_once(command) for _ in range(times)), key=lambda one: one.seconds)


def _once(command: Sequence[str]) -> Cost:
    with tempfile.TemporaryFile("w+") as out:
        process = subprocess.Popen(command, stdout=out, stderr=subprocess.DEVNULL, cwd=ROOT)
        _, status, used = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        if process.returncode not in (0, 1):
            sys.exit(f"{' '.join(command)[:200]} ended with {process.returncode}")
        out.seek(0)
        return Cost(used.ru_utime + used.ru_stime, used.ru_maxrss / 1024, out.read())


def ulpfuzz(*arguments: str) -> list[str]:
    return [sys.executable, "-m", "fuzz.cli", *arguments]


def prepared(folder: Path, rows: int) -> tuple[Path, Path]:
    """The campaign in many parts, and the same compacted."""
    loose, merged = folder / f"rows-{rows}", folder / f"compacted-{rows}"
    if not (loose / "campaign.json").exists():
        shutil.rmtree(loose, ignore_errors=True)
        print(f"writing {loose}", file=sys.stderr)
        writing = [sys.executable, str(ROOT / "benchmarks/rows.py"), str(loose), "--rows", str(rows)]
        subprocess.run(writing, check=True, stdout=sys.stderr)
    if not (merged / "compacted").exists():
        shutil.rmtree(merged, ignore_errors=True)
        shutil.copytree(loose, merged, copy_function=os.link)
    done = cost(ulpfuzz("compact", str(merged)), times=1)  # anew: answers are kept of this code's only
    print(f"compacted in {done.seconds:.0f} CPU s: {done.output.strip()}", file=sys.stderr)
    (merged / "compacted").touch()
    return loose, merged


def opened(page: Path) -> float:
    """Wall seconds until Chromium has loaded and laid out a page."""
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox", "--disable-gpu"])
        tab = browser.new_page()
        started = time.perf_counter()
        tab.goto(page.as_uri(), wait_until="load")
        tab.evaluate("document.body.getBoundingClientRect().height")
        seconds = time.perf_counter() - started
        browser.close()
    return seconds


def reports(loose: Path, merged: Path, page: Path) -> list[Line]:
    """All figures of this project."""
    lines = []
    for what, folder, seconds in (("", loose, SECONDS), (", compacted", merged, COMPACTED_SECONDS)):
        spent = cost(ulpfuzz("report", str(folder)))
        lines += [
            Line(f"report with exact quantiles{what}", spent.seconds, "CPU s", seconds),
            Line(f"report with exact quantiles{what}: peak", spent.megabytes, "MB", MEGABYTES),
        ]
    for what, folder, limit in ((", compacted", merged, ANSWER_SECONDS), ("", loose, None)):
        spent = cost([sys.executable, "-c", ANSWER, str(folder)])
        lines.append(Line(f"one operator, by SQL{what}", json.loads(spent.output)[0], "CPU s", limit))
        lines.append(Line(f"the same with start-up and checksums{what}", spent.seconds, "CPU s", None))
    spent = cost(ulpfuzz("report", str(merged), "--html", str(page)), times=1)
    lines += [
        Line("page of HTML, compacted", spent.seconds, "CPU s", None),
        Line("page of HTML, compacted: peak", spent.megabytes, "MB", None),
        Line("page of HTML: size", page.stat().st_size / 1e6, "MB", PAGE_MEGABYTES),
    ]
    if Path(CHROMIUM).exists():
        seconds = min(opened(page) for _ in range(2))
        lines.append(Line("page of HTML: opens in Chromium", seconds, "s", PAGE_SECONDS))
    return lines


def main() -> int:
    parser = argparse.ArgumentParser(description="What reports of a campaign of ten million rows cost.")
    parser.add_argument("--folder", type=Path, default=Path(tempfile.gettempdir()) / "ulpfuzz-ten-million")
    parser.add_argument("--rows", type=int, default=10_000_000)
    parser.add_argument("--pandas", default=sys.executable, metavar="PYTHON", help="interpreter with pandas")
    given = parser.parse_args()
    given.folder.mkdir(parents=True, exist_ok=True)
    loose, merged = prepared(given.folder, given.rows)
    parts = [str(path) for path in sorted((loose / "parts").glob("*.parquet"))]
    size = sum(Path(path).stat().st_size for path in parts) / 1e6
    print(f"{given.rows:,} rows in {len(parts)} parts, {size:,.0f} MB", flush=True)
    lines = reports(loose, merged, given.folder / "report.html")
    has_pandas = subprocess.run([given.pandas, "-c", "import pandas"], capture_output=True, check=False).returncode == 0
    if has_pandas:
        spent = cost([given.pandas, "-c", PANDAS, *parts[: max(1, len(parts) // 10)]])
        lines += [
            Line("pandas, the figures of targets, a tenth of the rows", spent.seconds, "CPU s", None),
            Line("pandas, the figures of targets, a tenth: peak", spent.megabytes, "MB", None),
        ]
    print(*lines, sep="\n")
    if not has_pandas:
        print(f"pandas: not installed in {given.pandas}: name an interpreter that has it with --pandas")
    return int(any(line.limit is not None and line.value > line.limit for line in lines))


if __name__ == "__main__":
    sys.exit(main())

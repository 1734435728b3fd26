"""The page in a browser: what it draws, what its script does, on a wide screen, on a phone, at night, on paper."""

from __future__ import annotations

import fcntl
import json
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import results
from results.columns import ELEMENT_COLUMNS, Row
from results.contents.findings import Script
from results.html.page import page
from results.store import Store

ROOT = Path(__file__).resolve().parent.parent
CHROMIUM = shutil.which("chromium") or "/usr/bin/chromium"
ARGUMENTS = [
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]
SCRIPT = '"""A script of <two> lines & more."""\nassert 1 < 2\n'
WIDE, PHONE = {"width": 1280, "height": 900}, {"width": 390, "height": 844}

playwright = pytest.importorskip("playwright.sync_api", reason="playwright is not installed: pip install playwright")
pytestmark = [
    pytest.mark.heavy,
    pytest.mark.skipif(not Path(CHROMIUM).exists(), reason="no Chromium here: apt-get install chromium"),
]

Open = Callable[..., Any]


def ulpfuzz(*arguments: str) -> None:
    ran = subprocess.run(
        [sys.executable, "-m", "fuzz.cli", *arguments],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=280,
        check=False,
    )
    assert ran.returncode == 0, ran.stderr


@pytest.fixture(scope="session")
def pages(tmp_path_factory: pytest.TempPathFactory, worker_id: str) -> dict[str, Path]:
    """The page of the README's question with 200 trials, and one with a finding and its script; made once."""
    base = tmp_path_factory.getbasetemp()
    folder = (base if worker_id == "master" else base.parent) / "pages"
    folder.mkdir(exist_ok=True)
    made = {name: folder / f"{name}.html" for name in ("batch_norm", "gelu")}
    with (folder / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not made["gelu"].exists():
            out = str(folder / "batch_norm")
            ulpfuzz(
                "run", "examples/batch_norm_outliers.toml", "--trials", "200", "--targets", "torch,tvm", "--out", out
            )
            made["batch_norm"].write_text(page(results.open(out)))
            made["gelu"].write_text(page_of_findings(folder / "gelu"))
    return made


def page_of_findings(directory: Path) -> str:
    """The page of a campaign of ten operators on one target, one of which is a finding."""
    directory.mkdir()
    manifest = {"format": "ulpfuzz campaign", "schema_version": 3, "plan": "explore", "seed": 0, "trials": 1}
    (directory / "campaign.json").write_text(json.dumps(manifest))
    plain: Row = {"seed": 0, "index": 0, "output": "y", "target": "torch:cpu", "variant": "", "against": "truth"}
    plain |= {"backend": "torch", "device": "cpu", "options": "", "dtype": "float32", "home": "float32"}
    plain |= {"provenance": "library", "elements": 1, "verdict": "rounding", "flagged": 0, "environment": "e" * 16}
    rows = [
        plain | {"operator": name, "problem_id": name, "trial": f"{name}-0", "rho_max": 0.1 * n, "above_1e01": 0}
        for n, name in enumerate(("gelu", "exp", "log", "sin", "cos", "tan", "erf", "abs", "sqrt", "tanh"))
    ]
    rows[0] |= {"verdict": "unstable", "rho_max": 1e5, "flagged": 1, "region": "x < -2.75", "above_1e01": 1}
    names = {column.name for column in ELEMENT_COLUMNS}
    dot = {name: value for name, value in rows[0].items() if name in names} | {
        "kind": "worst",
        "element": 0,
        "rho": 2e7,
    }
    Store(directory).commit(0, rows, [dot | {"value": 2.0, "truth": 1.0, "bound": 1.0, "amplification": 1.0}])
    campaign = results.open(directory)
    (finding,) = campaign.findings
    return page(campaign, scripts=[{finding.id: Script(SCRIPT)}])


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    with playwright.sync_playwright() as engine:
        started = engine.chromium.launch(executable_path=CHROMIUM, args=ARGUMENTS)
        yield started
        started.close()


@pytest.fixture
def show(browser: Any, pages: dict[str, Path]) -> Iterator[Open]:
    """Open a page by name; in the end no error may have been logged and nothing but the file fetched."""
    contexts, wrong, fetched = [], [], []

    def open_(name: str = "batch_norm", **options: Any) -> Any:
        context = browser.new_context(**({"viewport": WIDE} | options))
        contexts.append(context)
        page = context.new_page()
        page.on("pageerror", lambda error: wrong.append(str(error)))
        page.on("console", lambda message: wrong.append(message.text))
        page.on("request", lambda request: fetched.append(request.url))
        page.goto(pages[name].as_uri())
        return page

    yield open_
    for context in contexts:
        context.close()
    assert wrong == []
    assert set(fetched) <= {path.as_uri() for path in pages.values()}
    assert fetched


def inside(page: Any, mark: str) -> list[Any]:
    """For each mark of a plot, whether it lies within the plot as it is shown."""
    return page.evaluate(
        """(mark) => [...document.querySelectorAll(mark)].map((one) => {
            const a = one.getBoundingClientRect(), b = one.closest("svg").getBoundingClientRect();
            return a.width > 0 && a.left >= b.left - 1 && a.right <= b.right + 1 && a.top >= b.top - 1
                && a.bottom <= b.bottom + 1;
        })""",
        mark,
    )


def test_plots_are_drawn(show: Open) -> None:
    page = show()
    assert page.locator("h1").inner_text().startswith("No implementation is to blame")
    dots = inside(page, "svg.scatter circle.dot")
    assert len(dots) > 100
    assert all(dots)
    assert all(inside(page, "svg.strip-plot circle"))
    assert page.locator("svg.ecdf polyline.curve").count() == 2
    for line in ("flag", "bound", "guide"):
        assert page.locator(f"svg.scatter line.{line}").count() == 1


def test_a_click_on_a_heading_sorts(show: Open) -> None:
    page = show()
    table = page.locator("section.operators table")
    column = table.locator("thead th").all_inner_texts().index("largest rho")

    def figures() -> list[float]:
        return [float(row.locator("td").nth(column).inner_text()) for row in table.locator("tbody tr").all()]

    button = table.locator("thead th").nth(column).locator("button")
    button.click()
    assert figures() == sorted(figures(), reverse=True)
    assert table.locator("th[aria-sort=descending]").count() == 1
    button.click()
    assert figures() == sorted(figures())
    assert len(set(figures())) > 1
    names = table.locator("thead th button").nth(1)
    names.click()
    targets = table.locator("tbody tr td:nth-child(2)").all_inner_texts()
    assert targets == sorted(targets)


def test_words_filter_rows(show: Open) -> None:
    page = show()
    page.locator("section.scatter summary", has_text="the worst of them").click()
    rows = page.locator("section.scatter tbody tr")
    every = rows.count()
    page.locator("section.scatter input[type=search]").fill("TORCH repro")
    shown = [row for row in rows.all() if row.is_visible()]
    assert 0 < len(shown) < every
    assert all("torch:cpu" in row.inner_text() for row in shown)
    assert page.locator("section.scatter .shown").inner_text() == f"{len(shown)} of {every} rows"
    page.emulate_media(media="print")
    assert all(row.is_visible() for row in rows.all())
    assert not page.locator(".tools").first.is_visible()


def test_findings_alone_can_be_shown(show: Open) -> None:
    page = show("gelu")
    rows = page.locator("section.operators tbody tr")
    assert rows.count() == 10
    page.locator("section.operators input[type=checkbox]").check()
    assert [row.locator("td").first.inner_text() for row in rows.all() if row.is_visible()] == ["gelu"]


def test_a_dot_tells_its_trial(show: Open, pages: dict[str, Path]) -> None:
    page = show()
    dot = page.locator("svg.scatter circle.dot.out").last
    dot.scroll_into_view_if_needed()
    trial = dot.get_attribute("data-trial")
    dot.hover(force=True)
    tip = page.locator("#tip")
    assert "relative error" in tip.inner_text()
    assert "ulpfuzz repro " in tip.inner_text()
    page.mouse.move(5, 5)
    assert tip.is_hidden()
    dot.click(force=True)
    command = tip.locator("code").inner_text()
    assert command.startswith(f"ulpfuzz repro {pages['batch_norm'].with_suffix('')} ")
    assert trial.partition("-")[0] in command
    assert tip.locator("button").inner_text() == "copy"
    page.keyboard.press("Escape")
    assert tip.is_hidden()


def test_a_tap_tells_too(show: Open) -> None:
    page = show(viewport=PHONE, has_touch=True)
    dot = page.locator("svg.scatter circle.dot").last
    dot.scroll_into_view_if_needed()
    box = dot.bounding_box()
    page.touchscreen.tap(box["x"] + 8, box["y"] + 8)
    assert page.locator("#tip button").is_visible()


def test_a_legend_hides_a_target(show: Open) -> None:
    page = show()
    key = page.locator("section.scatter .legend .key").first
    mark = page.locator(f"section.scatter circle.dot.{key.get_attribute('data-colour')}").first
    assert mark.is_visible()
    key.click()
    assert mark.is_hidden()
    key.click()
    assert mark.is_visible()


@pytest.mark.parametrize("clipboard", [True, False], ids=["clipboard", "selection"])
def test_the_script_can_be_copied(show: Open, clipboard: bool) -> None:
    page = show("gelu", permissions=["clipboard-read", "clipboard-write"])
    if not clipboard:
        page.evaluate("() => Object.defineProperty(navigator, 'clipboard', { value: undefined })")
    page.locator("details.program summary").first.click()
    box = page.locator("details.program .code.script").first
    box.locator("button").click()
    playwright.expect(box.locator("button")).to_have_text("copied")
    copied = page.evaluate("() => navigator.clipboard?.readText() ?? String(getSelection())")
    assert copied.strip() == SCRIPT.strip()


@pytest.mark.parametrize("name", ["batch_norm", "gelu"])
def test_a_phone_scrolls_down_only(show: Open, name: str) -> None:
    page = show(name, viewport=PHONE)
    for one in page.locator("details").all():
        one.evaluate("(details) => { details.open = true; }")
    assert page.evaluate("() => document.documentElement.scrollWidth") == PHONE["width"]
    assert page.evaluate(
        "() => [...document.querySelectorAll('.box')].some((box) => box.scrollWidth > box.clientWidth)"
    )


def test_the_night_is_dark(show: Open) -> None:
    def luminance(scheme: str) -> float:
        page = show(color_scheme=scheme)
        colours = page.evaluate(
            "() => [getComputedStyle(document.body).backgroundColor, getComputedStyle(document.body).color]"
        )
        back, ink = (sum(int(v) for v in colour.strip("rgb()").split(",")[:3]) for colour in colours)
        assert abs(back - ink) > 380
        return float(back)

    assert luminance("light") > 700
    assert luminance("dark") < 120


def test_everything_is_there_without_a_script(show: Open) -> None:
    page = show("gelu", java_script_enabled=False)
    assert page.locator("section.operators tbody tr").count() == 10
    assert page.locator("button").count() == 0
    assert "relative error" in page.locator("svg.scatter circle title").first.text_content()
    assert page.locator("section.findings .code").first.is_visible()

"""Bad input: one line that names the mistake and the remedy, exit code 2, and nothing written."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from running import Cli, differing, rows_of

from fuzz import extensions
from fuzz.backends import BACKENDS
from fuzz.backends.functions import FunctionBackend
from fuzz.campaigns.campaign import Campaign
from fuzz.campaigns.directory import CampaignDirectory
from fuzz.cli.app import invoke
from fuzz.errors import UserError

SUM = ["run", "sum", "--dims", "rows=3,n=8", "--targets", "numpy", "--out", "c"]
EXP = ["run", "exp", "--dims", "n=8", "--targets", "numpy", "--out", "c"]


@pytest.fixture(autouse=True)
def empty_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """The current folder of the test; backends registered meanwhile are forgotten."""
    monkeypatch.chdir(tmp_path)
    before = dict(BACKENDS)
    yield tmp_path
    BACKENDS.clear()
    BACKENDS.update(before)
    extensions._loaded.clear()


def refused(capsys: pytest.CaptureFixture[str], *arguments: str, code: int = 2) -> str:
    """The message; the command must end with `code` and write nothing."""
    before = sorted(Path().rglob("*"))
    assert invoke([*arguments]) == code
    out, err = capsys.readouterr()
    assert sorted(Path().rglob("*")) == before
    assert not out
    assert err.startswith("ulpfuzz: ")
    return err


def one_line(capsys: pytest.CaptureFixture[str], *arguments: str, code: int = 2) -> str:
    message = refused(capsys, *arguments, code=code)
    assert message.count("\n") == 1, message
    return message


ONE_LINE = [
    (["run", "summ", "--dims", "n=3"], "unknown operator 'summ': did you mean 'sum'?"),
    (["run", "zzz", "--dims", "n=3"], "unknown operator 'zzz': `ulpfuzz list operators` shows those there are"),
    ([*SUM, "--targets", "nunpy"], "unknown backend 'nunpy': did you mean 'numpy'?"),
    ([*SUM, "--targets", "numpy["], "cannot read target 'numpy['"),
    ([*SUM, "--targets", ""], "no target"),
    ([*SUM, "--targets", "numpy,numpy"], "target numpy:cpu is named twice"),
    ([*SUM, "--targets", "numpy,numpy:cpu"], "target numpy:cpu is named twice"),
    ([*SUM, "--targets", "jax[mod=eager]"], "unknown option of jax 'mod': did you mean 'mode'?"),
    ([*SUM, "--targets", "jax[mode=eagre]"], "unknown value of jax option mode 'eagre': did you mean 'eager'?"),
    ([*SUM, "--targets", "numpy[dtype=float46]"], "unknown dtype 'float46': did you mean 'float64'?"),
    ([*SUM, "--targets", "numpy[impl=summ]"], "unknown formulation of numpy 'summ': did you mean 'sum'?"),
    ([*SUM, "--dtype", "flaot32"], "unknown dtype 'flaot32': did you mean 'float32'?"),
    ([*SUM, "--dtype", "float32", "--dtype", "float32"], "is asked for twice"),
    ([*SUM, "--plan", "fixd"], "unknown plan 'fixd': did you mean 'fixed'?"),
    ([*SUM, "--plan", "survey"], "the plan survey draws dims, attributes and inputs itself"),
    ([*SUM, "--trials", "0"], "trials is 0: use a number >= 1"),
    ([*SUM, "--trials", "-3"], "trials is -3"),
    ([*SUM, "--trials", "many"], "'--trials': Input should be a valid integer"),
    ([*SUM, "--trials", "1e3"], "'--trials': Input should be a valid integer"),
    ([*SUM, "--seed", "-1"], "seed is -1: use a whole number from 0"),
    ([*SUM, "--seed", str(2**63)], "seed is 9223372036854775808"),
    ([*SUM, "--workers", "0"], "'--workers': Input should be greater"),
    ([*SUM, "--shard-trials", "0"], "'--shard-trials': Input should be greater"),
    ([*SUM, "--call-timeout", "nan"], "'--call-timeout': Input should be greater"),
    ([*SUM, "--published", "abc"], "published rate 'abc' is not a count"),
    ([*SUM, "--published", "5/3"], "published rate '5/3' is not a count"),
    ([*SUM, "--pair", "numpy/tvm"], "pair names 'tvm', which is not among the targets numpy:cpu"),
    ([*SUM, "--pair", "numpy"], "cannot read pair 'numpy': write A/B"),
    ([*SUM, "--pair", "numpy/numpy"], "compares a target with itself"),
    ([*SUM, "--pair", "numpy/nunpy"], "unknown backend 'nunpy': did you mean 'numpy'?"),
    (["run", "sum", "sum", *SUM[2:]], "the same problem of sum in float32 is asked for twice"),
    (["run", "sum", "exp", *SUM[2:]], "exp has no dim 'rows'"),
    (["run", "sum", "--targets", "numpy"], "sum needs the size of rows, n: give it, as in --dims"),
    (["run", "sum", "--targets", "numpy", "--dims", "rows=3"], "sum needs"),
    ([*EXP, "--dims", "m=3"], "exp has no dim 'm': its dims are n"),
    ([*EXP, "--dims", "n=8"], "dim 'n' is given twice"),
    (["run", "exp", "--targets", "numpy", "--dims", "n=-1"], "dim n of exp is -1: use a whole number >= 0"),
    (["run", "sum", "--targets", "numpy", "--dims", "rows=3,n=0"], "dim n of sum is 0: use a whole number >= 1"),
    (["run", "exp", "--targets", "numpy", "--dims", "garbage"], "cannot read dim 'garbage': write NAME=SIZE"),
    (["run", "exp", "--targets", "numpy", "--dims", "n=2.5"], "cannot read dim 'n=2.5'"),
    (["run", "exp", "--targets", "numpy", "--dims", "n=" + "9" * 30], "this machine has"),
    ([*EXP, "--attr", "eps=1"], "exp has no attribute 'eps'"),
    ([*EXP, "--attr", "eps"], "cannot read attribute 'eps'"),
    ([*SUM, "--attr", "axis=x"], "axis"),
    ([*SUM, "--attr", "axis=0,axis=1"], "attribute 'axis' is given twice"),
    ([*EXP, "--input", "x=normal(0,1)", "--input", "x=normal(0,1)"], "input 'x' is given twice"),
    ([*EXP, "--input", "y=normal(0,1)"], "unknown input of exp 'y'"),
    ([*EXP, "--out", "/proc/nowhere/c"], "cannot write /proc/nowhere/c"),
    ([*EXP, "--extension", "nowhere.py"], "extension nowhere.py is not a file"),
    (["run", "nowhere.toml"], "no file 'nowhere.toml'"),
    (["run", "nowhere.toml", "sum"], "name either one TOML file or operators, not both"),
    (["list", "nonsense"], "unknown list 'nonsense'"),
    (["list", "operator"], "unknown list 'operator': did you mean 'operators'?"),
    (["resume", "nowhere"], "there is no directory nowhere"),
    (["report", "nowhere"], "there is no directory nowhere"),
    (["repro", "nowhere", "1"], "there is no directory nowhere"),
    (["rnu"], "No such command 'rnu'"),
    (["run"], "Missing argument"),
    (["run", "sum", "--tragets", "numpy"], "No such option: --tragets"),
]


@pytest.mark.parametrize(("arguments", "message"), ONE_LINE, ids=lambda value: " ".join(value)[:60])
def test_one_line(capsys: pytest.CaptureFixture[str], arguments: list[str], message: str) -> None:
    assert message in one_line(capsys, *arguments)


EXPRESSIONS = [
    ("x=normal(0,1", "normal(0,1", 10),
    ("x=normal(0,,1)", "normal(0,,1)", 9),
    ("x=nromal(0,1)", "nromal(0,1)", 0),
    ("x=normal(0,1))", "normal(0,1))", 11),
    ("x=normal(a,1)", "normal(a,1)", 7),
    ("x=", "", 0),
    ("normal(0,1)", "normal(0,1)", 0),
]


@pytest.mark.parametrize(("text", "shown", "caret"), EXPRESSIONS)
def test_a_malformed_recipe_has_a_caret_under_the_mistake(
    capsys: pytest.CaptureFixture[str], text: str, shown: str, caret: int
) -> None:
    lines = refused(capsys, *EXP, "--input", text).splitlines()
    assert len(lines) == 3
    assert lines[1].removeprefix("  ") == shown
    assert lines[2].index("^") - 2 == caret


@pytest.mark.parametrize("text", ["normal(0,-1)", "normal(0,nan)", "normal(0,inf)", "uniform(2,1)", "integers(0,1e30)"])
def test_parameters_without_meaning(capsys: pytest.CaptureFixture[str], text: str) -> None:
    assert text.partition("(")[0] in refused(capsys, *EXP, "--input", f"x={text}")


def test_out_must_be_free(capsys: pytest.CaptureFixture[str], empty_folder: Path) -> None:
    (empty_folder / "mine").mkdir()
    (empty_folder / "mine" / "thesis.tex").write_text("x")
    assert "mine is not empty and no campaign" in one_line(capsys, *EXP, "--out", "mine")
    assert "cannot write mine/thesis.tex: Not a directory" in one_line(capsys, *EXP, "--out", "mine/thesis.tex")
    (empty_folder / "mine" / "thesis.tex").rename(empty_folder / "mine" / "lock")
    assert "is not empty and no campaign" in one_line(capsys, *EXP, "--out", "mine")


@pytest.mark.parametrize("command", ["resume", "report", "repro"])
def test_what_is_no_campaign(capsys: pytest.CaptureFixture[str], empty_folder: Path, command: str) -> None:
    more = ["x-1"] if command == "repro" else []
    (empty_folder / "folder").mkdir()
    (empty_folder / "file").write_text("")
    assert "folder is not a campaign: it has no campaign.json; give a directory that ulpfuzz wrote" in one_line(
        capsys, command, "folder", *more
    )
    assert "file is a" in one_line(capsys, command, "file", *more)
    manifest = empty_folder / "folder" / "campaign.json"
    texts = {"": 3, '{"format": "ulpfuzz campaign"': 3, "[]": 2, "{}": 2, '{"format": "other"}': 2}
    for text, code in texts.items():
        manifest.write_text(text)
        assert "folder/campaign.json" in refused(capsys, command, "folder", *more, code=code)
    if command != "report":
        manifest.write_text('{"format": "ulpfuzz campaign", "plan": 3}')
        assert "campaign.json is damaged" in one_line(capsys, command, "folder", *more, code=3)
        manifest.write_text('{"format": "ulpfuzz campaign", "schema_version": 99}')
        assert "upgrade" in one_line(capsys, command, "folder", *more)


BASE = 'operator = "exp"\ndims = {n = 3}\n'
TOML = [
    ("trials = ", "c.toml is not valid TOML"),
    ("", "has no [[problem]] table"),
    ("problem = 3", "has no [[problem]] table"),
    ("problem = [3]", "a table is due, got 3"),
    ("trails = 3\n[[problem]]\n" + BASE, "unknown key in c.toml 'trails': did you mean 'trials'?"),
    ('operator = "sum"\n', "unknown key in c.toml 'operator': it belongs into a [[problem]] table, below that heading"),
    ("[[problem]]\noperater = 'exp'", "unknown key of [[problem]] in c.toml 'operater': did you mean 'operator'?"),
    ("[[problem]]\ndims = {n = 3}", "problem[0]: missing key `operator`"),
    ("[published]\nrat = '1/2'\n[[problem]]\n" + BASE, "unknown key of published in c.toml 'rat'"),
    ("published = '1/2'\n[[problem]]\n" + BASE, "a table is due, got '1/2'"),
    ("published = {rate = 'x'}\n[[problem]]\n" + BASE, "published rate 'x' is not a count"),
    ("published = {rate = '1/2', above = 13}\n[[problem]]\n" + BASE, "above = 13: use k from 1 to 12"),
    ("published = {rate = '1/2', pair = ['a', 'b']}\n[[problem]]\n" + BASE, "published pair a/b is not compared"),
    ("published = {above = 1}\n[[problem]]\n" + BASE, "published: missing key `rate`"),
    ("trials = 'x'\n[[problem]]\n" + BASE, "trials: Expected a whole number, got a string"),
    ("dtype = 3\n[[problem]]\n" + BASE, "dtype: Expected an array, got a whole number"),
    ("dtype = ['float32', 'flota64']\n[[problem]]\n" + BASE, "unknown dtype 'flota64'"),
    ("pairs = ['a/b']\n[[problem]]\n" + BASE, "pairs[0]: Expected an array, got a string"),
    ("extensions = 'x.py'\n[[problem]]\n" + BASE, "extensions: Expected an array, got a string"),
    ("extensions = [1]\n[[problem]]\n" + BASE, "extensions[0]: Expected a string, got a whole number"),
    ("extensions = ['x.py']\n[[problem]]\n" + BASE, "x.py is not a file"),
    ("targets = 'numpy'\n[[problem]]\n" + BASE, "targets: Expected an array, got a string"),
    ("[[problem]]\noperator = 'exp'\ndims = {n = 2.5}", "Expected a whole number"),
    ("[[problem]]\noperator = 'exp'\ndims = {n = true}", "Expected a whole number"),
    ("[[problem]]\noperator = 'exp'\ndims = {n = 3}\nattributes = {a = [[1]]}", "problem[0].attributes"),
    ("[[problem]]\noperator = 'exp'\ndims = {n = 3}\ninputs = {x = 1}", "problem[0].inputs"),
]


@pytest.mark.parametrize(("text", "message"), TOML)
def test_campaign_files(capsys: pytest.CaptureFixture[str], empty_folder: Path, text: str, message: str) -> None:
    (empty_folder / "c.toml").write_text(text)
    assert message in one_line(capsys, "run", "c.toml", "--targets", "numpy")


def test_a_campaign_file_that_is_no_text(capsys: pytest.CaptureFixture[str], empty_folder: Path) -> None:
    (empty_folder / "c.toml").write_bytes(b"\xff\xfe")
    assert "cannot read 'c.toml'" in one_line(capsys, "run", "c.toml")
    (empty_folder / "d.toml").mkdir()
    assert "cannot read 'd.toml'" in one_line(capsys, "run", "d.toml")
    (empty_folder / "e.toml").write_text("[[problem]]\n" + BASE)
    for option in (["--dims", "n=3"], ["--input", "x=normal(0,1)"], ["--attr", "eps=1"]):
        assert "--dims, --input and --attr belong to operators" in one_line(capsys, "run", "e.toml", *option)


def test_given_arrays(capsys: pytest.CaptureFixture[str], empty_folder: Path) -> None:
    np.savez(empty_folder / "a.npz", w=np.zeros(5), v=np.zeros(8), o=np.array([None]))
    (empty_folder / "b.npz").write_bytes(b"no numpy file")
    np.save(empty_folder / "o.npy", np.array([{}]), allow_pickle=True)
    for file, message in {
        "a.npz:w": "has shape (5,), input x needs (8,)",
        "a.npz:u": "has no key 'u': its keys are w, v, o",
        "a.npz": "has no key 'x'",
        "a.npz:o": "pickled objects",
        "o.npy": "pickled objects",
        "b.npz": "cannot be read",
        "nowhere.npz:w": "no file 'nowhere.npz'",
        "a.txt": "reads .npz and .npy files",
        "@0123": "no array with content 0123",
    }.items():
        assert message in refused(capsys, *EXP, "--input", f"x=given({file})"), file


EXTENSIONS = {
    "x = 1": "registers nothing",
    "1 / 0": "line 1: ZeroDivisionError",
    "from fuzz.extend import *\nregister(FunctionBackend('numpy'))": "backend 'numpy' exists already",
    "raise SystemExit(0)": "SystemExit",
}


@pytest.mark.parametrize("text", EXTENSIONS)
def test_extensions(capsys: pytest.CaptureFixture[str], empty_folder: Path, text: str) -> None:
    (empty_folder / "e.py").write_text(text)
    assert EXTENSIONS[text] in one_line(capsys, *EXP, "--extension", "e.py")


def test_a_backend_asked_for_by_name_that_is_not_installed(capsys: pytest.CaptureFixture[str]) -> None:
    BACKENDS["lacking"] = FunctionBackend("lacking", module="no_such_module", install="pip install lacking")
    message = one_line(capsys, *EXP, "--targets", "numpy,lacking")
    assert message == "ulpfuzz: backend 'lacking' is not installed: pip install lacking\n"


def test_a_backend_that_is_not_installed_is_skipped_by_default(ulpfuzz: Cli, tmp_path: Path) -> None:
    """A file on the path hides the heavy libraries, as if they were not installed."""
    (tmp_path / "sitecustomize.py").write_text(
        "import sys\n"
        "class Hide:\n"
        "    def find_spec(self, name, path=None, target=None):\n"
        "        if name in ('torch', 'jax', 'tvm'):\n"
        "            raise ImportError(name + ' is hidden')\n"
        "sys.meta_path.insert(0, Hide())\n"
    )
    path = os.pathsep.join([str(tmp_path), os.environ.get("PYTHONPATH", "")])
    ran = ulpfuzz.ok("run", "exp", "--dims", "n=3", "--trials", 3, "--out", "c", PYTHONPATH=path)
    for name in ("torch", "jax", "tvm"):
        assert f"skipped: {name} is not installed: pip install" in ran.stderr
    assert json.loads((tmp_path / "c" / "campaign.json").read_text())["targets"] == ["numpy:cpu", "scipy:cpu"]
    asked = ulpfuzz("run", "exp", "--dims", "n=3", "--targets", "torch", "--out", "d", PYTHONPATH=path)
    assert asked.returncode == 2
    assert asked.stderr.startswith("ulpfuzz: backend 'torch' is not installed: pip install")
    assert not (tmp_path / "d").exists()


def test_modules_of_the_current_folder_do_not_get_in_the_way(ulpfuzz: Cli, tmp_path: Path) -> None:
    """The command imports nothing from there, and neither do workers or the process of `repro`."""
    for name in ("strategies", "results", "numpy", "scipy", "random", "socket", "msgspec"):
        (tmp_path / f"{name}.py").write_text("raise RuntimeError('the wrong module')")
    launcher = [sys.executable, "-P", "-m", "fuzz.cli"]
    root = str(Path(extensions.__file__).resolve().parent.parent)
    for command in (
        ["run", "exp", "--dims", "n=3", "--targets", "numpy", "--trials", "3", "--out", "c"],
        ["repro", "c", "1"],
    ):
        ran = subprocess.run(
            [*launcher, *command],
            cwd=tmp_path,
            env=os.environ | {"PYTHONPATH": root},
            capture_output=True,
            text=True,
            check=False,
        )
        assert ran.returncode == 0, ran.stderr
        assert "Traceback" not in ran.stderr


def test_a_shadowed_package_is_said_in_one_line(ulpfuzz: Cli, tmp_path: Path) -> None:
    (tmp_path / "strategies.py").write_text("")
    ran = ulpfuzz("list", "operators")
    assert ran.returncode != 0
    assert len(ran.stderr.splitlines()) == 1
    assert "strategies.py is imported in its place: rename it" in ran.stderr


@pytest.mark.long
def test_damaged_parts_are_named_and_computed_again(
    ulpfuzz: Cli, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    ulpfuzz.ok("run", "exp", "--dims", "n=3", "--targets", "numpy", "--trials", 20, "--shard-trials", 5, "--out", "c")
    clean = rows_of(tmp_path / "c")
    part = tmp_path / "c" / "parts" / "00000002.parquet"
    whole = part.read_bytes()
    for content in (whole[:-10], whole[: len(whole) // 2], b"", whole[:50] + b"?" + whole[51:]):
        part.write_bytes(content)
        message = one_line(capsys, "report", "c", code=3)
        assert "c/parts/00000002.parquet is damaged" in message
        assert "`ulpfuzz resume c`" in message
        mended = ulpfuzz("resume", "c")
        assert mended.returncode == 0, mended.stderr
        assert "c/parts/00000002.parquet is damaged" in mended.stderr.splitlines()[0]
        assert "shard 2 is computed again" in mended.stderr.splitlines()[0]
        assert not differing(rows_of(tmp_path / "c"), clean)
    (tmp_path / "c" / "elements" / "00000001.parquet").unlink()
    assert "elements/00000001.parquet is missing" in one_line(capsys, "report", "c", code=3)
    ulpfuzz.ok("resume", "c")
    assert not differing(rows_of(tmp_path / "c"), clean)
    shutil.rmtree(tmp_path / "c" / "parts")
    assert "holds no finished trials yet" in one_line(capsys, "report", "c")


def test_a_folder_that_no_report_could_read_is_refused_before_the_run(tmp_path: Path) -> None:
    odd = tmp_path / os.fsdecode(b"night\xff")
    with pytest.raises(UserError, match="is no UTF-8 text: choose another --out"):
        CampaignDirectory(odd).create()
    assert not odd.exists()


def test_an_existing_campaign_is_not_overwritten(ulpfuzz: Cli, capsys: pytest.CaptureFixture[str]) -> None:
    ulpfuzz.ok("run", "exp", "--dims", "n=3", "--targets", "numpy", "--trials", 3, "--out", "c")
    assert "c holds a campaign already: `ulpfuzz resume c`, or choose another --out" in one_line(capsys, *EXP)
    place = CampaignDirectory(Path("c"))
    campaign = Campaign(place, place.read_manifest())
    for trial in ("3", "99", "deadbeef-1", "-1", "x", "1.5", "²", ""):
        with pytest.raises(UserError, match=f"no trial '{trial}' in c|cannot read trial '{trial}'"):
            campaign.find(trial)
    ran = ulpfuzz("repro", "c", "3")
    assert (ran.returncode, len(ran.stderr.splitlines())) == (2, 1)


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (("run", "gelu", "--targets", "numpy", "--dims", "n=8"), "no target offers gelu: numpy has no gelu"),
        (("run", "exp", "--targets", "numpy:cuda", "--dims", "n=8"), "numpy has no device cuda here: it has cpu"),
    ],
)
def test_a_target_that_can_give_nothing_is_refused(ulpfuzz: Cli, arguments: tuple[str, ...], says: str) -> None:
    ran = ulpfuzz(*arguments, "--out", "c")
    assert ran.returncode == 2
    assert says in ran.stderr
    assert not (ulpfuzz.folder / "c").exists()

"""Extensions register backends, or say in one line why not, and leave nothing behind when they fail."""

from __future__ import annotations

import importlib.metadata
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from fuzz import extensions
from fuzz.backends import BACKENDS
from fuzz.errors import UserError
from fuzz.extend import FunctionBackend

GOOD = """
import numpy as np
from fuzz.extend import FunctionBackend, register

mine = FunctionBackend("mine")

@mine.operator("exp")
def exp(x):
    return np.exp(x)

register(mine)
"""


@pytest.fixture(autouse=True)
def nothing_left_behind() -> Iterator[None]:
    before = dict(BACKENDS)
    yield
    BACKENDS.clear()
    BACKENDS.update(before)
    extensions._loaded.clear()
    for name in [n for n in sys.modules if n.startswith("ulpfuzz_extension_")]:
        del sys.modules[name]


def write(folder: Path, text: str, name: str = "mine.py") -> Path:
    path = folder / name
    path.write_text(text)
    return path


def test_a_file_registers_a_backend(tmp_path: Path) -> None:
    assert extensions.load_extension(write(tmp_path, GOOD)) == ["mine"]
    assert BACKENDS["mine"].implementations["exp"][0].name == "exp"


def test_what_a_file_prints_is_no_part_of_an_answer(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    extensions.load_extension(write(tmp_path, f"{GOOD}\nprint('loading')\n"))
    assert capsys.readouterr() == ("", "loading\n")


def test_loading_again_is_harmless(tmp_path: Path) -> None:
    path = write(tmp_path, GOOD)
    assert extensions.load_extension(path) == extensions.load_extension(path) == ["mine"]


def test_files_of_the_same_name_do_not_collide(tmp_path: Path) -> None:
    (tmp_path / "other").mkdir()
    extensions.load_extension(write(tmp_path, GOOD))
    second = GOOD.replace('"mine"', '"yours"')
    assert extensions.load_extension(write(tmp_path / "other", second)) == ["yours"]
    assert {"mine", "yours"} <= set(BACKENDS)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("x = 1\n", "registers nothing: end it with register"),
        ("x = 1\n1 / 0\n", r"mine.py line 2: ZeroDivisionError: division by zero"),
        ("def f(:\n", r"mine.py line 1: SyntaxError"),
        ("import no_such_module_here\n", "line 1: ModuleNotFoundError: No module named 'no_such_module_here'"),
        ("import sys\nsys.exit(3)\n", "line 2: SystemExit: 3"),
        (GOOD.replace('"mine"', '"numpy"'), "'numpy' exists already"),
        (GOOD + "raise RuntimeError('late')\n", "RuntimeError: late"),
    ],
)
def test_a_bad_file_is_one_line_and_leaves_nothing(tmp_path: Path, text: str, message: str) -> None:
    before = dict(BACKENDS)
    with pytest.raises(UserError, match=message) as raised:
        extensions.load_extension(write(tmp_path, text))
    assert "\n" not in str(raised.value)
    assert before == BACKENDS
    assert not [name for name in sys.modules if name.startswith("ulpfuzz_extension_")]


def test_a_file_can_be_mended_and_loaded(tmp_path: Path) -> None:
    with pytest.raises(UserError):
        extensions.load_extension(write(tmp_path, "1 / 0\n"))
    assert extensions.load_extension(write(tmp_path, GOOD)) == ["mine"]


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(UserError, match=r"nowhere\.py is not a file"):
        extensions.load_extension(tmp_path / "nowhere.py")
    with pytest.raises(UserError, match=r"must end in \.py"):
        extensions.load_extension(write(tmp_path, GOOD, "mine.txt"))


class FakeEntry:
    name, value, dist = "plug", "plug:BACKEND", None

    def __init__(self, loaded: object) -> None:
        self.loaded = loaded

    def load(self) -> object:
        if isinstance(self.loaded, Exception):
            raise self.loaded
        return self.loaded


def install(monkeypatch: pytest.MonkeyPatch, loaded: object) -> None:
    def entry_points(group: str) -> list[FakeEntry]:
        return [FakeEntry(loaded)] if group == extensions.BACKEND_GROUP else []

    monkeypatch.setattr(importlib.metadata, "entry_points", entry_points)


def test_entry_points_give_a_backend_or_a_list(monkeypatch: pytest.MonkeyPatch) -> None:
    install(monkeypatch, [FunctionBackend("one"), FunctionBackend("two")])
    assert extensions.load_entry_points() == ["one", "two"]
    assert extensions.load_entry_points() == ["one", "two"]
    assert {"one", "two"} <= set(BACKENDS)


@pytest.mark.parametrize(
    ("loaded", "message"),
    [
        (ImportError("no libplug.so"), "plug.*cannot be loaded: ImportError: no libplug.so"),
        (3, "is a int: it must be a Backend or a list of them"),
        ([FunctionBackend("new"), FunctionBackend("numpy")], "'numpy' exists already"),
    ],
)
def test_a_broken_entry_point_is_one_line(monkeypatch: pytest.MonkeyPatch, loaded: object, message: str) -> None:
    install(monkeypatch, loaded)
    before = dict(BACKENDS)
    with pytest.raises(UserError, match=message):
        extensions.load_entry_points()
    assert before == BACKENDS

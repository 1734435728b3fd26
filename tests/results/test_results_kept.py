"""Answers that a compaction keeps: used where they are of these rows and this code, never otherwise."""

from __future__ import annotations

import io
import math
from collections.abc import Callable
from pathlib import Path

import msgspec
import pytest
from rich.console import Console
from synthetic_rows import batch_norm_rows, make_row

from results import compaction, kept, merging
from results.closer import closer_lines
from results.compaction import compact_here
from results.errors import ResultsError
from results.kept import ANSWERS, keep
from results.outliers import causes
from results.quantiles import Quantiles, quantiles
from results.reading import Results
from results.reading import open as open_results
from results.report import report
from results.store import Store

QUESTIONS = (quantiles, closer_lines, causes)
FALSE = [Quantiles("numpy:cpu", (1.0,), (2.0,))]
"""An answer that no rows give: whoever gets it has read it."""


@pytest.fixture
def made(campaign: Callable[..., Path]) -> Path:
    """Ill-conditioned outliers, pairs, and numbers that JSON does not have."""
    rows = batch_norm_rows(60)
    rows += [
        make_row(100 + n, rel_max=x, rho_max=x, above_1e01=int(x > 0)) for n, x in enumerate((math.nan, math.inf, 0.0))
    ]
    for row in rows:
        row["rms_ratio"] = 0.5 if row["against"] != "truth" else None
    return campaign(rows)


def forge(directory: Path) -> None:
    """Keep FALSE as the quantiles, with everything else right."""
    fresh = open_results(directory)
    content = msgspec.msgpack.encode(
        {"of": fresh.identity, "answers": {quantiles.kept_as: msgspec.msgpack.encode(FALSE)}}
    )
    (directory / ANSWERS).write_bytes(kept.xxhash.xxh3_64_hexdigest(content).encode() + content)


def printed(results: Results) -> str:
    out = io.StringIO()
    report(results, Console(file=out, width=120))
    return out.getvalue()


def test_kept_answers_are_the_computed_ones(made: Path) -> None:
    before = [repr(question(open_results(made))) for question in QUESTIONS]
    page = printed(open_results(made))
    assert keep(open_results(made), QUESTIONS)
    later = open_results(made)
    assert set(later.kept_answers) == {question.kept_as for question in QUESTIONS}
    assert [repr(question(later)) for question in QUESTIONS] == before
    assert printed(later) == page
    assert not keep(later, QUESTIONS)


def test_they_are_read_instead_of_the_rows(made: Path) -> None:
    forge(made)
    assert quantiles(open_results(made)) == FALSE
    assert causes(open_results(made)) is not None  # one that is not kept is computed


def test_other_rows_have_other_answers(made: Path) -> None:
    forge(made)
    Store(made).commit(99, [make_row(1000)])
    assert quantiles(open_results(made)) != FALSE


def test_other_rows_in_a_file_of_the_same_name_have_other_answers(made: Path) -> None:
    Store(made).commit(99, [make_row(1000)], done=1)
    forge(made)
    assert quantiles(open_results(made)) == FALSE
    Store(made).commit(99, [make_row(1000), make_row(1001)], done=2)
    assert quantiles(open_results(made)) != FALSE


def test_another_manifest_has_other_answers(made: Path) -> None:
    forge(made)
    manifest = made / "campaign.json"
    manifest.write_text(manifest.read_text().replace('"plan": "fixed"', '"plan": "survey"'))
    assert quantiles(open_results(made)) != FALSE


def test_other_code_has_other_answers(made: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    forge(made)
    monkeypatch.setattr(kept, "_source", lambda: b"another text")
    assert quantiles(open_results(made)) != FALSE


def test_every_module_of_the_package_is_part_of_the_code(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "room").mkdir()
    (tmp_path / "room" / "module.py").write_text("x = 1")
    monkeypatch.setattr(kept, "_PACKAGE", tmp_path)
    one = kept._source.__wrapped__()
    (tmp_path / "room" / "module.py").write_text("x = 2")
    assert kept._source.__wrapped__() != one


def test_code_without_its_text_keeps_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kept, "_PACKAGE", tmp_path)
    assert kept._source.__wrapped__() != kept._source.__wrapped__()


@pytest.mark.parametrize("content", [b"", b"short", b"0" * 500])
def test_a_damaged_file_is_as_none(made: Path, content: bytes) -> None:
    computed = quantiles(open_results(made))
    (made / ANSWERS).write_bytes(content)
    assert repr(quantiles(open_results(made))) == repr(computed)


@pytest.mark.parametrize("content", [5, [1], {"of": "x"}, {"of": 3, "answers": {}}, {"of": "x", "answers": [b""]}])
def test_a_file_of_another_layout_is_as_none(made: Path, content: object) -> None:
    encoded = msgspec.msgpack.encode(content)
    (made / ANSWERS).write_bytes(kept.xxhash.xxh3_64_hexdigest(encoded).encode() + encoded)
    assert open_results(made).kept_answers == {}


def test_a_flipped_bit_is_seen(made: Path) -> None:
    forge(made)
    file = made / ANSWERS
    content = bytearray(file.read_bytes())
    content[-20] ^= 1
    file.write_bytes(content)
    assert open_results(made).kept_answers == {}


def test_campaigns_together_are_computed(made: Path, campaign: Callable[..., Path]) -> None:
    forge(made)
    assert quantiles(open_results(made, campaign([make_row(5000)]))) != FALSE


def test_the_last_compaction_of_a_large_campaign_keeps_them(made: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert not compact_here(made, final=True).answers  # few rows
    monkeypatch.setattr(compaction, "MANY_ROWS", 10)
    assert not compact_here(made).answers  # not the last
    assert not (made / ANSWERS).exists()
    done = compact_here(made, final=True)
    assert done.answers
    assert done.line() == "nothing to merge; answers of reports kept"
    assert set(open_results(made).kept_answers) == {question.kept_as for question in QUESTIONS}
    assert not compact_here(made, final=True).answers  # they are there


def test_what_a_killed_writer_left_is_cleaned(made: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (made / "notes.tmp").touch()  # not ours
    monkeypatch.setattr(Path, "replace", killed)
    monkeypatch.setattr(Path, "unlink", killed)
    with pytest.raises(KeyboardInterrupt):
        keep(open_results(made), QUESTIONS)
    monkeypatch.undo()
    (left,) = made.glob(f"{ANSWERS}*")
    assert Store(made).clean() == [left]
    assert not left.exists()


def killed(*arguments: object, **options: object) -> None:
    raise KeyboardInterrupt


def test_why_a_campaign_cannot_be_asked_is_one_line(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(compaction, "_end_with", lambda parent: None)
    monkeypatch.setattr(merging, "modest", lambda: None)
    monkeypatch.setattr(compaction, "compact_here", refused)
    assert compaction._main(["directory", "1", "0"]) == compaction._STORAGE
    assert capsys.readouterr().err == "rename the directory\n"


def refused(*arguments: object, **options: object) -> None:
    raise ResultsError("rename the directory")

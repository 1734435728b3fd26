"""The user's own arrays: read safely, named by content, the same for every trial."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from strategies.contract import ContractError
from strategies.given import STORE, Given, GivenError, GivenStore, content_of
from strategies.problem import problem_from_plain
from strategies.sampling import draw


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "weights.npz"
    np.savez(path, w=np.array([1.5, -0.1, np.inf]), n=np.arange(3), text=np.array(["a"]), z=np.array([1j]))
    return path


def test_the_recipe_knows_content_shape_and_name(file: Path) -> None:
    recipe, array = GivenStore().load(file, "w", "var")
    assert recipe == Given(("var",), content_of(array), (3,), "weights.npz:w")
    assert recipe.expression() == "given(weights.npz:w)"
    assert array.tolist() == [1.5, -0.1, np.inf]
    with pytest.raises(ValueError, match="read-only"):
        array[0] = 0


def test_content_counts_dtype_shape_and_bytes_but_not_memory_order_or_byte_order() -> None:
    a = np.arange(6.0).reshape(2, 3)
    same = [np.asfortranarray(a), a.astype(">f8"), np.repeat(a, 2, axis=1)[:, ::2]]
    assert {content_of(x) for x in same} == {content_of(a)}
    others = [a.reshape(3, 2), a.astype(np.float32), -a, np.float64(3), np.zeros(0), np.zeros((0, 1))]
    assert len({content_of(np.asarray(x)) for x in [a, *others]}) == 7


@pytest.mark.parametrize(
    ("name", "key", "message"),
    [
        ("weights.npz", "v", "has no key 'v': its keys are w, n, text, z"),
        ("weights.npz", None, "has no key 'x'"),
        ("weights.npz", "text", "has dtype <U1"),
        ("weights.npz", "z", "has dtype complex128"),
        ("nowhere.npz", "w", "no file"),
        ("weights.txt", None, "reads .npz and .npy files"),
        ("pickle.npy", None, "pickled objects: save plain numeric arrays"),
        ("damaged.npz", "w", "damaged"),
        ("empty.npy", None, "damaged"),
        ("plain.npy", "w", "has no key 'w'"),
    ],
)
def test_unreadable_files_are_one_clear_line(file: Path, name: str, key: str | None, message: str) -> None:
    np.save(file.parent / "pickle.npy", np.array([{}], object), allow_pickle=True)
    np.save(file.parent / "plain.npy", np.zeros(3))
    (file.parent / "damaged.npz").write_bytes(file.read_bytes()[:100])
    (file.parent / "empty.npy").touch()
    with pytest.raises(GivenError) as caught:
        GivenStore().load(file.parent / name, key, "x")
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)


def test_without_a_key_the_only_array_or_the_one_named_like_the_input(file: Path, tmp_path: Path) -> None:
    assert GivenStore().load(file, None, "w")[0].name == "weights.npz:w"
    np.savez(tmp_path / "one.npz", other=np.zeros(2))
    assert GivenStore().load(tmp_path / "one.npz", None, "x")[0].name == "one.npz:other"
    np.save(tmp_path / "one.npy", np.zeros(2))
    assert GivenStore().load(tmp_path / "one.npy", None, "x")[0].name == "one.npy"


def test_text_splits_at_the_key_and_at_no_other_colon(file: Path, tmp_path: Path) -> None:
    store = GivenStore()
    assert store.load_text(f"{file}:w", "x").shape == (3,)
    odd = tmp_path / "a:b.npy"
    np.save(odd, np.zeros(2))
    assert store.load_text(str(odd), "x").name == "a:b.npy"


def test_saved_contents_are_found_in_a_registered_directory(file: Path, tmp_path: Path) -> None:
    recipe, array = GivenStore().load(file, "w", "x")
    path = GivenStore().save(tmp_path / "given", recipe.content, array)
    assert path.name == f"{recipe.content}.npy"
    assert [p.name for p in path.parent.iterdir()] == [path.name]
    fresh = GivenStore()
    with pytest.raises(GivenError, match="no directory is registered"):
        fresh.resolve(recipe.content)
    fresh.register(path.parent)
    assert np.array_equal(fresh.resolve(recipe.content), array)
    assert fresh.load_text(f"@{recipe.content}", "y") == Given(("y",), recipe.content, (3,))


def test_a_file_with_other_bytes_than_its_name_promises_is_refused(tmp_path: Path) -> None:
    store = GivenStore()
    content = content_of(np.zeros(3))
    np.save(tmp_path / f"{content}.npy", np.ones(3))
    store.register(tmp_path)
    with pytest.raises(GivenError, match="does not hold the bytes"):
        store.resolve(content)


def test_arrays_in_memory_are_copied_and_need_no_file() -> None:
    array = np.arange(4, dtype=np.float16)
    recipe = STORE.add(array, "x")
    array[:] = 0
    assert STORE.resolve(recipe.content).tolist() == [0, 1, 2, 3]
    assert recipe.expression() == f"given(@{recipe.content})"
    with pytest.raises(GivenError, match="complex"):
        STORE.add(np.zeros(2, complex), "x")


def test_drawing_rounds_to_the_home_dtype_whatever_the_index(batch_norm, problem_of, empty_arrays) -> None:
    values = np.array([0.1, 1 + 2.0**-30, 3.0])
    recipe = STORE.add(values, "gamma")
    problem = problem_of(batch_norm, {"N": 1, "C": 3, "H": 1, "W": 2}, gamma=recipe.expression())
    for index in range(2):
        into = empty_arrays(batch_norm, problem)
        draw(problem, batch_norm, 0, index, into)
        assert np.array_equal(into["gamma"], values.astype(np.float32))


def test_a_shape_that_does_not_fit_is_refused_when_the_problem_is_made(batch_norm, problem_of) -> None:
    recipe = STORE.add(np.zeros(4), "gamma")
    with pytest.raises(ContractError, match=r"has shape \(4,\), input gamma needs \(3,\)"):
        problem_of(batch_norm, {"N": 1, "C": 3, "H": 1, "W": 2}, gamma=recipe.expression())


def test_ids_depend_on_the_content_and_not_on_the_file_name(batch_norm, problem_of, tmp_path: Path) -> None:
    dims = {"N": 1, "C": 3, "H": 1, "W": 2}
    texts = []
    for name, start in (("a.npy", 0), ("b.npy", 0), ("c.npy", 1)):
        np.save(tmp_path / name, np.arange(start, start + 3))
        texts.append(f"abs(given({tmp_path / name}))")
    a, b, c = (problem_of(batch_norm, dims, gamma=text) for text in texts)
    assert (a.id, a.draw_id) == (b.id, b.draw_id)
    assert a.id != c.id
    assert a.draw_id != c.draw_id
    assert problem_from_plain(b.plain(), batch_norm) == b
    assert "b.npy" in str(b.recipes)

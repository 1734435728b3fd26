"""What is found out about functions: library, names, arrays that they hold, where they come from."""

from __future__ import annotations

import functools
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import torch

from fuzz.checking.called import Called, takes_by_name
from fuzz.checking.independence import independent
from fuzz.checking.leaves import narrow_leaves
from fuzz.checking.library import candidates, hinted
from fuzz.checking.naming import distinct, names_of
from fuzz.checking.preparing import prepare
from fuzz.checking.request import of_mapping, of_texts
from fuzz.checking.sources import by_value, of_function, of_text, restored
from fuzz.checking.widened import widened
from fuzz.errors import TextError, UserError

WEIGHTS = {"params": {"w": jnp.ones((3, 3), jnp.float32)}, "stats": [jnp.zeros(3)]}


def plain(x: Any) -> Any:
    return np.tanh(x)


def of_torch(x: Any) -> Any:
    return torch.tanh(x)


def of_jax(x: Any) -> Any:
    return jnp.tanh(x)


def inside(x: Any) -> Any:
    import torch

    return torch.tanh(x)


def through(x: Any) -> Any:
    return of_jax(x) + 1


def holding(x: Any) -> Any:
    return x @ WEIGHTS["params"]["w"] + WEIGHTS["stats"][0]


@pytest.mark.parametrize(
    ("function", "library"),
    [
        (plain, "numpy"),
        (of_torch, "torch"),
        (of_jax, "jax"),
        (inside, "torch"),
        (through, "jax"),
        (holding, "jax"),
        (torch.nn.Linear(2, 2), "torch"),
        (torch.tanh, "torch"),
        (jnp.tanh, "jax"),
        (jax.jit(of_jax), "jax"),
        (functools.partial(of_torch), "torch"),
        (np.tanh, "numpy"),
    ],
)
def test_the_library_is_read_off_the_code(function: Any, library: str) -> None:
    assert hinted(function)[:1] == [library]
    assert next(iter(candidates(function))) == library


@pytest.mark.parametrize(
    ("function", "library"), [(plain, "numpy"), (of_torch, "torch"), (of_jax, "jax"), (lambda x: x.cos(), "torch")]
)
def test_the_library_is_confirmed_by_a_call(function: Any, library: str) -> None:
    prepared = prepare([("f", function)], None, {"x": np.ones((2, 3), np.float32)})
    assert prepared.functions[0].library == library
    assert prepared.functions[0].shapes == ((2, 3),)


def test_given_numpy_arrays_a_function_of_jax_is_one_of_jax() -> None:
    table = {"f": of_jax}
    prepared = prepare([("f", lambda x: table["f"](x))], None, {"x": np.ones(3, np.float32)})
    assert prepared.functions[0].library == "jax"


def test_names_differ_and_fit() -> None:
    assert names_of([of_torch, of_jax, lambda x: x]) == ["of_torch", "of_jax", "f3"]
    assert distinct(["gelu", "gelu", "numpy"], ["torch", "jax", "mine"]) == ["torch_gelu", "jax_gelu", "mine_numpy"]
    assert distinct(["f", "f"], ["a", "a"]) == ["a_f", "a_f_2"]


def test_arrays_that_a_function_holds_are_named() -> None:
    assert narrow_leaves(holding, "jax") == ["WEIGHTS['params']['w']", "WEIGHTS['stats'][0]"]
    assert narrow_leaves(plain, "numpy") == []
    with jax.enable_x64(True):
        w = jnp.ones(3, jnp.float64)
    assert narrow_leaves(lambda x: x * w, "jax") == []


def test_a_function_with_wider_copies_of_what_it_holds() -> None:
    variance = np.float32(0.3) * np.ones(3, np.float32)

    def scaled(x: Any) -> Any:
        return x / np.sqrt(variance)

    x = np.ones(3)
    exact = 1 / np.sqrt(variance.astype(np.float64))
    assert np.array_equal(widened(scaled)(x), exact)
    assert np.array_equal(widened(lambda x: scaled(x))(x), exact)
    assert np.array_equal(widened(functools.partial(lambda v, x: x / np.sqrt(v), variance))(x), exact)
    assert scaled(x).dtype == np.float64
    assert not np.array_equal(scaled(x), exact)
    assert widened(plain) is plain


def test_a_module_of_torch_is_widened_as_a_copy() -> None:
    model = torch.nn.Linear(3, 2)

    def applied(x: Any) -> Any:
        return model(x)

    assert widened(applied)(torch.ones(1, 3, dtype=torch.float64)).dtype == torch.float64
    assert model.weight.dtype == torch.float32


@pytest.mark.parametrize(
    ("function", "axes"),
    [
        (np.tanh, (0, 1)),
        (lambda x: x - x.mean(axis=1, keepdims=True), (0,)),
        (lambda x: x - x.mean(), ()),
        (lambda x: np.cumsum(x, axis=0), (1,)),
    ],
)
def test_independent_axes_are_found_by_changing_slices(function: Any, axes: tuple[int, ...]) -> None:
    inputs = {"x": np.random.default_rng(0).normal(size=(6, 4)).astype(np.float32)}
    called = Called("f", lambda: function, "numpy", ["x"], False)
    assert independent(called, inputs, [(6, 4)], lambda what: None) == {"x": axes}


def test_what_all_slices_share_is_no_batch() -> None:
    random = np.random.default_rng(0)
    inputs = {"x": random.normal(size=(6, 4)), "w": random.normal(size=(4, 6)), "b": random.normal(size=6)}
    called = Called("f", lambda: lambda x, w, b: x @ w + b, "numpy", ["x", "w", "b"], False)
    found = independent(called, inputs, [(6, 6)], lambda what: None)
    assert found == {"x": (0,), "w": (1,), "b": ()}  # rows of x, and b, are both 6 long


def test_inputs_as_texts_and_arrays() -> None:
    found = of_texts(["x=normal(0,1)[10, 4]", "a,b=alike(normal(0,1),1e-3)[4]"])
    assert found.shapes == {"x": (10, 4), "a": (4,), "b": (4,)}
    sizes, dims = found.symbols()
    assert sorted(sizes.values()) == [4, 10]
    assert dims["a"] == dims["b"] == (dims["x"][1],)
    arrays = of_mapping({"w": np.ones((1, 3)), "t": torch.ones(2), "j": jnp.ones(5)})
    assert arrays.shapes == {"w": (1, 3), "t": (2,), "j": (5,)}
    assert arrays.symbols()[1]["w"][0] == 1
    with pytest.raises(TextError):
        of_texts(["x"])
    with pytest.raises(UserError, match="leave out"):
        of_mapping({"w": f"{arrays.recipes['w']}[3]"})


def test_functions_are_found_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    body = "def f(x):\n    return x\n\nclass C:\n    @staticmethod\n    def g(x):\n        return x\n"
    (tmp_path / "mine.py").write_text(body)
    monkeypatch.chdir(tmp_path)
    assert restored(of_text("mine.py:f"))(3) == 3
    assert restored(of_text(f"{tmp_path}/mine.py:C.g"))(3) == 3
    source = of_function(np.linalg.norm)
    assert source is not None
    assert restored(source) is np.linalg.norm
    assert of_function(lambda x: x) is None
    assert of_function(functools.partial(plain)) is None
    kept = by_value(functools.partial(plain), "f", tmp_path)
    assert restored(kept)(0.0) == 0.0
    Path(kept.value).write_bytes(b"something else")
    with pytest.raises(UserError, match="is not what the check wrote there"):
        restored(kept)
    Path(kept.value).unlink()
    with pytest.raises(UserError, match="a session that has ended"):
        restored(kept)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("f", "write module:function"),
        ("no_such_module_at_all:f", "there is no module no_such_module_at_all"),
        ("none.py:f", "there is no file"),
        ("math:tanhh", "math has no 'tanhh'"),
        ("math:pi", "'pi' of math is of type float: name a function"),
        ("bad.py:f", "cannot be imported: ZeroDivisionError"),
    ],
)
def test_functions_that_are_not_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, text: str, words: str) -> None:
    (tmp_path / "bad.py").write_text("1 / 0\n")
    monkeypatch.chdir(tmp_path)
    with pytest.raises(UserError, match=words):
        restored(of_text(text))


def test_jax_arrays_of_64_bits_travel(tmp_path: Path) -> None:
    with jax.enable_x64(True):
        w = jnp.full(3, 1 + 1e-12)
    found = restored(by_value(lambda: w, "f", tmp_path))()
    assert found.dtype == np.float64
    assert float(found[0]) == 1 + 1e-12


def test_arguments_by_name() -> None:
    assert takes_by_name(lambda x, w: x, ["w", "x"])
    assert not takes_by_name(lambda a, b: a, ["x", "w"])
    assert not takes_by_name(np.add, ["x", "w"])


def test_an_input_that_goes_to_another_parameter_than_its_own_is_noticed() -> None:
    inputs = {name: np.ones((2, 2), np.float32) for name in ("weight", "x")}
    notes = prepare([("f", lambda x, w: x @ w), ("g", lambda a, b: a @ b)], None, inputs).notes
    assert [note for note in notes if "by position" in note] == [
        "f(x, w) was given input x as w: where a name fits no parameter, all inputs go by position; give them the "
        "names of the parameters"
    ]
    right = dict(zip(("x", "weight"), inputs.values(), strict=True))
    assert not any("by position" in note for note in prepare([("f", lambda x, w: x @ w)], None, right).notes)


def test_swapped_arguments_are_noticed() -> None:
    random = np.random.default_rng(0)
    inputs = {"x": random.normal(size=(3, 3)).astype(np.float32), "w": random.normal(size=(3, 3)).astype(np.float32)}
    functions = [("f", lambda x, w: x @ w), ("g", lambda a, b: b @ a), ("h", lambda x, w: w @ x)]
    notes = prepare(functions, None, inputs).notes
    assert [note for note in notes if "another order" in note] == [
        "g agrees with f when it is called with (w, x) instead of (x, w): does it take its arguments in another order?"
    ]

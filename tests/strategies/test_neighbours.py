"""A user's own Hypothesis tests in the same process see nothing of ours: examples, settings, database, callbacks."""

from __future__ import annotations

import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

import strategies

ROOT = Path(strategies.__file__).parents[1]

SESSION = """
import random, sys
import numpy as np
import hypothesis
from hypothesis import strategies as st
from hypothesis.database import InMemoryExampleDatabase
from hypothesis.internal.observability import with_observability_callback

# in both sessions: of modules outside site-packages (ours, here) Hypothesis tries the constants
from fuzz.campaigns.drawing import EXPLORE, drawn
from fuzz.operators import operator
from strategies import explored, independent, problems

ours = sys.argv[1] == "with ours"
seen, observed = [], []
database = InMemoryExampleDatabase()
hypothesis.settings.register_profile("mine", max_examples=30, derandomize=True, deadline=None)
hypothesis.settings.load_profile("mine")


def between():
    if not ours:
        return
    contract = operator("layer_norm").contract
    independent(problems(contract), 1, 0, 5)
    explored(problems(contract), 1, 0, 5)
    drawn(EXPLORE, "layer_norm", "float32", 1, 1, 3)
    try:
        independent(st.text(), 1, 0, 5)
    except ValueError:
        pass


@hypothesis.given(st.lists(st.floats()), st.integers())
def by_profile(values, number):
    seen.append(repr((values, number)))


@hypothesis.settings(database=database, derandomize=False, max_examples=60, phases=list(hypothesis.Phase))
@hypothesis.seed(5)
@hypothesis.given(st.integers(), st.text(max_size=5))
def with_database(number, text):
    seen.append(repr((number, text)))
    assert number < 1000


@hypothesis.given(st.integers(0, 3))
def nested(number):
    between()
    seen.append(repr((number, random.random(), float(np.random.random()))))


nested = hypothesis.settings(max_examples=4, suppress_health_check=list(hypothesis.HealthCheck))(nested)

random.seed(1), np.random.seed(1)
with (
    with_observability_callback(lambda case: observed.append(case.type)),
    with_observability_callback(lambda case, thread: observed.append(case.type), all_threads=True),
):
    for test in (by_profile, with_database, by_profile, with_database):
        try:
            test()
        except AssertionError:
            seen.append("failed")
        after = len(observed)
        between()
        assert len(observed) == after or not ours, "our draws are not the user's test cases"
nested()
state = (random.random(), float(np.random.random()))
saved = sorted((key.hex() if isinstance(key, bytes) else str(key), sorted(v.hex() for v in values))
               for key, values in database.data.items())
current = hypothesis.settings()
print(repr((seen, len(observed), state, saved, current.max_examples, current.derandomize, str(current.deadline),
            hypothesis.settings.get_profile("mine") is not None)))
"""


def session(tmp_path: Path, with_ours: bool) -> str:
    script = tmp_path / "session.py"
    script.write_text(textwrap.dedent(SESSION))
    command = [sys.executable, str(script), "with ours" if with_ours else "alone"]
    done = subprocess.run(
        command, cwd=tmp_path, capture_output=True, text=True, env={"PYTHONPATH": str(ROOT)}, check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_a_users_session_is_the_same_with_ours_in_between(tmp_path: Path) -> None:
    alone = session(tmp_path, False)
    assert "failed" in alone
    assert session(tmp_path, True) == alone


@pytest.mark.parametrize("modules", ["strategies, fuzz", "strategies.generation, strategies.iid, fuzz.operators"])
def test_importing_registers_nothing_with_hypothesis(modules: str) -> None:
    program = f"""
import hypothesis, hypothesis.internal.observability as watched
from hypothesis.internal.conjecture import providers
from hypothesis.database import _db_for_path
known = dict(providers.AVAILABLE_PROVIDERS), providers.CONSTANTS_CACHE, repr(hypothesis.settings())
local, profile = vars(providers.HypothesisProvider)["_local_constants"], hypothesis.settings.get_current_profile_name()
import {modules}
assert known == (dict(providers.AVAILABLE_PROVIDERS), providers.CONSTANTS_CACHE, repr(hypothesis.settings()))
assert local is vars(providers.HypothesisProvider)["_local_constants"]
assert profile == hypothesis.settings.get_current_profile_name()
assert not watched.observability_enabled()
"""
    done = subprocess.run([sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr

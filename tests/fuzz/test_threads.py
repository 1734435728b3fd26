"""Limits of threads: set where the user has set none, and known to be ours."""

from __future__ import annotations

import os

import pytest

from fuzz.threads import given_threads, limit_threads


def test_only_what_was_set_here_is_taken_back(monkeypatch: pytest.MonkeyPatch) -> None:
    kept = {key: value for key, value in os.environ.items() if "THREADS" not in key and key != "XLA_FLAGS"}
    monkeypatch.setattr(os, "environ", kept | {"OMP_NUM_THREADS": "4"})
    os.environ.pop("ULPFUZZ_LIMITED", None)
    limit_threads()
    assert os.environ["OMP_NUM_THREADS"] == "4"
    assert os.environ["OPENBLAS_NUM_THREADS"] == "1"
    once = given_threads()
    assert "OMP_NUM_THREADS" not in once
    assert {"OPENBLAS_NUM_THREADS", "XLA_FLAGS"} <= once
    limit_threads()
    assert given_threads() == once

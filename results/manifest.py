"""campaign.json: what a campaign set out to do. Written by the engine, read here as plain values."""

from __future__ import annotations

import json
import os
import shlex
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import msgspec
from msgspec import Struct

from results.errors import ResultsError, StoreError

MANIFEST = "campaign.json"
ENVIRONMENTS = "environments.json"
KNOWN = "known.toml"
"""The file of known findings that the campaign was started with."""
_FOLDERS = ("parts", "elements", "problems", "given", "extensions", "tmp")
FORMAT = "ulpfuzz campaign"


class _Kinds(Struct):
    """Of what kind the values are that readers take as they are."""

    schema_version: int | None = None
    plan: str | None = None
    fail_on: str | None = None
    targets: list[str] | None = None
    pairs: list[Any] | None = None


def read_manifest(directory: Path) -> dict[str, Any]:
    """The manifest of the campaign in `directory`. An absent key means null.

    Raises ResultsError for a directory that is no campaign, StoreError for a manifest that cannot be read.
    """
    path = directory / MANIFEST
    if not directory.exists():
        raise ResultsError(f"there is no directory {directory}: give the directory of a campaign")
    try:
        os.fspath(directory).encode()
    except UnicodeEncodeError:  # Arrow takes no others
        raise ResultsError(f"the name {directory} is no UTF-8 text: rename the directory") from None
    if not directory.is_dir():
        raise ResultsError(f"{directory} is a file: give the directory of a campaign")
    if not path.exists():
        raise ResultsError(f"{directory} is not a campaign: it has no {MANIFEST}; give a directory that ulpfuzz wrote")
    manifest = _json(path)
    if not isinstance(manifest, dict) or manifest.get("format") != FORMAT:
        raise ResultsError(f"{path} does not describe a campaign: its format is not {FORMAT!r}")
    try:
        msgspec.convert(manifest, _Kinds)
    except msgspec.ValidationError as error:
        raise StoreError(f"{path} is damaged: {error}; restore it from a copy of the campaign") from error
    return manifest


def read_environments(directory: Path) -> dict[str, Any]:
    """Environment records by hash; empty where none were written."""
    path = directory / ENVIRONMENTS
    records = _json(path) if path.exists() else {}
    every = records.items() if isinstance(records, dict) else ()
    return {key: record for key, record in every if isinstance(record, dict)}


def campaign_of(path: Path) -> Path:
    """The campaign directory that a file in it, or in a folder of it, belongs to."""
    return path.parent.parent if path.parent.name in _FOLDERS else path.parent


MORE_TIME = " --time 1h"
"""Without it, nothing goes on in a campaign whose time is over."""


def resume_command(directory: Path, options: str = "") -> str:
    """The command that goes on with a campaign, quoted for a shell."""
    return f"`ulpfuzz resume {shlex.quote(str(directory))}{options}`"


def published_counts(manifest: Mapping[str, Any]) -> tuple[int, int] | None:
    """The published rate "k/n" as (k, n); None where none was given. ResultsError where it cannot be read."""
    text = manifest.get("published")
    if text is None:
        return None
    events, slash, trials = str(text).partition("/")
    try:
        k, n = int(events), int(trials)
    except ValueError:
        slash = ""
        k = n = 0
    if not slash or not 0 <= k <= n or n == 0:
        raise ResultsError(f"cannot read the published rate {text!r}: write it as events/trials, e.g. 38/5000")
    return k, n


def _json(path: Path) -> Any:
    try:
        return json.loads(path.read_text("utf-8"))
    except OSError as error:
        raise StoreError(f"{path} cannot be read: {error.strerror or error}") from error
    except (ValueError, RecursionError) as error:
        raise StoreError(
            f"{path} is damaged: it is not JSON ({error}); restore it from a copy of the campaign"
        ) from error

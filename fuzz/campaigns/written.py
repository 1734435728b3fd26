"""problems/: what each shard of a drawn plan consists of, written down before it runs.

Another version of Hypothesis, or other families of inputs, would draw other problems: what is written holds.
"""

from __future__ import annotations

import gzip
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from fuzz.campaigns.directory import CampaignDirectory
from fuzz.errors import StorageError
from fuzz.operators import operator
from strategies.problem import Problem, problem_from_plain

FOLDER = "problems"


def write_problems(directory: CampaignDirectory, number: int, problems: Sequence[Problem]) -> None:
    """Write the problems of shard `number`, whole or not at all. StorageError when the disk does not take them."""
    text = json.dumps([problem.plain() for problem in problems], sort_keys=True)
    directory.write_bytes(f"{FOLDER}/{number:08d}.json.gz", gzip.compress(text.encode(), mtime=0))


def read_problems(directory: Path, number: int) -> tuple[Problem, ...] | None:
    """The problems of shard `number`; None where they are not written down. StorageError for a damaged file."""
    packed, plain = (directory / FOLDER / f"{number:08d}.json{end}" for end in (".gz", ""))
    path = packed if packed.exists() else plain  # schema version 1 and 2 wrote plain text
    try:
        content = path.read_bytes()
        listed = json.loads(gzip.decompress(content) if path == packed else content)
        return problems_from_plain(listed)
    except FileNotFoundError:
        return None
    except (OSError, ValueError, EOFError, KeyError, TypeError) as error:
        raise StorageError(f"cannot read {path}: {error}: remove it, and its problems are drawn again") from None


def problems_from_plain(listed: Sequence[dict[str, Any]]) -> tuple[Problem, ...]:
    """Problems from what `Problem.plain` returns."""
    return tuple(_problem(one) for one in listed)


def _problem(plain: dict[str, Any]) -> Problem:
    return problem_from_plain(plain, operator(str(plain["operator"])).contract)

"""A campaign on disk: its directory, plan and rows."""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from pathlib import Path

from msgspec import structs

from fuzz.campaigns import exhaustive
from fuzz.campaigns.agenda import Agenda
from fuzz.campaigns.directory import CampaignDirectory
from fuzz.campaigns.drawing import DRAWN, SEARCH
from fuzz.campaigns.log import elapsed
from fuzz.campaigns.manifest import Manifest, manifest_of
from fuzz.campaigns.spec import Resolved
from fuzz.campaigns.written import read_problems
from fuzz.errors import UserError
from fuzz.extensions import load_extension
from fuzz.trial import Cell
from results.manifest import KNOWN
from results.store import Store
from strategies.given import STORE, Given


class Campaign:
    """An open campaign directory with its plan."""

    def __init__(self, directory: CampaignDirectory, manifest: Manifest) -> None:
        self.directory, self.manifest = directory, manifest
        self.store = Store(directory.path)
        self.agenda = self._agenda()
        self.damaged: tuple[str, ...] = ()
        """Files that were found damaged on opening, a line each; what they held is computed again."""

    @classmethod
    def create(
        cls,
        resolved: Resolved,
        path: Path,
        extensions: Sequence[Path],
        shard_trials: int | None = None,
        known: Path | None = None,
    ) -> Campaign:
        """Make the directory and everything that describes the campaign. Nothing is written if the path is refused.

        `shard_trials` None: measured when the campaign runs.
        """
        if shard_trials and resolved.spec.plan == SEARCH:
            raise UserError("the trials of an island are what it finds: leave out --shard-trials")
        directory = CampaignDirectory(path)
        directory.create()
        size = shard_trials or _usual_shard(resolved)
        with directory.unlocked_on_error():
            campaign = cls(directory, manifest_of(resolved, size))
            directory.add_extensions(extensions)
            with directory.writing():
                _save_given(resolved.cells, path / "given")
                if known is not None:
                    shutil.copyfile(known, path / KNOWN)
            directory.write_manifest(campaign.manifest)
        STORE.register(path / "given")
        return campaign

    @classmethod
    def open(cls, path: Path) -> Campaign:
        """An existing campaign, locked for writing; leftovers of a killed run are removed."""
        directory = CampaignDirectory(path)
        manifest = directory.read_manifest()
        directory.lock()
        with directory.unlocked_on_error():
            for extension in directory.extensions():
                load_extension(extension)
            STORE.register(path / "given")
            campaign = cls(directory, manifest)
            campaign.store.clean()
            campaign.damaged = tuple(campaign.store.discard_damaged())
        return campaign

    def cut(self, shard_trials: int) -> None:
        """Write down how many trials a shard has; from then on the shards are what they are."""
        self.manifest = structs.replace(self.manifest, shard_trials=shard_trials)
        self.directory.write_manifest(self.manifest)
        self.agenda = self._agenda()

    def _agenda(self) -> Agenda:
        return Agenda(self.manifest, lambda number: read_problems(self.directory.path, number))

    def allow(self, seconds: float) -> None:
        """Let the campaign go on for so long from now, whatever time it was given before."""
        self.manifest = structs.replace(self.manifest, seconds=elapsed(self.directory.path) + seconds)
        self.directory.write_manifest(self.manifest)

    def find(self, name: str) -> tuple[Cell, int]:
        """The cell and index of a trial by its short name, or by its index where there is one problem only."""
        return self.agenda.find(name, str(self.directory.path))


def _usual_shard(resolved: Resolved) -> int | None:
    """Trials a shard where nothing has to be measured first."""
    if resolved.spec.plan == exhaustive.NAME:
        assert resolved.ends.trials is not None
        return exhaustive.shard_trials(resolved.ends.trials)
    if resolved.spec.plan not in DRAWN:
        return None
    return DRAWN[resolved.spec.plan].size(max(map(len, resolved.targets)))


def _save_given(cells: Sequence[Cell], folder: Path) -> None:
    for cell in cells:
        for recipe in cell.problem.recipes:
            if isinstance(recipe, Given):
                STORE.save(folder, recipe.content, STORE.resolve(recipe.content))

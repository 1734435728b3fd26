"""Shards in the process of whoever asks: for functions that no other process can have. Nothing survives a crash."""

from __future__ import annotations

import time
from collections.abc import Iterator

from fuzz.errors import InternalError
from fuzz.trial import Session, run_trial
from fuzz.workers.handover import Finished, OnFinished, OnFound, OnRows, Spent, Stop, never, not_hunting
from fuzz.workers.health import Replaced, WorkerHealth
from fuzz.workers.job import Job
from fuzz.workers.worker import plain_rows


class LocalRunner:
    """What a Supervisor is to a campaign, without processes. There is no limit of time or memory."""

    def __init__(self, seed: int, environment: str) -> None:
        self._seed, self._session = seed, Session(environment)
        self.replaced = Replaced()
        self.restarts = 0

    def __enter__(self) -> LocalRunner:
        return self

    def __exit__(self, *exception: object) -> None:
        """Nothing to end."""

    def health(self) -> tuple[WorkerHealth, ...]:
        return ()

    def run(
        self,
        jobs: Iterator[Job],
        finished: OnFinished,
        progress: OnRows,
        stop: Stop = never,
        found: OnFound = not_hunting,
    ) -> None:
        """Compute every job: see Supervisor.run. Errors of the engine are not kept to their trial here."""
        while not stop() and (job := next(jobs, None)) is not None:
            self._run(job, finished, progress, stop)

    def _run(self, job: Job, finished: OnFinished, progress: OnRows, stop: Stop) -> None:
        if job.shard.hunt is not None:
            raise InternalError("searches need workers")
        begun, wall = time.process_time(), time.monotonic()
        start = job.position
        for position, piece, index in job.shard.positions(job.position):
            trial = run_trial(piece.cell, self._seed, index, self._session, ladder=index == piece.first)
            rows, elements = plain_rows(trial)
            progress(job.receive(position + 1, rows, elements), rows)
            if stop():
                break
        done = job.position - start
        spent = Spent((time.monotonic() - wall) / max(done, 1), time.process_time() - begun)
        finished(Finished(job.shard, job.rows, job.elements, spent, job.position, done, job.complete))

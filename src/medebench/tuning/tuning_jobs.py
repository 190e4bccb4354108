"""What a process of an experiment does: train and let edit, or only let edit; then score."""

from __future__ import annotations

import shutil
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, Literal

from medebench.cases import Case, CaseSet, open_case
from medebench.files import write_json
from medebench.images.picture import read_picture
from medebench.progress import Progress
from medebench.runs import Run, generate, score
from medebench.tuning.nearest_target import Nearest, nearest, targets_of, thumbnail
from medebench.tuning.train_adapter import train_adapter
from medebench.tuning.train_request import TrainRequest
from medebench.tuning.tuning_folder import ADAPTER, FAILED, FINISHED, RUN

#: `adapters`: everything; `scores`: no weights, once their outputs are there.
Keep = Literal["adapters", "scores"]
#: Of an adapter what is kept in any case.
_SMALL = (".json", ".jsonl", ".md", ".png")


@dataclass(frozen=True)
class OutputJob:
    """The outputs of a system that nobody trained, and their scores."""

    name: str
    system: str
    cases: CaseSet
    out: Path
    seed: int
    metrics: tuple[str, ...]
    retry_failed: bool = False

    @property
    def size(self) -> int:
        return len(self.cases)

    def do(self, device: str, threads: int, progress: Progress) -> None:
        run = generate(
            self.cases,
            self.system,
            self.out,
            seed=self.seed,
            workers=threads,
            retry_failed=self.retry_failed,
            progress=progress,
        )
        score_locally(run, self.metrics, threads, self.retry_failed)


@dataclass(frozen=True)
class TrainJob:
    """One training, the outputs of what comes out, and how near they are to its targets."""

    name: str
    folder: Path
    request: TrainRequest
    #: Of the test, and elsewhere.
    cases: CaseSet
    #: Ids of those that are compared with targets.
    tested: tuple[str, ...]
    #: Cases whose targets are not learned from, of the same task.
    unused: tuple[Case, ...]
    seed: int
    metrics: tuple[str, ...]
    keep: Keep = "adapters"
    retry_failed: bool = False

    @cached_property
    def size(self) -> int:
        return self.request.steps + len(self.cases)

    def do(self, device: str, threads: int, progress: Progress) -> None:
        try:
            self._do(device, threads, progress)
        except Exception as error:
            # Read by whoever looks at a half done experiment.
            note_failure(self.folder, f"{type(error).__name__}: {error}")
            raise

    def _do(self, device: str, threads: int, progress: Progress) -> None:
        steps, adapter = self.request.steps, self.folder / ADAPTER
        (self.folder / FAILED).unlink(missing_ok=True)
        request = TrainRequest(**{**vars(self.request), "device": device})
        trained = train_adapter(request, adapter, lambda done, _: progress(done, self.size))
        begun = time.perf_counter()
        run = generate(
            self.cases,
            str(adapter),
            self.folder / RUN,
            seed=self.seed,
            workers=threads,
            retry_failed=self.retry_failed,
            progress=lambda done, _: progress(steps + done, self.size),
        )
        seconds = time.perf_counter() - begun
        score_locally(run, self.metrics, threads, self.retry_failed)
        found = self._nearest(run)
        finished = {
            "steps": steps,
            "seconds": trained.seconds,
            "first_loss": trained.first_loss,
            "last_loss": trained.last_loss,
            "output_seconds": seconds / max(1, len(self.cases)),
            "device": device,
            "threads": threads,
            "bytes": sum(one.stat().st_size for one in adapter.rglob("*") if one.is_file()),
            "nearest": [asdict(one) for one in found],
        }
        write_json(self.folder / FINISHED, finished)
        if self.keep == "scores":
            drop_weights(adapter)

    def _nearest(self, run: Run) -> list[Nearest]:
        learned = targets_of(target for _, target in self.request.pairs)
        outputs = {}
        for case_id in self.tested:
            if (path := run.output_path(case_id, 0)).is_file():
                case = open_case(self.cases[case_id])
                outputs[case_id] = thumbnail(case, case.fit(read_picture(path)))
        return nearest(outputs, learned, targets_of(self.unused[: len(learned)]))


def score_locally(run: Run, metrics: Sequence[str], threads: int, retry_failed: bool) -> None:
    if metrics:
        score(run, list(metrics), workers=threads, retry_failed=retry_failed)


def note_failure(folder: Path, reason: str) -> None:
    """A training that crashed altogether cannot say so itself."""
    write_json(folder / FAILED, {"reason": reason})


def drop_weights(adapter: Path) -> None:
    """All but what tells about the training; the folder is no system any more."""
    for one in sorted(adapter.rglob("*"), reverse=True):
        if one.is_file() and (one.suffix not in _SMALL or one.name == "system.json"):
            one.unlink()
        elif one.is_dir() and not any(one.iterdir()):
            shutil.rmtree(one)


def untrained_calls(system: str) -> dict[str, str]:
    """By arm, the system that its outputs come from."""
    calls: dict[str, Any] = {"untouched": system, "copy": "identity", "reference": "reference"}
    return calls | {"blank": f"paired:control=no-instruction,{system}"}

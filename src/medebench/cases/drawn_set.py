"""Sets of cases that code draws: what an entry point of `medebench.case_sets` may load."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from pydantic import Field

from medebench.cases.caseset import CaseSet
from medebench.cases.readers import medebench_release
from medebench.files import cache_folder
from medebench.progress import Progress, silent
from medebench.settings import Settings, read_settings, split_call


class DrawnSettings(Settings):
    count: int = Field(130, ge=1, le=100_000)
    seed: int = Field(0, ge=0)

    def kept_as(self) -> str:
        """Tells sets of other settings apart, in the name of a folder."""
        return f"count{self.count}-seed{self.seed}"


def _read_release(folder: Path) -> CaseSet:
    return medebench_release.read(folder / "editing" / medebench_release.METADATA)


@dataclass(frozen=True)
class DrawnSet:
    """Drawn into the cache folder the first time it is asked for, or where `cases make` is told."""

    name: str
    #: Changes whenever the same settings give other cases.
    version: int
    #: Writes a set into a folder; `progress` is told the number done so far.
    write: Callable[..., Path]
    Settings: type[DrawnSettings] = DrawnSettings
    summary: str = ""
    #: Reads what `write` has written.
    read: Callable[[Path], CaseSet] = _read_release

    def __call__(self, text: str, progress: Progress = silent) -> CaseSet:
        """The set that `NAME[:key=value,...]` describes."""
        chosen = read_settings(self.Settings, split_call(text)[1], self.name)
        folder = cache_folder() / f"{self.name}-v{self.version}-{chosen.kept_as()}"
        if not folder.exists():
            try:
                self.draw(folder, chosen, progress)
            except OSError:
                # Another process may have drawn the same set in the meantime.
                if not folder.exists():
                    raise
        found = self.read(folder)
        return CaseSet(self.name, found.root, found.cases, text, task=found.task)

    def draw(
        self, folder: Path, chosen: DrawnSettings, progress: Progress, workers: int | None = None
    ) -> None:
        self.write(
            folder,
            **chosen.model_dump(),
            progress=lambda done: progress(done, chosen.count),
            workers=workers,
        )

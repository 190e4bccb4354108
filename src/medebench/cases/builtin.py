"""Case sets that come with the package."""

from __future__ import annotations

from pydantic import Field

from medebench.cases.caseset import CaseSet
from medebench.cases.readers import medebench
from medebench.files import cache_folder
from medebench.progress import Progress, silent
from medebench.settings import Settings, read_settings, split_call


class PhantomSettings(Settings):
    count: int = Field(130, ge=1, le=100_000)
    seed: int = Field(0, ge=0)


def phantom_set(text: str, progress: Progress = silent) -> CaseSet:
    """`phantoms[:count=N,seed=S]`, drawn into the cache folder the first time it is asked for."""
    from medebench.cases.phantoms import VERSION, write_phantoms

    _, given = split_call(text)
    settings = read_settings(PhantomSettings, given, "phantoms")
    name = f"phantoms-v{VERSION}-count{settings.count}-seed{settings.seed}"
    folder = cache_folder() / name
    if not folder.exists():
        try:
            write_phantoms(
                folder,
                settings.count,
                settings.seed,
                progress=lambda done: progress(done, settings.count),
            )
        except OSError:
            # Another process may have drawn the same set in the meantime.
            if not folder.exists():
                raise
    found = medebench.read(folder / "editing" / medebench.METADATA)
    return CaseSet("phantoms", found.root, found.cases, text)

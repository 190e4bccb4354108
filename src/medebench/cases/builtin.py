"""Case sets that come with the package."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Literal

from pydantic import Field

from medebench.cases.caseset import CaseSet
from medebench.cases.readers import medebench
from medebench.files import cache_folder
from medebench.progress import Progress, silent
from medebench.settings import Settings, read_settings, split_call


class PhantomSettings(Settings):
    count: int = Field(130, ge=1, le=100_000)
    seed: int = Field(0, ge=0)


class ChestSettings(Settings):
    count: int = Field(64, ge=1, le=100_000)
    seed: int = Field(0, ge=0)
    shift: Literal["all", "removal", "addition", "acquisition", "manifestation", "population"] = (
        "all"
    )
    size: int = Field(128, ge=128, le=1024)


def is_builtin(text: str) -> bool:
    """Whether this names a built-in set, with or without settings."""
    return text.partition(":")[0] in BUILTIN


def builtin_set(text: str, progress: Progress = silent) -> CaseSet:
    """`name[:key=value,...]`, drawn into the cache folder the first time it is asked for."""
    return BUILTIN[text.partition(":")[0]](text, progress)


def phantom_set(text: str, progress: Progress = silent) -> CaseSet:
    """`phantoms[:count=N,seed=S]`."""
    from medebench.cases.phantoms import VERSION, write_phantoms

    _, given = split_call(text)
    settings = read_settings(PhantomSettings, given, "phantoms")
    count, seed = settings.count, settings.seed
    return _kept(
        "phantoms",
        text,
        f"phantoms-v{VERSION}-count{count}-seed{seed}",
        lambda folder: write_phantoms(
            folder, count, seed, progress=lambda done: progress(done, count)
        ),
    )


def chest_set(text: str, progress: Progress = silent) -> CaseSet:
    """`chest-phantoms[:count=N,seed=S,shift=NAME,size=PIXELS]`."""
    from medebench.cases.phantoms.chest import VERSION
    from medebench.cases.phantoms.chest.write import write_chest_phantoms

    _, given = split_call(text)
    chosen = read_settings(ChestSettings, given, "chest-phantoms")
    count, seed, shift, size = chosen.count, chosen.seed, chosen.shift, chosen.size
    return _kept(
        "chest-phantoms",
        text,
        f"chest-phantoms-v{VERSION}-{shift}-size{size}-count{count}-seed{seed}",
        lambda folder: write_chest_phantoms(
            folder, count, seed, shift, size, progress=lambda done: progress(done, count)
        ),
    )


def _kept(name: str, text: str, folder_name: str, write: Callable[[Path], Path]) -> CaseSet:
    folder = cache_folder() / folder_name
    if not folder.exists():
        try:
            write(folder)
        except OSError:
            # Another process may have drawn the same set in the meantime.
            if not folder.exists():
                raise
    found = medebench.read(folder / "editing" / medebench.METADATA)
    return CaseSet(name, found.root, found.cases, text)


BUILTIN: dict[str, Callable[[str, Progress], CaseSet]] = {
    "phantoms": phantom_set,
    "chest-phantoms": chest_set,
}

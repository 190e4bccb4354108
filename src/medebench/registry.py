"""Finding an editor, a metric or a judge by name: built in, by entry point, or in a user's file."""

from __future__ import annotations

import difflib
import importlib
import importlib.util
import sys
from dataclasses import dataclass
from functools import cached_property
from importlib.metadata import EntryPoint, entry_points
from pathlib import Path
from typing import Any

from medebench.errors import InputError, UnknownNameError
from medebench.files import sha256


@dataclass(frozen=True)
class Registry:
    """`kind` is the noun for messages; `builtin` maps names to "module:attribute"."""

    kind: str
    group: str
    builtin: dict[str, str]

    @cached_property
    def _plugins(self) -> dict[str, EntryPoint]:
        return {point.name: point for point in entry_points(group=self.group)}

    def names(self) -> list[str]:
        return [*self.builtin, *sorted(set(self._plugins) - set(self.builtin))]

    def find(self, name: str) -> Any:
        """The object called `name`; built-in names cannot be taken over by a plugin."""
        if ".py:" in name:
            return self._from_file(name)
        if target := self.builtin.get(name):
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
        if name in self.builtin:
            return ""
        point = self._plugins[name]
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
        module_name = f"medebench_user_{path.stem}_{abs(hash(str(path))):x}"
        spec = importlib.util.spec_from_file_location(module_name, path)
        if spec is None or spec.loader is None:
            raise InputError(f"{self.kind} '{name}': {path}: not a Python file")
        module = importlib.util.module_from_spec(spec)
        sys.modules[module_name] = module
        try:
            spec.loader.exec_module(module)
        except (Exception, SystemExit) as error:
            raise InputError(f"{path}: {type(error).__name__}: {error}") from error
        if not hasattr(module, attribute):
            raise InputError(f"{path}: has no '{attribute}'")
        return getattr(module, attribute)

"""`list_systems`: what can be run on cases, and whether it is ready here."""

from __future__ import annotations

import shlex
from dataclasses import dataclass

from medebench.entry import Entry
from medebench.errors import MedebenchError
from medebench.systems import SYSTEMS, Editor, System, find_system, system_class
from medebench.systems.system_lookup import set_by_name, system_names


@dataclass(frozen=True, repr=False, kw_only=True)
class SystemEntry(Entry):
    """A system in a list."""

    #: Whether it is a control rather than a model.
    control: bool
    #: What it is shown of a case.
    sees: tuple[str, ...]
    #: What comes out: "image", "text" or both.
    gives: tuple[str, ...]


def list_systems() -> list[SystemEntry]:
    """All systems that can be named, with what each needs and whether it is ready here.

    Returns:
        The built-in ones first, those of other packages after them.

    >>> [one.name for one in mb.list_systems() if one.control][:2]
    ['identity', 'reference']
    """
    return [_entry(name, system_class(name)) for name in system_names()]


def list_editors() -> list[SystemEntry]:
    """The systems that edit images.

    Returns:
        Those of `list_systems` that are editors.

    >>> "blur" in [one.name for one in mb.list_editors()]
    True
    """
    kinds = {name: system_class(name) for name in SYSTEMS.names()}
    return [_entry(name, kind) for name, kind in kinds.items() if issubclass(kind, Editor)]


def _entry(name: str, kind: type[System]) -> SystemEntry:
    problems = system_problems(name, kind)
    return SystemEntry(
        name=name,
        summary=kind.summary,
        needs=() if kind.needs == "nothing" else (kind.needs,),
        problem="; ".join(problems) or None,
        control=kind.control,
        sees=("image", "instruction", *kind.sees),
        gives=tuple(kind.gives),
    )


def system_problems(name: str, kind: type[System]) -> list[str]:
    """Asked of systems that can tell; others may load their model when they are made.

    One that must be told more than its name is asked as in its example.
    """
    fields, told = kind.Settings.model_fields, set_by_name(name)
    required = [one for one, info in fields.items() if info.is_required() and one not in told]
    if required and not kind.example:
        given = ",".join(f"{one}=…" for one in required)
        return [f"must be told more; for instance {name}:{given}"]
    if kind.problems is System.problems:
        return []
    try:
        call = shlex.split(kind.example)[0] if required else name
        return list(find_system(call).system.problems())
    except MedebenchError as error:
        return [str(error)]
    except Exception as error:
        return [f"{type(error).__name__}: {error}"]

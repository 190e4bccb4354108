"""Kinds of work: what goes in, what must come out, and how it is scored and shown."""

from __future__ import annotations

from medebench.entry import Entry
from medebench.errors import InputError
from medebench.registry import Registry
from medebench.tasks.card import Card, CardImage, CardText, Span
from medebench.tasks.editing import EDITING
from medebench.tasks.generation import GENERATION
from medebench.tasks.medgen import MEDGEN, MixedTask
from medebench.tasks.task import Task
from medebench.tasks.vqa import VQA

_BUILTIN = {one.name: one for one in (EDITING, VQA, GENERATION, MEDGEN)}
TASKS = Registry("task", "medebench.tasks", _BUILTIN)


def find_task(name: str) -> Task:
    """The task called `name`, of the package, of another one, or `file.py:Name`.

    >>> find_task("editing").gives
    ('image',)
    """
    found = TASKS.find(name)
    task = found() if isinstance(found, type) else found
    if not isinstance(task, Task):
        raise InputError(f"task '{name}': is a {type(task).__name__}, not a medebench Task")
    return task


def list_tasks() -> list[Entry]:
    """The kinds of work that sets of cases can ask for.

    Returns:
        Tasks, each with what a case of it must have.

    >>> mb.list_tasks()[0].name
    'editing'
    """
    found = map(find_task, TASKS.names())
    return [Entry(name=one.name, summary=one.summary, needs=one.takes) for one in found]


__all__ = [
    "EDITING",
    "GENERATION",
    "MEDGEN",
    "TASKS",
    "VQA",
    "Card",
    "CardImage",
    "CardText",
    "MixedTask",
    "Span",
    "Task",
    "find_task",
    "list_tasks",
]

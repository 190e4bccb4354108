"""Editing: an image and an instruction in, the edited image out, as MedEBench has it."""

from __future__ import annotations

from medebench.tasks.task import Task

EDITING = Task(
    "editing",
    "change an image as the instruction says, and nothing else",
    gives=("image",),
    takes=("previous", "prompt"),
    metrics=("default",),
    headline=("cp", "ea", "vq"),
    groups=("organ", "task"),
    rubric="description",
    noun="edit",
)

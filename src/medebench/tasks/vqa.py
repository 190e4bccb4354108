"""Questions about images: images, a question and perhaps choices in, a text out."""

from __future__ import annotations

from medebench.tasks.task import Task

VQA = Task(
    "vqa",
    "answer a question about images: a choice, a gap, free words or a report",
    gives=("text",),
    takes=("previous", "prompt"),
    groups=("task", "modality", "subtask"),
    rubric="medgen-clinical",
    noun="answer",
)

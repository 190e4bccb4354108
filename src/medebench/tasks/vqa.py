"""Questions about images: images, a question and perhaps choices in, a text out."""

from __future__ import annotations

from medebench.tasks.task import Task

#: What leads a report on answers, as far as it was scored.
ANSWERS = ("choice_accuracy", "gap_accuracy", "key_accuracy", "finding_f1")

VQA = Task(
    "vqa",
    "answer a question about images: a choice, a gap, free words or a report",
    gives=("text",),
    takes=("previous", "prompt"),
    headline=ANSWERS,
    groups=("task", "modality", "subtask"),
    rubric="medgen-clinical",
    noun="answer",
)

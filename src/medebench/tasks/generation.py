"""Text with an image: an image and an instruction in, another image and words about it out."""

from __future__ import annotations

from medebench.tasks.medgen_tasks import ANSWER_METRICS, IMAGE
from medebench.tasks.task import Task

GENERATION = Task(
    "generation",
    "make an image as the instruction says, and say what it shows",
    gives=("image", "text"),
    takes=("previous", "prompt"),
    metrics=(*IMAGE, *ANSWER_METRICS["free"]),
    groups=("task", "modality", "subtask"),
    rubric="medgen-clinical",
    noun="image with text",
)

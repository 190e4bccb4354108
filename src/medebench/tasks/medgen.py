"""MedGEN-Bench: questions, edits, images with text; each case has a task of its own."""

from __future__ import annotations

from dataclasses import dataclass, replace

from medebench.cases.case import Case
from medebench.outputs import Part
from medebench.tasks.editing import EDITING
from medebench.tasks.generation import GENERATION
from medebench.tasks.medgen_tasks import MEDGEN_TASKS, Format, medgen_task
from medebench.tasks.task import Task
from medebench.tasks.vqa import ANSWERS, VQA

#: What must come out by format; each of the 16 tasks says which scores it gets.
_FORMATS: dict[Format, Task] = {
    "vqa": VQA,
    "editing": replace(EDITING, groups=VQA.groups, metrics=()),
    "generation": GENERATION,
}


@dataclass(frozen=True)
class MixedTask(Task):
    """A task whose cases are of several kinds of work."""

    def of(self, case: Case) -> Task:
        known = medgen_task(case)
        if known is None:
            return self
        one = _FORMATS[known.format]
        return replace(one, metrics=known.metrics)

    def set_aside(self, case: Case) -> frozenset[str]:
        known = medgen_task(case)
        return frozenset() if known is None else frozenset(self.metrics) - {*known.metrics}

    def is_open(self, case: Case) -> bool:
        known = medgen_task(case)
        return known is not None and known.format != "vqa" and not known.determined

    def lacks(self, case: Case) -> tuple[str, ...]:
        own = self.of(case)
        return Task.lacks(own, case)


_GIVES: tuple[Part, ...] = ("image", "text")
MEDGEN = MixedTask(
    "medgen",
    "MedGEN-Bench: questions, edits and images with text, 16 tasks in three formats",
    gives=_GIVES,
    takes=("previous", "prompt"),
    metrics=tuple(dict.fromkeys(name for one in MEDGEN_TASKS.values() for name in one.metrics)),
    headline=(*ANSWERS, "ssim", "overall"),
    groups=("task", "format", "modality", "subtask"),
    alone=("format", "modality"),
    macro=True,
    rubric="medgen-clinical",
    noun="output",
)

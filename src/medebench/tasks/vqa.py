"""Questions about images: images, a question and perhaps choices in, a text out."""

from __future__ import annotations

from dataclasses import dataclass

from medebench.cases.case import Case
from medebench.tasks.medgen_tasks import ANSWER_METRICS, answer_kind
from medebench.tasks.task import Task

#: What leads a report on answers, as far as it was scored.
ANSWERS = ("choice_accuracy", "gap_accuracy", "key_accuracy", "finding_f1")


@dataclass(frozen=True)
class AnswerTask(Task):
    """A task whose answers are read as each case asks for."""

    def set_aside(self, case: Case) -> frozenset[str]:
        return frozenset(self.metrics) - {*ANSWER_METRICS[answer_kind(case)]}


VQA = AnswerTask(
    "vqa",
    "answer a question about images: a choice, a gap, free words or a report",
    gives=("text",),
    takes=("previous", "prompt"),
    metrics=tuple(dict.fromkeys(name for own in ANSWER_METRICS.values() for name in own)),
    headline=ANSWERS,
    groups=("task", "modality", "subtask"),
    rubric="medgen-clinical",
    noun="answer",
)
